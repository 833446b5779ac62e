package columnstore

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
)

// syncSpy calls a function before files of rows are synced.
type syncSpy struct {
	*crashfs.FS
	before *func()
}

type spiedRows struct {
	disk.File
	before *func()
}

func (f syncSpy) Create(name string) (disk.File, error) {
	file, err := f.FS.Create(name)
	if err != nil || !strings.HasPrefix(name, "rows-") {
		return file, err
	}
	return spiedRows{file, f.before}, nil
}

func (f spiedRows) Sync() error {
	(*f.before)()
	return f.File.Sync()
}

// However many buckets there are, the flusher syncs their files while it holds no root, and comes to
// an end.
func TestKeeper_SyncsWithoutRoot(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	before := func() {}
	fs := syncSpy{crashfs.New(crashfs.Options{}), &before}
	opts := inDir(fs)
	opts.LogBytes, opts.smallBucket = 8<<10, -1
	var store *Store
	var table *Table
	at := int64(0)
	add := func() {
		at++
		b, _ := batch(rng, 1+rng.IntN(3), 100*at)
		insert(t, table, b)
	}
	adding := true
	opts.Yield = func(point string) {
		if adding && point == "file/root" {
			adding = false // commits have yield points too
			add()          // a held root is a replaced root
			adding = true
		}
	}
	store, table = open(t, opts, samples(100))
	for range 300 {
		add()
	}
	syncs, held := 0, 0
	before = func() {
		syncs++
		store.roots.Sweep()
		if _, ok := store.roots.Oldest(); ok {
			held++
		}
	}
	if err := store.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := store.Stats()
	if syncs < 300 || s.FlushError != nil || store.flusher.manifest == nil {
		t.Fatalf("%d files of rows were written, %v", syncs, s.FlushError)
	}
	if held > 0 {
		t.Errorf("%d of %d files were synced while the root was held", held, syncs)
	}
	want := rowsNow(t, store, table)
	adding = false
	opts.FS, opts.Yield = fs.Crash(), nil
	store, table = reopen(t, opts)
	if got := rowsNow(t, store, table); !slices.Equal(got, want) {
		t.Fatalf("%d rows came back, want %d", len(got), len(want))
	}
}
