package columnstore

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
)

// A table's own retention replaces that of the store, for that table alone.
func TestTable_SetLimits_Retention(t *testing.T) {
	store, bounded := open(t, Options{Manual: true, Retention: 1000}, samples(100))
	free, err := store.CreateTable("free", samples(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := bounded.SetLimits(TableLimits{Retention: 300}); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for at := int64(0); at < 3000; at += 50 {
		b, _ := batch(rng, 1, at)
		insert(t, bounded, b)
		insert(t, free, b)
	}
	if got, want := bounded.Stats().Oldest, time.Unix(0, 2600); !got.Equal(want) {
		t.Errorf("the bounded table begins at %d, want %d", got.UnixNano(), want.UnixNano())
	}
	if got, want := free.Stats().Oldest, time.Unix(0, 1900); !got.Equal(want) {
		t.Errorf("the other table begins at %d, want %d", got.UnixNano(), want.UnixNano())
	}
	all := store.Stats()
	if got := bounded.Stats().Rows + free.Stats().Rows; got != all.Rows {
		t.Errorf("tables have %d rows, the store %d", got, all.Rows)
	}
}

// A table whose files exceed its limit loses its oldest ranges, and no other table does. Its newest range stays
// however large it is, and a restart finds the same rows.
func TestTable_SetLimits_FileBytes(t *testing.T) {
	const limit = 16 << 10
	opts := inDir(crashfs.New(crashfs.Options{}))
	store, bounded := open(t, opts, samples(100))
	free, err := store.CreateTable("free", samples(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := bounded.SetLimits(TableLimits{FileBytes: limit}); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for at := int64(0); at < 20_000; at += 20 {
		b, _ := batch(rng, 20, at)
		insert(t, bounded, b)
		insert(t, free, b)
		if at%4000 == 0 {
			writeFiles(t, store)
			if got := bounded.Stats(); got.FileBytes > limit {
				t.Errorf("files of %d bytes at %d, at most %d", got.FileBytes, at, limit)
			}
		}
	}
	writeFiles(t, store)
	was, other := bounded.Stats(), free.Stats()
	if was.FileBytes > limit || was.FileBytes < limit/4 || was.DroppedRows == 0 {
		t.Errorf("files of %d bytes and %d rows dropped, with at most %d bytes", was.FileBytes, was.DroppedRows, limit)
	}
	if other.DroppedRows != 0 || other.FileBytes < 4*limit {
		t.Errorf("the other table has lost %d rows, and has files of %d bytes", other.DroppedRows, other.FileBytes)
	}
	if err = bounded.SetLimits(TableLimits{FileBytes: 1}); err != nil {
		t.Fatal(err)
	}
	b, _ := batch(rng, 20, 20_000)
	insert(t, bounded, b)
	writeFiles(t, store)
	if got := bounded.Stats(); got.Rows == 0 || got.Oldest.UnixNano() != 20_000 {
		t.Errorf("with a limit of a byte the table has %d rows from %d on", got.Rows, got.Oldest.UnixNano())
	}
	rows := bounded.Stats().Rows
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if got := again.Table("samples").Stats(); got.Rows != rows {
		t.Errorf("%d rows after a restart, want %d", got.Rows, rows)
	}
	if got := again.Table("free").Stats().Rows; got != other.Rows {
		t.Errorf("%d rows of the other table after a restart, want %d", got, other.Rows)
	}
}

func TestTable_SetLimits_Negative(t *testing.T) {
	_, table := open(t, Options{Manual: true}, samples(100))
	for _, l := range []TableLimits{{Retention: -1}, {FileBytes: -1}} {
		if err := table.SetLimits(l); !errors.Is(err, ErrOptions) {
			t.Errorf("limits %+v: %v, want ErrOptions", l, err)
		}
	}
}

func writeFiles(t testing.TB, store *Store) {
	t.Helper()
	if err := store.flusher.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}
