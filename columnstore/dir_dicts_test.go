package columnstore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/entries"
)

// stacks returns new stacks, each with an element of its own.
func stacks(from, n int) [][]uuid.UUID {
	lists := make([][]uuid.UUID, n)
	for i := range lists {
		k := from + i
		lists[i] = []uuid.UUID{{byte(k), byte(k >> 8), byte(k >> 16)}, {1}}
	}
	return lists
}

// New dictionary entries of a commit go into the log in entries of a bounded size, because a large
// dictionary must fit too, and come back.
func TestDir_LargeDelta(t *testing.T) {
	if effort.Race {
		t.Skip("one goroutine commits, and reads the log")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	fs := crashfs.New(crashfs.Options{Keep: 1})
	opts := inDir(fs)
	opts.GranuleRows = 0
	store, table := open(t, opts, samples(100))
	const rows = 150_000
	b, _ := batch(rng, rows, 5)
	b.Columns["stack"] = encoding.UUIDLists(stacks(0, rows)...)
	insert(t, table, b)
	if err := store.log.Sync(context.Background(), 1<<62); err != nil {
		t.Fatal(err)
	}
	r, err := disk.ReadLog(fs, store.dir.id, 0)
	if err != nil {
		t.Fatal(err)
	}
	dicts, most := 0, 0
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == entries.EntryDicts {
			dicts, most = dicts+1, max(most, len(e.Body))
		}
	}
	if limit := int(opts.imageBytes); limit != 0 || dicts < 2 || most > 2<<20+1000 {
		t.Errorf("%d entries of dictionaries of up to %d bytes, want several of 2 MiB", dicts, most)
	}
	image := func(table *Table) []byte {
		g, _, err := table.generations.Acquire(table.generationOf(0))
		if err != nil {
			t.Fatal(err)
		}
		return g.AppendImageTo(nil, granule.Watermark{}, g.NextWatermark())
	}
	want := image(table)
	opts.FS = fs.Crash()
	_, table = reopen(t, opts)
	if n := table.state().Rows; n != rows || !bytes.Equal(image(table), want) {
		t.Fatalf("%d rows came back, want %d, or their dictionaries are others", n, rows)
	}
}

// Dictionaries that take most of a memory budget are filed.
func TestDir_DictionaryOfTheBudget(t *testing.T) {
	effort.Long(t)
	if effort.Race {
		t.Skip("one goroutine inserts, maintains and files")
	}
	fs := crashfs.New(crashfs.Options{})
	opts := inDir(fs)
	opts.MemoryBudget, opts.GranuleRows, opts.LogBytes, opts.GenerationBuckets = 8<<20, 0, 1<<40, 1<<20
	store, table := open(t, opts, samples(1<<40)) // one range, which stays
	n, share := 0, 0.0
	for i := 0; share < 0.55; i++ {
		b, _ := batch(rand.New(rand.NewPCG(1, uint64(i))), 20, int64(i))
		b.Columns["stack"] = encoding.UUIDLists(stacks(n, 20)...)
		n += 20
		if _, err := table.Insert(t.Context(), b); err != nil {
			t.Fatalf("insert %d, dictionaries take %.2f of the budget: %v", i, share, err)
		}
		if i%50 == 0 {
			if err := store.Maintain(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s := store.Stats()
		share = float64(s.StackBytes+s.SeriesBytes) / float64(opts.MemoryBudget)
	}
	if err := store.flusher.flush(t.Context()); err != nil {
		t.Fatalf("dictionaries take %.2f of the budget: %v", share, err)
	}
	want := rowsNow(t, store, table)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	opts.MemoryBudget = 64 << 20
	store, table = reopen(t, opts)
	if got := rowsNow(t, store, table); !slices.Equal(got, want) {
		t.Fatalf("%d rows came back, want %d", len(got), len(want))
	}
}
