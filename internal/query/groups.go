package query

import (
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/uuid"
	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/internal/query/filter"
)

// Groups is the answer of an Aggregate. Each slice has one element per group, in the order of
// AggregateOptions.OrderBy, or in no particular order without it. The caller owns it.
type Groups struct {
	// Columns has the values of the By columns, in their order. With AggregateOptions.AsOf, a
	// Uint64 column without a name follows.
	Columns []GroupColumn
	// Aggregates has the values of AggregateOptions.Aggregates, in their order, named by
	// Aggregate.String.
	Aggregates []GroupColumn
	// Sums has the sum of each group. It wraps around on overflow. It is nil with
	// AggregateOptions.Aggregates.
	Sums []int64
	// Counts has the number of rows in each group. It is nil with AggregateOptions.NoCounts.
	Counts []int64
}

// GroupColumn is a column of Groups. A list column has Codes instead of Values: each distinct list has
// one code, and Lists returns its elements. Any other column has only Values. Lists keeps the
// dictionaries of its generations alive, even after the store has dropped them. They then count in no
// memory budget.
type GroupColumn struct {
	Name   string
	Values encoding.Vector
	Codes  []uint32 // by group; 0 is null
	Lists  dict.ListView
}

// Column returns the column called name, first from Columns, then from Aggregates ("max(value)"). It
// returns nil if there is none.
func (g *Groups) Column(name string) *GroupColumn {
	for _, columns := range [][]GroupColumn{g.Columns, g.Aggregates} {
		for i := range columns {
			if columns[i].Name == name {
				return &columns[i]
			}
		}
	}
	return nil
}

// RecordOptions are the options of Groups.Record. The zero value is the Dictionary form with id lists.
type RecordOptions struct {
	// Memory allocates the record; nil means the Go allocator.
	Memory memory.Allocator
	// Form is the layout of repeated values in the record. Native is the same as Dictionary, because
	// groups are in any order. An unknown form is ErrQuery.
	Form arrowconv.Form
	// Timestamps names the columns of type Int64 that become Arrow timestamps, as in
	// ScanOptions. Other names are ignored.
	Timestamps []string
	// Elements, if not nil, converts id lists to lists of strings, as in ScanOptions. It is called once
	// for each distinct element of each generation of the lists.
	Elements func(dst []string, id uuid.UUID, record []byte) []string
}

// Record returns the groups as an Arrow record, one row per group in their order. The columns are By,
// then Aggregates or else "sum", then "count" unless Counts is nil. Strings, UUIDs and lists are
// dictionaries, unless the form is Plain. The record shares no memory with the groups, and the caller
// releases it.
//
// It costs about 150 ns for each distinct list of 20 elements, less if the answer has most lists in the
// dictionary in order, and 1 to 50 ns for any other value. The errors are ErrQuery, and
// arrowconv.ErrBuild for limits of Arrow (2 GiB of strings, or 2^31 elements of lists).
func (g *Groups) Record(opts RecordOptions) (arrow.Record, error) {
	if !opts.Form.Known() {
		return nil, fmt.Errorf("%w: %v", filter.ErrQuery, opts.Form)
	}
	columns := slices.Concat(g.Columns, g.Aggregates)
	fields := make([]arrowconv.Field, 0, len(columns)+2)
	for i := range columns {
		c := &columns[i]
		fields = append(fields, arrowconv.Field{
			Name: c.Name, Type: c.Values.Type, Coded: true, Nullable: true, Names: opts.Elements,
			Time: slices.Contains(opts.Timestamps, c.Name),
		})
	}
	for _, sums := range []struct {
		name   string
		values []int64
	}{{"sum", g.Sums}, {"count", g.Counts}} {
		if sums.values != nil {
			columns = append(columns, GroupColumn{Values: encoding.Int64s(sums.values...)})
			fields = append(fields, arrowconv.Field{Name: sums.name, Type: encoding.Int64})
		}
	}
	out := arrowconv.NewRecordBuilder(opts.Memory, opts.Form, fields)
	defer out.Release()
	for i := range columns {
		if c := &columns[i]; c.Values.Type == encoding.UUIDList {
			out.Lists(i, c.Lists, c.Codes)
		} else {
			out.Vector(i, &c.Values)
		}
	}
	return out.Record()
}
