package columnstore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// shardsOf returns a row of one pod.
func shardsOf(pod string, at int64) schema.Batch {
	b := oneRow(at)
	b.Columns["labels.pod"] = encoding.Strings(pod)
	return b
}

// A query cancelled midway returns nothing beside the error.
func TestQueries_SeriesCancelled(t *testing.T) {
	store, table := open(t, Options{Manual: true, GenerationBuckets: 1}, samples(100))
	for i := range 4 {
		insert(t, table, shardsOf(fmt.Sprint("pod ", i), int64(100*i)))
	}
	snap := snapshot(t, store)
	var ctx context.Context
	cancel := func() {}
	where := Func("labels.pod", func(v any) bool {
		if v != nil { // a row without a value is evaluated first
			cancel()
		}
		return true
	})
	for name, ask := range allQueries(t, table, where) {
		ctx, cancel = context.WithCancel(t.Context())
		if err := ask(ctx, snap); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}
