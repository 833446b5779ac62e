package columnstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
)

// Commits, tables, evictions, maintenance and Close beside the flusher.
func TestDir_Goroutines(t *testing.T) {
	effort.Slow(t)
	t.Parallel()                            // it waits for the disk
	for round := range effort.Part(12, 2) { // a multiple of 6: budgets, retention and policies
		dir := t.TempDir()
		opts := Options{Dir: dir, FutureLimit: -1, PastLimit: -1, GranuleRows: 64, BucketRows: 200, LogBytes: 1, GenerationBuckets: 2, segmentBytes: 32 << 10}
		if round%3 == 1 {
			opts.MemoryBudget, opts.GranuleRows = 1<<20, 0
		}
		if round%3 == 2 {
			opts.Retention = 300
		}
		opts.Sync = disk.SyncPolicy(round % 2)
		store, table := open(t, opts, samples(100))
		var wg sync.WaitGroup
		ok := func(err error) bool {
			switch {
			case err == nil:
				return true
			case errors.Is(err, ErrClosed), errors.Is(err, disk.ErrClosed):
				return false
			case errors.Is(err, ErrTooOld), errors.Is(err, ErrMemory), errors.Is(err, disk.ErrDisk):
				return true
			}
			t.Error(err)
			return false
		}
		for w := range 3 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(round), uint64(w)))
				for i := 0; ; i++ {
					b, _ := batch(rng, 1+rng.IntN(40), int64(i*13+rng.IntN(30)))
					if _, err := table.Insert(context.Background(), b); !ok(err) {
						return
					}
				}
			})
		}
		wg.Go(func() {
			for i := 0; ; i++ {
				other, err := store.CreateTable(fmt.Sprint("t", i), samples(100))
				if !ok(err) {
					return
				}
				b, _ := batch(rand.New(rand.NewPCG(1, uint64(i))), 3, int64(i))
				if _, err := other.Insert(context.Background(), b); !ok(err) {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
		time.Sleep(400 * time.Millisecond)
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		want := store.Stats()
		again, err := Open(opts)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		got := again.Stats()
		if got.Rows != want.Rows {
			t.Errorf("round %d: %d rows came back, want %d", round, got.Rows, want.Rows)
		}
		if round < 3 {
			t.Logf("round %d: %d rows, %d of %d tables, flush %v", round, got.Rows, len(again.tables.byName), len(store.tables.byName), want.FlushError)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
