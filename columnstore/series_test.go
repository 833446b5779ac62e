package columnstore

import (
	"context"
	"fmt"
	"testing"
	"weak"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/schema"
)

// TestEmptyBatch commits no rows: a transaction like any other.
func TestEmptyBatch(t *testing.T) {
	store, table := open(t, Options{Manual: true}, samples(100))
	id, err := table.Insert(context.Background(), schema.Batch{Columns: map[string]encoding.Vector{
		"kind": encoding.Strings(), "stack": encoding.UUIDLists(), "time": encoding.Int64s(), "value": encoding.Int64s(),
		"labels.x": encoding.Strings(),
	}})
	if err != nil || id == 0 {
		t.Fatal(id, err)
	}
	b := oneRow(1) // single values for no row
	b.Rows = 0
	b.Columns["labels.x"] = encoding.Strings("x")
	insert(t, table, b)
	got := stateOf(t, store, table)
	if want := []string{"kind", "stack", "time", "trace", "value"}; len(got.Rows) > 0 || len(got.Series) > 0 || !cmp.Equal(got.Columns, want) || got.Stats.Granules > 0 {
		t.Errorf("rows %v, series %v, columns %v, stats %+v", got.Rows, got.Series, got.Columns, got.Stats)
	}
}

// between is a condition on times: from <= time < to.
func between(from, to int64) Expr { return And(AtLeast("time", from), Less("time", to)) }

// A bucket with a large set of series does not keep the set before alive.
func TestSeries_OldSetIsFreed(t *testing.T) {
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, samples(1000))
	put := func(lo, hi int) {
		kinds, values := make([]string, hi-lo), make([]int64, hi-lo)
		for i := range kinds {
			kinds[i], values[i] = fmt.Sprint("k", lo+i), 1
		}
		insert(t, table, schema.Batch{Rows: hi - lo, Columns: map[string]encoding.Vector{
			"kind": encoding.Strings(kinds...), "stack": encoding.UUIDLists([]uuid.UUID{{1}}),
			"time": encoding.Int64s(0), "value": encoding.Int64s(values...),
		}})
	}
	const n = 1 << 12
	put(0, n-1)
	var before weak.Pointer[catalog.BucketState]
	for _, b := range store.roots.Root().State.Tables[0].Buckets.All() {
		before = weak.Make(b)
	}
	put(n-1, n)
	for i := range int64(20) {
		insert(t, table, oneRow(i))
	}
	if kept(before) > 0 {
		t.Error("the bucket before is kept, with a set of series that nobody counts")
	}
}
