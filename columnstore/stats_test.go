package columnstore

import (
	"bytes"
	"context"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
)

// seeded returns a source of hash seeds that are the same every time.
func seeded() *bytes.Reader { return bytes.NewReader(bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7, 8}, 4)) }

// TestDeterminism runs the same inserts and maintenance twice. A Manual store with a given
// Rand ends up the same to the byte, and reads the same rows in the same order.
func TestDeterminism(t *testing.T) {
	run := func(width int64) (Stats, []string) {
		store, table := open(t, Options{Manual: true, GranuleRows: 40, FreshParts: 3, Rand: seeded()}, wide(width, wideKey))
		rng := rand.New(rand.NewPCG(4, 2))
		for i := range 40 {
			insert(t, table, batchOf(rng, randomRows(rng, 20)))
			if i%5 == 0 {
				if err := store.Maintain(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
		}
		var rows []string
		for row := range scanRows(t, table, snapshot(t, store), ScanOptions{Ordered: true}) {
			rows = append(rows, oracle.Text(row))
		}
		compact(t, store)
		return store.Stats(), rows
	}
	for _, width := range []int64{0, 100} {
		firstStats, firstRows := run(width)
		againStats, againRows := run(width)
		if diff := cmp.Diff(firstStats, againStats); diff != "" {
			t.Errorf("width %d: stats (-first +again):\n%s", width, diff)
		}
		if diff := cmp.Diff(firstRows, againRows); diff != "" || len(firstRows) != 800 {
			t.Errorf("width %d: %d rows (-first +again):\n%s", width, len(firstRows), diff)
		}
	}
}

// TestStats follows the figures through the life of a small store.
func TestStats(t *testing.T) {
	store, table := open(t, Options{Manual: true, GranuleRows: 30}, samples(0))
	if diff := cmp.Diff(Stats{}, store.Stats()); diff != "" {
		t.Errorf("empty store (-want +got):\n%s", diff)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	rows := 0
	for i := range 10 {
		b, _ := batch(rng, 10, int64(i))
		insert(t, table, b)
		rows += 10
	}
	fresh := store.Stats()
	if fresh.Rows != int64(rows) || fresh.Granules != 1 || fresh.Parts != 10 || fresh.Splits+fresh.Compactions+fresh.Discarded+fresh.RewrittenRows != 0 {
		t.Errorf("fresh: %+v", fresh)
	}
	if fresh.Series < 2 || fresh.Series > 5 || fresh.Stacks < 50 || fresh.Stacks > 100 {
		t.Errorf("fresh: %d series of 5 pods, %d stacks of 100 rows", fresh.Series, fresh.Stacks)
	}
	if sum := fresh.PartBytes + fresh.SeriesBytes + fresh.StackBytes + fresh.RecordBytes; fresh.Bytes() != sum || fresh.PartBytes == 0 || fresh.SeriesBytes == 0 || fresh.StackBytes == 0 || fresh.RecordBytes != 0 {
		t.Errorf("fresh: bytes of %+v are %d", fresh, fresh.Bytes())
	}
	compact(t, store)
	got := store.Stats()
	if got.Splits != 1 || got.Compactions != 0 || got.RewrittenRows != 100 || got.Granules < 4 || got.Parts != got.Granules || got.Rows != 100 {
		t.Errorf("split: %+v", got)
	}
	if got.PartBytes >= fresh.PartBytes {
		t.Errorf("parts of %d bytes before compaction, %d after", fresh.PartBytes, got.PartBytes)
	}
	b := oneRow(1)
	insert(t, table, b)
	compact(t, store)
	if again := store.Stats(); again.Compactions != 1 || again.Splits != 1 || again.Rows != 101 {
		t.Errorf("compacted: %+v", again)
	}
}

// TestStats_BytesAreThoseOfTheHeap compares the store's accounting with the live heap.
func TestStats_BytesAreThoseOfTheHeap(t *testing.T) {
	effort.Long(t)
	if effort.Race {
		t.Skip("the race detector has a heap of its own")
	}
	const profiles, rows = 400, 500
	for _, test := range []struct {
		name   string
		bucket int64
		stacks int
	}{
		{"one generation", 0, 20_000},
		{"15 minute buckets", 900_000_000_000, 20_000},
		{"1 minute buckets", 60_000_000_000, 5_000},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFleet(1, test.stacks)
			before := heap()
			store, table := open(t, Options{Manual: true}, samples(test.bucket))
			for n := range profiles {
				insert(t, table, f.profile(n, rows))
			}
			fresh, freshBytes := heap()-before, store.Stats().Bytes()
			compact(t, store)
			grown, stats := heap()-before, store.Stats()
			runtime.KeepAlive(f)
			t.Logf("fresh: %d bytes of heap, %d by accounting (%+.1f %%)", fresh, freshBytes, deviation(freshBytes, fresh))
			t.Logf("compacted: %d bytes of heap, %d by accounting (%+.1f %%), %.1f bytes a row; %+v",
				grown, stats.Bytes(), deviation(stats.Bytes(), grown), float64(grown)/float64(stats.Rows), stats)
			if d := deviation(stats.Bytes(), grown); d < -10 || d > 10 {
				t.Errorf("accounting is %+.1f %% off, want at most 10", d)
			}
			if stats.Rows != profiles*rows || stats.RecordBytes == 0 {
				t.Errorf("stats %+v", stats)
			}
		})
	}
}

func deviation(got, want int64) float64 { return 100 * (float64(got)/float64(want) - 1) }

// heap returns the bytes of live objects.
func heap() int64 {
	runtime.GC()
	runtime.GC() // frees objects of finalizers and pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestSnapshot_Allocations pins a snapshot's cost.
func TestSnapshot_Allocations(t *testing.T) {
	store, table := open(t, Options{Manual: true}, samples(0))
	insert(t, table, oneRow(1))
	allocs := testing.AllocsPerRun(1000, func() {
		snap, err := store.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		snap.Close()
	})
	if allocs > 1 {
		t.Errorf("%v allocations a snapshot, want at most 1", allocs)
	}
}
