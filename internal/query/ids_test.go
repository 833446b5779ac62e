package query

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// A cancelled read returns the error of its context, even if no granule can match.
func TestRead_CancelledOfNoGranule(t *testing.T) {
	def := querytest.Stacks()
	def.Columns = append(def.Columns[:4:4], schema.Column{Name: "trace", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true}, def.Columns[4])
	table := querytest.Open(t, querytest.Options{}, def)
	table.Insert(schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{
		"kind": encoding.Strings("cpu"), "time": encoding.Int64s(1), "value": encoding.Int64s(1), "stack": encoding.UUIDLists([]uuid.UUID{{1}}),
	}})
	table.Compact()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, where := table.Read(), filter.Equal("trace", uuid.UUID{1})
	if g, err := GroupRows(ctx, r, AggregateOptions{Where: where}); !errors.Is(err, context.Canceled) {
		t.Errorf("Aggregate: %v, %v", g, err)
	}
	said := false
	for record, err := range scanned(ctx, r, ScanOptions{Columns: []string{"value"}, Where: where}) {
		said = errors.Is(err, context.Canceled)
		if record != nil {
			t.Errorf("a record of %d rows", record.NumRows())
		}
	}
	if !said {
		t.Error("Scan did not return the error of its context")
	}
}
