package query

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// Rows of one id are found, alone and beside conditions on the same rows, in parts with an ID
// filter, in parts without, and in both.
func TestAggregate_ByID(t *testing.T) {
	def := querytest.Stacks()
	def.Columns = append(def.Columns[:4:4], schema.Column{Name: "trace", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true}, def.Columns[4])
	table := querytest.Open(t, querytest.Options{}, def)
	const batches, rows, ids = 8, 400, 500
	idOf := func(batch, row int) uuid.UUID {
		id := (batch*rows + row) * 7 % (ids - 1)
		if batch == batches-1 && row == 17 { // in the fresh part alone
			id = ids - 1
		}
		return uuid.UUID{byte(id), byte(id >> 8), 9: 1}
	}
	for n := range batches {
		trace, stacks, values := make([]uuid.UUID, rows), make([][]uuid.UUID, rows), make([]int64, rows)
		for i := range trace {
			trace[i], stacks[i], values[i] = idOf(n, i), []uuid.UUID{{byte(i * 31), byte(i * 31 >> 8)}}, int64(i%10)
		}
		table.Insert(schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
			"kind": encoding.Strings("cpu"), "labels.pod": encoding.Strings(fmt.Sprint(n % 2)), "time": encoding.Int64s(int64(n)),
			"value": encoding.Int64s(values...), "trace": encoding.UUIDs(trace...), "stack": encoding.UUIDLists(stacks...),
		}})
		if n == batches-2 {
			table.Compact()
		}
	}
	for _, when := range []string{"a fresh part", "compacted"} {
		for id := -1; id < ids; id++ {
			one := uuid.UUID{byte(id), byte(id >> 8), 9: 1}
			for _, tt := range []struct {
				name  string
				where filter.Expr
				holds func(same bool, value int) bool
			}{
				{"is", filter.Equal("trace", one), func(same bool, _ int) bool { return same }},
				{"is, and above", filter.And(filter.AtLeast("value", 5), filter.Equal("trace", one)), func(same bool, value int) bool { return same && value >= 5 }},
				{"is, or above", filter.Or(filter.Equal("trace", one), filter.AtLeast("value", 9)), func(same bool, value int) bool { return same || value >= 9 }},
				{"is not", filter.Not(filter.Equal("trace", one)), func(same bool, _ int) bool { return !same }},
			} {
				want := int64(0)
				for row := range batches * rows {
					if tt.holds(idOf(row/rows, row%rows) == one, row%rows%10) {
						want++
					}
				}
				groups, err := GroupRows(t.Context(), table.Read(), AggregateOptions{Where: tt.where})
				if err != nil {
					t.Fatal(err)
				}
				got := int64(0)
				for _, count := range groups.Counts {
					got += count
				}
				if got != want {
					t.Fatalf("%s: %d rows of which trace %s %v; want %d", when, got, tt.name, one, want)
				}
			}
		}
		table.Compact()
	}
}

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
