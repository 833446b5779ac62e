package columnstore

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
)

// rowTimes returns the times of the rows of a snapshot, in order.
func rowTimes(t *testing.T, table *Table, snap *Snapshot) (times []int64) {
	t.Helper()
	for row := range scanRows(t, table, snap, ScanOptions{Columns: []string{"time"}, Ordered: true}) {
		times = append(times, row["time"].(int64))
	}
	return times
}

// rowTimesNow is rowTimes of a new snapshot.
func rowTimesNow(t *testing.T, store *Store, table *Table) []int64 {
	t.Helper()
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	return rowTimes(t, table, snap)
}

// A drop takes the ranges before a time, whole ones, and its floor is never beyond the range of the
// newest row.
func TestDropBefore(t *testing.T) {
	all := []int64{-15, 1, 11, 21, 31}
	for _, tc := range []struct {
		name  string
		at    int64
		left  []int64
		floor int64 // of rows that go in
	}{
		{"before all", -21, all, -30},
		{"at the start of a range", -20, all, -20},
		{"in the first range", -11, all, -20},
		{"at its end", -10, []int64{1, 11, 21, 31}, -10},
		{"in the middle", 15, []int64{11, 21, 31}, 10},
		{"at a row", 21, []int64{21, 31}, 20},
		{"in the newest range", 39, []int64{31}, 30},
		{"at its end", 40, nil, 40},
		{"behind all", 1_000_000, nil, 40},
		{"the last time", math.MaxInt64, nil, 40},
		{"the first time", math.MinInt64, all, -1000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			store, table := open(t, Options{FutureLimit: -1, PastLimit: -1}, samples(10))
			for _, time := range all {
				insert(t, table, at(time))
			}
			before, err := store.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			defer before.Close()
			for range 2 { // the second drop finds nothing
				if id, err := table.DropBefore(t.Context(), tc.at); err != nil || id <= before.Commit() {
					t.Fatalf("commit %d, %v", id, err)
				}
				if got := rowTimesNow(t, store, table); !slices.Equal(got, tc.left) {
					t.Errorf("rows at %v are left, want %v", got, tc.left)
				}
			}
			if got := rowTimes(t, table, before); !slices.Equal(got, all) {
				t.Errorf("an earlier snapshot has rows at %v", got)
			}
			if stats := store.Stats(); stats.Rows != int64(len(tc.left)) || stats.DroppedRows != int64(len(all)-len(tc.left)) || stats.EvictedRows != 0 {
				t.Errorf("%d rows, %d dropped, %d evicted", stats.Rows, stats.DroppedRows, stats.EvictedRows)
			}
			if _, err := table.Insert(t.Context(), at(tc.floor-1)); (err == nil) != (tc.floor == -1000) || err != nil && !errors.Is(err, ErrTooOld) {
				t.Errorf("a row below the floor: %v", err)
			}
			insert(t, table, at(tc.floor))
		})
	}
}

// A drop is of one table, also beside one without rows; it fails where it can do nothing.
func TestDropBefore_Errors(t *testing.T) {
	store, table := open(t, Options{FutureLimit: -1, PastLimit: -1}, samples(10))
	insert(t, table, at(5))
	empty, err := store.CreateTable("empty", samples(10))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := store.CreateTable("plain", samples(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := empty.DropBefore(t.Context(), math.MaxInt64); err != nil {
		t.Error(err)
	}
	insert(t, empty, at(1)) // a drop of nothing raises no floor
	if _, err := plain.DropBefore(t.Context(), 100); !errors.Is(err, ErrTable) {
		t.Errorf("a table without ranges: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := table.DropBefore(canceled, 100); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if got := rowTimesNow(t, store, table); !slices.Equal(got, []int64{5}) {
		t.Errorf("rows at %v", got)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := table.DropBefore(t.Context(), 100); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
