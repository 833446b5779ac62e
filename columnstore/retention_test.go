package columnstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

// Retention drops whole buckets, with their series and columns, and the dictionaries of whole
// generations. An earlier snapshot keeps them.
func TestRetention(t *testing.T) {
	store, table := open(t, Options{Retention: 25, FutureLimit: -1}, samples(10))
	for _, time := range []int64{1, 11, 21, 31} {
		insert(t, table, at(time))
	}
	before, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	insert(t, table, at(45)) // 45-25 = 20: buckets 0 and 10 are over
	now, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	for _, tc := range []struct {
		name  string
		snap  *Snapshot
		times []int64
	}{{"before", before, []int64{1, 11, 21, 31}}, {"after", now, []int64{21, 31, 45}}} {
		var got []int64
		for row := range scanRows(t, table, tc.snap, ScanOptions{Columns: []string{"time"}, Ordered: true}) {
			got = append(got, row["time"].(int64))
		}
		if !slices.Equal(got, tc.times) {
			t.Errorf("%s: rows at %v, want %v", tc.name, got, tc.times)
		}
		series, err := table.Series(context.Background(), tc.snap, Expr{})
		if err != nil || len(series) != len(tc.times) {
			t.Errorf("%s: series %v, %v", tc.name, series, err)
		}
		columns, err := table.Columns(tc.snap)
		if err != nil || slices.Contains(columns, "labels.only0") != (tc.name == "before") || !slices.Contains(columns, "labels.only2") {
			t.Errorf("%s: columns %v, %v", tc.name, columns, err)
		}
	}
	if stats := store.Stats(); stats.Rows != 3 || stats.DroppedRows != 2 || stats.Series != 3 {
		t.Errorf("%+v", stats)
	}
	if _, err := table.Insert(t.Context(), at(19)); !errors.Is(err, ErrTooOld) {
		t.Errorf("a row of a dropped bucket: %v", err)
	}
	insert(t, table, at(20)) // late, but its bucket still exists
}

// A transaction built before its bucket was dropped is refused whole.
func TestRetention_DecidesAtCommit(t *testing.T) {
	store, table := open(t, Options{Retention: 10, FutureLimit: -1}, samples(10))
	tx := store.Begin()
	for _, time := range []int64{5, 100} {
		if err := tx.Insert(t.Context(), table, at(time)); err != nil {
			t.Fatal(err)
		}
	}
	insert(t, table, at(90))
	if _, err := tx.Commit(); !errors.Is(err, ErrTooOld) {
		t.Errorf("commit: %v", err)
	}
	if stats := store.Stats(); stats.Rows != 1 {
		t.Errorf("a refused commit left %+v", stats)
	}
	if _, err := Open(Options{Retention: -1}); !errors.Is(err, ErrOptions) {
		t.Errorf("negative retention: %v", err)
	}
}

// churn inserts the profiles of a fleet of 20 pods from one instant to another: each has a
// profile of 40 rows every ten seconds. Every ten minutes all pods, labels and stacks are
// replaced by new ones.
func churn(t *testing.T, table *Table, from, to time.Time) {
	for now := from; now.Before(to); now = now.Add(10 * time.Second) {
		life := now.Unix() / 600
		for pod := range 20 {
			stacks := make([][]uuid.UUID, 40)
			for i := range stacks {
				for depth := range 10 {
					stacks[i] = append(stacks[i], uuid.UUID{byte(life), byte(life >> 8), byte(pod), byte(i), byte(depth), byte(now.Unix() / 10 % 3)})
				}
			}
			insert(t, table, schema.Batch{Rows: len(stacks), Columns: map[string]encoding.Vector{
				"kind": encoding.Strings("cpu"), "labels.pod": encoding.Strings(fmt.Sprintf("pod-%d-%d", life, pod)),
				fmt.Sprint("labels.l", life%50): encoding.Strings(fmt.Sprint("value-", life)),
				"stack":                         encoding.UUIDLists(stacks...), "time": encoding.Int64s(now.UnixNano()), "value": encoding.Int64s(1),
			}})
		}
	}
}

// TestRetention_Churn replaces all labels and stacks every ten minutes for two hours of
// simulated time, with a retention of 20 minutes. The heap ends within a fifth of that of a
// fresh store with the same live data, with buckets of 15 minutes and of one.
func TestRetention_Churn(t *testing.T) {
	effort.Long(t)
	if effort.Race {
		t.Skip("the race detector has a heap of its own")
	}
	end := time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC)
	for _, width := range []time.Duration{15 * time.Minute, time.Minute} {
		t.Run(fmt.Sprint("buckets of ", width), func(t *testing.T) {
			measure := func(from time.Time) (*Store, int64) {
				before := heap()
				store, table := open(t, Options{Retention: 20 * time.Minute, Now: func() time.Time { return end }, Manual: true}, samples(int64(width)))
				churn(t, table, from, end)
				compact(t, store)
				return store, heap() - before
			}
			churned, got := measure(end.Add(-2 * time.Hour))
			stats := churned.Stats()
			fresh, want := measure(stats.Oldest)
			if f := fresh.Stats(); f.Rows != stats.Rows || stats.DroppedRows == 0 {
				t.Fatalf("%d rows live and %d dropped after churn, %d in the fresh store", stats.Rows, stats.DroppedRows, f.Rows)
			}
			t.Logf("heap %d bytes after two hours, %d of which rows and index; fresh %d, with the same %d rows since %v", got, stats.PartBytes, want, stats.Rows, stats.Oldest.UTC())
			if got > want*12/10 {
				t.Errorf("heap of %d bytes after churn, %d in a fresh store with the same data", got, want)
			}
			runtime.KeepAlive(fresh)
			runtime.KeepAlive(churned)
		})
	}
}

// A bucket is compacted once when the newest row is a whole bucket beyond it, whatever its
// size. Late rows wait for the usual limits.
func TestBucket_Closes(t *testing.T) {
	store, table := open(t, Options{FutureLimit: -1, Manual: true}, samples(10))
	parts := func() (n []int) {
		for _, g := range store.roots.Root().State.Table(table.ordinal).Granules.All() {
			n = append(n, g.FreshParts())
		}
		return n
	}
	maintain := func(want ...int) {
		t.Helper()
		if err := store.Maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := parts(); !slices.Equal(got, want) {
			t.Errorf("fresh parts of the granules: %v, want %v", got, want)
		}
	}
	insert(t, table, at(1))
	insert(t, table, at(2))
	insert(t, table, at(11))
	insert(t, table, at(19))
	maintain(2, 2) // the newest row is not yet beyond
	insert(t, table, at(20))
	maintain(0, 2, 1) // bucket 0 ended at 10, and 20 is a whole bucket later
	insert(t, table, at(3))
	maintain(1, 2, 1) // late
	insert(t, table, at(55))
	maintain(1, 0, 0, 1) // closed stays closed
	if stats := store.Stats(); stats.Compactions != 3 || stats.Rows != 7 {
		t.Errorf("%+v", stats)
	}
}
