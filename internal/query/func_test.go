package query

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// Func receives the Go value of each type, and nil for a null.
func TestFuncSeesValues(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, schema.Definition{Columns: []schema.Column{
		{Name: "s", Type: encoding.String, Encoding: encoding.Dictionary, Nullable: true},
		{Name: "u", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true},
		{Name: "i", Type: encoding.Int64, Encoding: encoding.Plain, Nullable: true},
		{Name: "n", Type: encoding.Uint64, Encoding: encoding.Plain, Nullable: true},
		{Name: "f", Type: encoding.Float64, Encoding: encoding.Plain, Nullable: true},
		{Name: "b", Type: encoding.Bool, Encoding: encoding.Plain, Nullable: true},
		{Name: "l", Type: encoding.UUIDList, Encoding: encoding.Dictionary, Nullable: true},
	}})
	half := func(v encoding.Vector) encoding.Vector { // the second row is null
		v.Valid = []bool{true, false}
		return v
	}
	table.Insert(schema.Batch{Rows: 2, Columns: map[string]encoding.Vector{
		"s": half(encoding.Strings("x", "")), "u": half(encoding.UUIDs(uuid.UUID{7}, uuid.Nil)),
		"i": half(encoding.Int64s(-3, 0)), "n": half(encoding.Uint64s(1<<63, 0)),
		"f": half(encoding.Float64s(0.5, 0)), "b": half(encoding.Bools(true, false)),
	}})
	r := table.Read()
	for column, want := range map[string]any{"s": "x", "u": uuid.UUID{7}, "i": int64(-3), "n": uint64(1 << 63), "f": 0.5, "b": true} {
		for _, wanted := range []any{want, nil} {
			g, err := GroupRows(t.Context(), r, AggregateOptions{Where: filter.Func(column, func(v any) bool { return v == wanted })})
			if err != nil || len(g.Counts) != 1 || g.Counts[0] != 1 {
				t.Errorf("%s: rows equal to %v: %v, %v; want one", column, wanted, g, err)
			}
		}
	}
	for _, bad := range []filter.Expr{filter.Func("l", func(any) bool { return true }), filter.Func("i", nil), filter.Func("none", func(any) bool { return true })} {
		if _, err := GroupRows(t.Context(), r, AggregateOptions{Where: bad}); !errors.Is(err, filter.ErrQuery) {
			t.Errorf("a condition that cannot be: %v", err)
		}
	}
}

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
