package columnstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/effort"
)

// TestDeleteRows_Memory deletes a row from each bucket of a store that is several times as large as its memory: the
// dictionaries, or the rows, do not fit into it at once.
func TestDeleteRows_Memory(t *testing.T) {
	effort.Slow(t)
	if effort.Race {
		t.Skip("TestDeleteRows_Beside has more goroutines")
	}
	for _, tc := range []struct {
		name            string
		buckets, stacks int
		budget          int64
	}{{"rows", 40, 0, 4 << 20}, {"stacks", 20, 500, 16 << 20}} {
		t.Run(tc.name, func(t *testing.T) {
			opts := Options{FS: crashfs.New(crashfs.Options{}), PastLimit: -1, FutureLimit: -1, MemoryBudget: 64 << 20, LogBytes: 1 << 20, GranuleRows: 1024, GranuleBytes: 32 << 10}
			store, table := open(t, opts, samples(100))
			for at := int64(0); at < 100*int64(tc.buckets); at += 100 {
				for k := range int64(10) {
					b, _ := batch(rand.New(rand.NewPCG(1, uint64(at+k))), 1000, at+k)
					b.Columns["stack"] = encoding.UUIDLists(stacks(tc.stacks*int(at/10+k), 1000)...)
					insert(t, table, b)
				}
				insert(t, table, pods("victim", at))
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			opts.MemoryBudget = tc.budget
			store, table = reopen(t, opts)
			ctx, cancel := context.WithTimeout(t.Context(), effort.Patience)
			defer cancel()
			n, err := table.DeleteRows(ctx, Equal("labels.pod", "victim"))
			if s := store.Stats(); n != int64(tc.buckets) || err != nil || s.Bytes() > tc.budget || s.Rows != int64(10_000*tc.buckets) {
				t.Errorf("%d rows are deleted of %d, %v; %d rows and %d bytes are left", n, tc.buckets, err, s.Rows, s.Bytes())
			}
		})
	}
}

// TestDeleteRows_Retry ends while files are written: the next call writes them, though it finds no row.
func TestDeleteRows_Retry(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	opts := inDir(fs)
	store, table := open(t, opts, samples(10))
	for at := range int64(40) {
		insert(t, table, pods([]string{"a", "b"}[at%2], at))
	}
	coolAll(t, store)
	ctx, cancel := context.WithCancel(t.Context())
	store.opts.Yield = func(point string) {
		if point == "file/bucket" {
			cancel()
		}
	}
	if n, err := table.DeleteRows(ctx, Equal("labels.pod", "a")); n != 20 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d rows, %v", n, err)
	}
	store.opts.Yield = func(string) {}
	if n, err := table.DeleteRows(t.Context(), Equal("labels.pod", "a")); n != 0 || err != nil {
		t.Errorf("again: %d rows, %v", n, err)
	}
	opts.FS = fs.Crash()
	_ = store.Close()
	store, table = reopen(t, opts)
	if got := len(rowsNow(t, store, table)); got != 20 {
		t.Errorf("%d rows after the crash", got)
	}
}

// TestDeleteRows_EmptyUnit deletes all rows of a unit and crashes: rows that came for its times since are not in it.
func TestDeleteRows_EmptyUnit(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	opts := inDir(fs)
	store, table := open(t, opts, samples(10))
	for at := range int64(30) {
		insert(t, table, pods("a", at))
	}
	seal(t, table, 10)
	ctx, cancel := context.WithCancel(t.Context())
	store.opts.Yield = func(point string) {
		if point == "commit/published" {
			cancel()
		}
	}
	if n, err := table.DeleteRows(ctx, Less("time", int64(10))); n != 10 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d rows, %v", n, err)
	}
	store.opts.Yield = func(string) {}
	insert(t, table, pods("late", 3))
	if err := store.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	opts.FS = fs.Crash()
	_ = store.Close()
	store, table = reopen(t, opts)
	snap := snapshot(t, store)
	defer snap.Close()
	units, _, err := table.Units(snap)
	rows := map[uint64]int64{}
	for _, u := range units {
		rows[u.ID] += u.Rows
	}
	if err != nil || rows[1] != 10 || rows[0] != 21 {
		t.Errorf("the units have %v rows, %v", rows, err)
	}
	if n, err := table.DeleteRows(t.Context(), Less("time", int64(10))); n != 11 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	store, table = reopen(t, opts)
	if got := len(rowsNow(t, store, table)); got != 20 {
		t.Errorf("%d rows are left", got)
	}
}

// TestDeleteRows_Granules keeps the granules of a cold bucket.
func TestDeleteRows_Granules(t *testing.T) {
	opts := inDir(crashfs.New(crashfs.Options{}))
	opts.GranuleRows, opts.BucketRows = 100, -1
	store, table := open(t, opts, samples(1000))
	rng := rand.New(rand.NewPCG(1, 2))
	for at := range int64(50) {
		b, _ := batch(rng, 100, at)
		insert(t, table, b)
	}
	insert(t, table, pods("victim", 5))
	compact(t, store)
	want := store.Stats().Granules
	coolAll(t, store)
	if n, err := table.DeleteRows(t.Context(), Equal("labels.pod", "victim")); n != 1 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
	if got := table.state().Granules.Len(); got < want-1 || want < 20 {
		t.Errorf("%d granules, want %d", got, want)
	}
}

// TestDeleteRows_Again deletes from a bucket in memory that still has earlier files, time after time.
func TestDeleteRows_Again(t *testing.T) {
	opts := inDir(crashfs.New(crashfs.Options{}))
	store, table := open(t, opts, samples(10))
	for round := range int64(5) {
		for at := range int64(20) {
			insert(t, table, pods([]string{"a", "b"}[at%2], at))
		}
		if n, err := table.DeleteRows(t.Context(), Equal("labels.pod", "a")); n != 10 || err != nil {
			t.Errorf("round %d: %d rows, %v", round, n, err)
		}
		if s := store.Stats(); s.Rows != 10*(round+1) {
			t.Errorf("round %d: %d rows are left", round, s.Rows)
		}
	}
}
