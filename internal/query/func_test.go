package query

import (
	"errors"
	"testing"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// Any Int64 column can be grouped by steps.
func TestStepOfAnyColumn(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, schema.Definition{Columns: []schema.Column{
		{Name: "at", Type: encoding.Int64, Encoding: encoding.Delta},
		{Name: "s", Type: encoding.String, Encoding: encoding.Dictionary, Nullable: true},
	}})
	table.Insert(schema.Batch{Rows: 4, Columns: map[string]encoding.Vector{"at": encoding.Int64s(-1, 0, 9, 10)}})
	r := table.Read()
	g, err := GroupRows(t.Context(), r, AggregateOptions{By: []string{"at"}, Step: 10, Time: "at"})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[int64]int64{}
	for i, at := range g.Columns[0].Values.Int64s {
		counts[at] = g.Counts[i]
	}
	if len(counts) != 3 || counts[-10] != 1 || counts[0] != 2 || counts[10] != 1 {
		t.Errorf("counts by step %v", counts)
	}
	for _, opts := range []AggregateOptions{{Step: 10}, {Step: -1, Time: "at"}, {Step: 10, Time: "s"}, {Step: 10, Time: "none"}} {
		if _, err := GroupRows(t.Context(), r, opts); !errors.Is(err, filter.ErrQuery) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}
