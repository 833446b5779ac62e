package profile

import (
	"context"
	"slices"
	"strings"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/means"
	"github.com/granarydb/granary/internal/rows"
)

// LabelNames returns the sorted names of the labels that a query's profiles can have: profile labels, and
// text sample labels, including trace and span ids.
//
// It reads almost no rows, so it can return a name that no selected row has. Bounds on time select the
// time buckets that overlap them, conditions on stacks are ignored, and the sample labels come from the
// whole table. It reads only the first row with a trace id and the first row with a span id. It costs
// O(series x buckets), and O(parts) for the ids. Errors are as for columnstore.Table.Series.
//
// With Query.Exact it returns the names that selected rows have. For each label of samples it then looks
// for the first row with the label, and reads all rows of the query if there is none.
func (db *DB) LabelNames(ctx context.Context, snap *columnstore.Snapshot, q Query) ([]string, error) {
	p := db.plan(ctx, snap, q)
	columns, err := p.seriesColumns(ctx)
	if err != nil {
		return nil, err
	}
	if len(columns) == 0 && !q.Exact { // no series, or only a series without values
		if series, err := db.table.Series(ctx, snap, p.chosen); err != nil || len(series) == 0 {
			return nil, err
		}
	}
	var names []string
	for _, column := range columns {
		if name, ok := strings.CutPrefix(column, ColumnLabels+"."); ok {
			names = append(names, name)
		}
	}
	names, err = p.appendSampleLabels(ctx, names)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// seriesColumns returns the columns in which a series of the query has a value.
func (p *plan) seriesColumns(ctx context.Context) ([]string, error) {
	if !p.q.Exact {
		return p.db.table.SeriesColumns(ctx, p.snap, p.chosen)
	}
	groups, err := p.read(ctx, p.chosen, columnstore.AggregateOptions{By: []string{ColumnLabels}, NoCounts: true})
	if err != nil {
		return nil, err
	}
	var columns []string
	for i := range groups.Columns {
		if c := &groups.Columns[i]; slices.ContainsFunc(c.Values.Strings, func(v string) bool { return v != "" }) {
			columns = append(columns, c.Name)
		}
	}
	return columns, nil
}

// appendSampleLabels appends the names of the labels that samples can have.
func (p *plan) appendSampleLabels(ctx context.Context, names []string) ([]string, error) {
	columns, err := p.db.table.Columns(p.snap)
	if err != nil {
		return nil, err
	}
	for _, column := range columns {
		name, isLabel := strings.CutPrefix(column, ColumnPprofLabels+".")
		if isLabel {
			name, _, _ = rows.CutNumber(name)
		} else if rows.IDType(column) == 0 {
			continue
		}
		has := isLabel && !p.q.Exact
		if !has {
			if has, err = p.hasValue(ctx, column); err != nil {
				return nil, err
			}
		}
		if has {
			names = append(names, name)
		}
	}
	return names, nil
}

// hasValue reports whether a row of the query has a value in a column of sample labels. Conditions on
// stacks count if the query is exact.
func (p *plan) hasValue(ctx context.Context, column string) (bool, error) {
	chosen := p.chosen
	if !p.q.Exact {
		chosen = p.series(nil)
	}
	where := columnstore.And(columnstore.Not(columnstore.IsNull(column)), chosen)
	for rec, err := range p.db.table.Scan(ctx, p.snap, columnstore.ScanOptions{Columns: []string{column}, Where: where, Limit: 1}) {
		if err != nil {
			return false, err
		}
		rec.Release()
		return true, nil
	}
	return false, nil
}

// LabelValues returns the sorted distinct values of a label in a query's profiles. A name refers to the
// label of the profile or, if the profile lacks it, of the sample, as in a Selector.
//
// Labels of profiles are found as in LabelNames: without Query.Exact no row is read, and the cost is
// O(series x buckets). If samples have a label with this name, their values are read from the rows, at
// the cost of columnstore.Table.Aggregate. Conditions on stacks and MaxBytes apply only to rows that are
// read. Bound the query's time for trace and span ids, because they are numerous. Errors are as for
// Aggregate. An empty name is columnstore.ErrQuery.
func (db *DB) LabelValues(ctx context.Context, snap *columnstore.Snapshot, name string, q Query) ([]string, error) {
	p := db.plan(ctx, snap, q)
	all, err := db.table.Columns(snap)
	if err != nil {
		return nil, err
	}
	var values []string
	for _, name := range append([]string{name}, p.names.others(name)...) {
		found, err := p.labelValues(ctx, name, all)
		if err != nil {
			return nil, err
		}
		values = append(values, found...)
	}
	slices.Sort(values)
	return slices.Compact(values), nil
}

// labelValues returns the values of the label with exactly this name. all are the table's columns.
func (p *plan) labelValues(ctx context.Context, name string, all []string) ([]string, error) {
	column := ColumnLabels + "." + name
	values, err := p.seriesValues(ctx, column)
	if err != nil {
		return nil, err
	}
	missing := []columnstore.Expr{p.chosen, columnstore.Equal(column, "")}
	if column := rows.LabelColumn(ColumnPprofLabels, name, 0); slices.Contains(all, column) {
		none := columnstore.Equal(column, "")
		found, err := p.valuesOf(ctx, column, append(missing, columnstore.Not(none)))
		if err != nil {
			return nil, err
		}
		values, missing = append(values, found...), append(missing, none)
	}
	if rows.IDType(name) != 0 {
		found, err := p.valuesOf(ctx, name, append(missing, columnstore.Not(columnstore.IsNull(name))))
		if err != nil {
			return nil, err
		}
		values = append(values, found...)
	}
	return values, nil
}

// seriesValues returns the distinct values of the query's series in a column.
func (p *plan) seriesValues(ctx context.Context, column string) ([]string, error) {
	if !p.q.Exact {
		return p.db.table.SeriesValues(ctx, p.snap, column, p.chosen)
	}
	return p.valuesOf(ctx, column, []columnstore.Expr{p.chosen, columnstore.Not(columnstore.Equal(column, ""))})
}

// valuesOf returns the distinct values in a column in the rows for which all conditions hold.
func (p *plan) valuesOf(ctx context.Context, column string, where []columnstore.Expr) ([]string, error) {
	groups, err := p.read(ctx, columnstore.And(where...), columnstore.AggregateOptions{By: []string{column}})
	if err != nil {
		return nil, err
	}
	const value = 16 + 32 // a string, and the text of an id
	if err := p.fits(groups, value*len(groups.Counts)); err != nil {
		return nil, err
	}
	values := make([]string, len(groups.Counts))
	for row := range values {
		values[row] = means.Text(&groups.Columns[0], row)
	}
	return values, nil
}
