package columnstore

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/internal/crashfs"
)

// Nothing that was filed depends on the log: with any byte changed in what is left of the log's
// entries, all rows come back. Only the header of the one segment is needed.
func TestDir_DamagedLogOfFiledRows(t *testing.T) {
	for _, closed := range []bool{false, true} {
		fs := crashfs.New(crashfs.Options{Keep: 1})
		opts := inDir(fs)
		store, table := open(t, opts, samples(100))
		fill(t, table, rand.New(rand.NewPCG(1, 2)), 30)
		want := rowsNow(t, store, table)
		err := store.file(t.Context())
		if closed {
			err = store.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		names, err := fs.List()
		if err != nil {
			t.Fatal(err)
		}
		changed := 0
		for _, name := range names {
			bits := int64(8 * len(fs.Get(name)))
			if !strings.HasPrefix(name, "log-") {
				continue
			}
			for bit := int64(8 * 4096); bit < bits; bit += 8 * 1021 {
				damaged := fs.Crash()
				damaged.Flip(name, bit)
				opts.FS = damaged
				again, err := Open(opts)
				if err != nil {
					t.Fatalf("closed %v: byte %d of %s is changed: %v", closed, bit/8, name, err)
				}
				if got := rowsNow(t, again, again.Table("samples")); !slices.Equal(got, want) {
					t.Fatalf("closed %v: %d rows came back, want %d", closed, len(got), len(want))
				}
				_ = again.Close()
				changed++
				if changed > 50 {
					break
				}
			}
			if size := bits / 8; closed && size != 4096 {
				t.Errorf("a segment has %d bytes after Close, want its header alone", size)
			}
		}
		if !closed && changed == 0 {
			t.Error("no byte was changed")
		}
	}
}

// Runs of the keeper that fail begin one segment, not one each.
func TestDir_FailedFilingsBeginOneSegment(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	opts := inDir(noManifests{fs})
	store, table := open(t, opts, samples(100))
	before := 0
	for i := range 10 {
		fill(t, table, rand.New(rand.NewPCG(1, 2)), 2)
		if err := store.file(t.Context()); err == nil {
			t.Fatal("a manifest was written")
		}
		if n := len(store.log.Segments()); i > 0 && n != before {
			t.Fatalf("%d segments after %d runs that failed, %d before", n, i+1, before)
		}
		before = len(store.log.Segments())
	}
}
