package columnstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
)

// Three writers into a small budget, without goroutines that write files: each insert is taken, whatever the
// log and the granules hold, and a restart has all of them.
func TestFiling_Manual(t *testing.T) {
	effort.Slow(t)
	for _, budget := range []int64{1 << 20, 8 << 20}[:2-boolInt(effort.Race)] {
		for _, sync := range []SyncPolicy{SyncPeriodically, SyncEach} {
			t.Run(fmt.Sprint(budget>>20, " MiB ", sync), func(t *testing.T) {
				opts := Options{Dir: t.TempDir(), Manual: true, MemoryBudget: budget, Sync: sync, FutureLimit: -1, PastLimit: -1}
				store, table := open(t, opts, samples(1000))
				rows := insertFromThree(t, table, 300+100*int(budget>>20))
				if err := store.Maintain(t.Context()); err != nil {
					t.Error(err)
				}
				if stats := store.Stats(); stats.Bytes() > budget || stats.FlushError != nil {
					t.Errorf("%d bytes of %d, %v", stats.Bytes(), budget, stats.FlushError)
				}
				if err := store.Close(); err != nil {
					t.Fatal(err)
				}
				store, table = reopen(t, opts)
				if got := total(t, table, snapshot(t, store)); got.Rows != rows {
					t.Errorf("%d rows, want %d", got.Rows, rows)
				}
			})
		}
	}
}

// insertFromThree inserts batches from three goroutines and returns the number of their rows.
func insertFromThree(t *testing.T, table *Table, batches int) (rows int64) {
	var writers sync.WaitGroup
	var sum [3]int64
	for w := range sum {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for i := range batches {
				b, _ := batch(rng, 1+rng.IntN(200), int64(i*5+rng.IntN(100)))
				if _, err := table.Insert(t.Context(), b); err != nil {
					t.Errorf("insert %d of writer %d: %v", i, w, err)
					return
				}
				sum[w] += int64(b.Rows)
			}
		})
	}
	writers.Wait()
	return sum[0] + sum[1] + sum[2]
}

// slowSyncs is a file system whose syncs take a while.
type slowSyncs struct {
	*crashfs.FS
	each time.Duration
}

func (f slowSyncs) SyncDir() error {
	time.Sleep(f.each)
	return f.FS.SyncDir()
}

func (f slowSyncs) Create(name string) (disk.File, error) {
	if strings.HasPrefix(name, "rows-") {
		time.Sleep(f.each)
	}
	return f.FS.Create(name)
}

// Close ends in time on a disk that is too slow for the files, and the log has all rows.
func TestClose_Within(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	opts := Options{FS: slowSyncs{fs, 20 * time.Millisecond}, CloseWithin: 100 * time.Millisecond, FutureLimit: -1, PastLimit: -1, smallBucket: -1}
	store, table := open(t, opts, samples(10))
	for i := range int64(200) { // buckets
		insert(t, table, oneRow(10*i))
	}
	want := rowsNow(t, store, table)
	start := time.Now()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it closed after %v, and the files would take more than 4 s", took)
	}
	opts.FS = fs.Crash() // loses what is not durable
	store, table = reopen(t, opts)
	if got := rowsNow(t, store, table); !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	if names, _ := fs.List(); slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "manifest-") }) {
		t.Errorf("a manifest of the unfinished files: %v", names)
	}
}
