package query

import (
	"context"
	"fmt"
	"slices"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/query/order"
	"github.com/granarydb/granary/schema"
)

// AggregateOptions are the options of an Aggregate. The zero value counts all rows in one
// group.
type AggregateOptions struct {
	// Sum names the Int64 column to sum. Empty means that rows are only counted.
	Sum string
	// Aggregates are the values to compute for each group, in one pass. Sum must then be empty, because
	// an Aggregate can be a sum.
	Aggregates []Aggregate
	// By names the columns to group by. A family stands for all its concrete columns.
	By []string
	// Step, if above 0, rounds the column named by Time down to a multiple of Step before rows
	// are grouped by it. By must name the column.
	Step int64
	// Time names an Int64 column. Empty means the time bucket's column.
	Time string
	// AsOf, if not nil, is a last column to group by. The caller supplies its values.
	AsOf *AsOf
	// Where selects the rows.
	Where filter.Expr
	// OrderBy orders the groups by its first column, then by the second, and so on. Groups that are equal
	// in all columns are ordered by the columns of By, lists by their ids. Without it groups come in any
	// order.
	OrderBy []order.By
	// Limit bounds the number of groups: the first in the order of OrderBy are returned. 0 means no
	// limit. A limit without OrderBy, or a negative limit, is ErrQuery. All groups are computed, and only
	// the returned groups are copied.
	Limit int
	// NoCounts omits Groups.Counts, which takes 8 bytes per group.
	NoCounts bool
	// MaxBytes, if above 0, bounds the bytes that the query allocates for groups and for finding them,
	// including tables that it outgrows and drops. Beyond it the error is ErrQueryMemory.
	MaxBytes int64
}

// GroupRows groups the selected rows and sums them. See Table.Aggregate of package columnstore. The
// errors are ErrQuery, ErrQueryMemory, ErrOverflow, cancellation, expiry of the snapshot, and errors from
// AsOf.
func GroupRows(ctx context.Context, r *filter.Read, opts AggregateOptions) (*Groups, error) {
	a, err := newAggregator(ctx, r, opts)
	if err != nil {
		return nil, err
	}
	defer a.done()
	if err := a.sumAll(ctx, r, opts.Where); err != nil {
		return nil, err
	}
	g, err := a.groups()
	if err == nil && len(opts.OrderBy) > 0 {
		err = g.first(opts.OrderBy, opts.Limit, a.memory)
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// newAggregator checks the options. The caller must call done, unless there is an error.
func newAggregator(ctx context.Context, r *filter.Read, opts AggregateOptions) (*aggregator, error) {
	a := &aggregator{
		source: r.Env, sum: -1, name: opts.Sum, step: opts.Step, list: -1, noCounts: opts.NoCounts,
		memory: newQueryMemory(ctx, opts.MaxBytes), query: &queryDicts{seed: r.Seed}, sumScratch: sumWork.Get().(*sumScratch),
	}
	if opts.Sum != "" && len(opts.Aggregates) > 0 {
		return nil, fmt.Errorf("%w: sum of %q beside aggregates: want {Sum, %q} among them", filter.ErrQuery, opts.Sum, opts.Sum)
	}
	if opts.Sum != "" {
		column, ok := r.Schema.Resolve(opts.Sum)
		if !ok || r.Schema.Columns()[column].Type != encoding.Int64 {
			return nil, fmt.Errorf("%w: cannot sum column %q: want an int64 column", filter.ErrQuery, opts.Sum)
		}
		a.sum = column
	}
	err := a.newMeasures(opts.Aggregates)
	if err != nil {
		return nil, err
	}
	if a.time, err = opts.timeColumn(r.Schema); err != nil {
		return nil, err
	}
	var columns []schema.Concrete
	if opts.By != nil { // nil names would mean all columns
		if columns, err = r.Concrete(opts.By); err != nil {
			return nil, err
		}
	}
	for i, c := range columns {
		by := &byColumn{Concrete: c, typ: r.Schema.Columns()[c.Column].Type, series: r.Schema.IsSeries(c.Column)}
		if by.typ == encoding.UUIDList && a.list < 0 {
			a.list = i
		}
		a.by = append(a.by, by)
	}
	if opts.AsOf != nil {
		if err := a.newAsOf(opts.AsOf); err != nil {
			return nil, err
		}
	}
	return a, a.checkOrder(opts.OrderBy, opts.Limit)
}

// timeColumn returns the column that Step rounds, or -1.
func (opts *AggregateOptions) timeColumn(s *schema.Schema) (int, error) {
	column := s.BucketColumn()
	if opts.Time != "" {
		var ok bool
		column, ok = s.Resolve(opts.Time)
		if !ok || s.Columns()[column].Type != encoding.Int64 || s.Columns()[column].Dynamic {
			return 0, fmt.Errorf("%w: time %q: want a fixed int64 column", filter.ErrQuery, opts.Time)
		}
	}
	if opts.Step < 0 || opts.Step > 0 && column < 0 {
		return 0, fmt.Errorf("%w: step %d: want at least 0, and a time column", filter.ErrQuery, opts.Step)
	}
	if opts.Step > 0 && !slices.Contains(opts.By, s.Columns()[column].Name) {
		return 0, fmt.Errorf("%w: step %d: want column %q, which it rounds, in By", filter.ErrQuery, opts.Step, s.Columns()[column].Name)
	}
	return column, nil
}
