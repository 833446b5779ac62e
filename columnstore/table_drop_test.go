package columnstore

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
)

// rowTimes returns the times of a snapshot's rows, in order.
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
