package columnstore

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// insert commits a batch or ends the test.
func insert(t testing.TB, table *Table, b schema.Batch) {
	t.Helper()
	if _, err := table.Insert(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

func compact(t testing.TB, store *Store) {
	t.Helper()
	if err := store.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// bucketStarts returns the starts of the buckets of a table in a snapshot, in order.
func bucketStarts(t testing.TB, table *Table, snap *Snapshot) (starts []int64) {
	t.Helper()
	r, err := snap.peek(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range r.State.Buckets.All() {
		starts = append(starts, b.Start)
	}
	return starts
}

// The batches, rows and schemas that tests of questions have too are in package querytest.
var (
	samples, oneRow, at, batch                      = querytest.Samples, querytest.OneRow, querytest.At, querytest.Batch
	wide, wideKey, keys                             = querytest.Wide, querytest.WideKey, querytest.WideKeys
	domains, randomRows, batchOf, concreteNames     = querytest.Domains, querytest.RandomRows, querytest.BatchOf, querytest.ConcreteNames
	pods, heavy, stackSamples, expand, cell, decode = querytest.Pods, querytest.Heavy, querytest.Stacks, querytest.Expand, querytest.Cell, querytest.Decode
)

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
