package columnstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// at makes one row with a label and a stack of its own.
func at(time int64) schema.Batch {
	return schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{
		"kind": encoding.Strings("k"), "labels.pod": encoding.Strings(fmt.Sprint("pod-", time)),
		fmt.Sprint("labels.only", time/10): encoding.Strings("x"),
		"stack":                            encoding.UUIDLists([]uuid.UUID{{byte(time), byte(time >> 8)}}), "time": encoding.Int64s(time), "value": encoding.Int64s(time),
	}}
}

// Retention drops whole buckets, with their series, columns and, of whole
// generations, dictionaries; a snapshot from before keeps them.
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
		series, err := table.Series(context.Background(), tc.snap, math.MinInt64, math.MaxInt64)
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
	insert(t, table, at(20)) // late, but its bucket is there
}

// A transaction that was built before its bucket was dropped is refused whole.
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

// TestRetention_HeapStaysBounded replaces all labels and stacks over and over:
// at the end the heap is about that of a store with the live data alone.
func TestRetention_HeapStaysBounded(t *testing.T) {
	const buckets, retention, generationBuckets = 400, 20, 16
	fill := func(from, to int64) (*Store, int64) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		store, table := open(t, Options{Retention: retention * 1000, FutureLimit: -1, Manual: true}, samples(1000))
		for time := from; time < to; time += 100 {
			b := schema.Batch{Rows: 50, Columns: map[string]encoding.Vector{
				"kind": encoding.Strings("k"), "labels.pod": encoding.Strings(fmt.Sprint("pod-", time/300)),
				"time": encoding.Int64s(time), "value": encoding.Int64s(1),
			}}
			stacks := make([][]uuid.UUID, b.Rows)
			for i := range stacks {
				stacks[i] = []uuid.UUID{{byte(i), byte(time), byte(time >> 8), byte(time >> 16)}, {byte(i)}}
			}
			b.Columns["stack"] = encoding.UUIDLists(stacks...)
			insert(t, table, b)
		}
		if err := store.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&after)
		return store, int64(after.HeapAlloc) - int64(before.HeapAlloc)
	}
	// The live data of both: the buckets of the last generations that have any.
	first := int64(buckets-retention) / generationBuckets * generationBuckets * 1000
	fresh, want := fill(first, buckets*1000)
	churned, got := fill(0, buckets*1000)
	if got > want*12/10 {
		t.Errorf("heap of %d bytes after churn, %d in a fresh store with the same data", got, want)
	}
	t.Logf("heap %d bytes after %d buckets, %d fresh with %d", got, buckets, want, buckets-first/1000)
	runtime.KeepAlive(fresh)
	runtime.KeepAlive(churned)
}
