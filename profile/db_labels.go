package profile

import (
	"context"
	"slices"
	"strings"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile/means"
	"github.com/granarydb/granary/profile/rows"
)

// LabelNames returns the sorted names of the labels that profiles of a query can have: labels
// of profiles, and text labels of samples, including trace and span ids.
//
// It reads almost no rows, so it can return a name that no selected row has. Bounds on time
// select the time buckets that overlap them, conditions on stacks are ignored, and the labels of
// samples are those of the whole table. The only rows read are the first with a trace id and
// the first with a span id. It costs O(series x buckets), and O(parts) for the ids. Errors are
// those of columnstore.Table.Series.
//
// With Query.Exact it returns the names that selected rows have. For each label of samples it
// then looks for the first row, and if no row of the query has the label, it reads all of them.
func (db *DB) LabelNames(ctx context.Context, snap *columnstore.Snapshot, q Query) ([]string, error) {
	columns, err := db.seriesColumns(ctx, snap, q)
	if err != nil {
		return nil, err
	}
	if len(columns) == 0 && !q.Exact { // no series, or one without any values
		if series, err := db.table.Series(ctx, snap, q.Expr()); err != nil || len(series) == 0 {
			return nil, err
		}
	}
	var names []string
	for _, column := range columns {
		if name, ok := strings.CutPrefix(column, ColumnLabels+"."); ok {
			names = append(names, name)
		}
	}
	names, err = db.appendSampleLabels(ctx, snap, names, q)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// seriesColumns returns the columns in which the series of a query have a value.
func (db *DB) seriesColumns(ctx context.Context, snap *columnstore.Snapshot, q Query) ([]string, error) {
	if !q.Exact {
		return db.table.SeriesColumns(ctx, snap, q.Expr())
	}
	groups, err := db.table.Aggregate(ctx, snap, columnstore.AggregateOptions{
		By: []string{ColumnLabels}, Where: q.Expr(), NoCounts: true, MaxBytes: q.MaxBytes,
	})
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
func (db *DB) appendSampleLabels(ctx context.Context, snap *columnstore.Snapshot, names []string, q Query) ([]string, error) {
	columns, err := db.table.Columns(snap)
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
		has := isLabel && !q.Exact
		if !has {
			if has, err = db.hasValue(ctx, snap, column, q); err != nil {
				return nil, err
			}
		}
		if has {
			names = append(names, name)
		}
	}
	return names, nil
}

// hasValue reports whether a row of a query has a value in a column of labels of samples. Its
// conditions on stacks count if the query is exact.
func (db *DB) hasValue(ctx context.Context, snap *columnstore.Snapshot, column string, q Query) (bool, error) {
	if !q.Exact {
		q = q.withoutFrames()
	}
	where := columnstore.And(columnstore.Not(columnstore.IsNull(column)), q.Expr())
	for rec, err := range db.table.Scan(ctx, snap, columnstore.ScanOptions{Columns: []string{column}, Where: where, Limit: 1}) {
		if err != nil {
			return false, err
		}
		rec.Release()
		return true, nil
	}
	return false, nil
}

// LabelValues returns the sorted distinct values of a label in the profiles of a query. A name
// refers to the label of the profile or, if the profile does not have it, to that of the
// sample, as in a Selector.
//
// Labels of profiles are found like those of LabelNames: without Query.Exact no row is read, and
// the cost is O(series x buckets). If samples have a label of the name, their values are read
// from the rows, at the cost of columnstore.Table.Aggregate. Conditions on stacks and MaxBytes
// apply only to rows that are read. Trace and span ids are numerous, so bound the time of the
// query. Errors are those of Aggregate; an empty name is columnstore.ErrQuery.
func (db *DB) LabelValues(ctx context.Context, snap *columnstore.Snapshot, name string, q Query) ([]string, error) {
	column := ColumnLabels + "." + name
	values, err := db.seriesValues(ctx, snap, column, q)
	if err != nil {
		return nil, err
	}
	all, err := db.table.Columns(snap)
	if err != nil {
		return nil, err
	}
	missing := []columnstore.Expr{q.Expr(), columnstore.Equal(column, "")}
	if column := rows.LabelColumn(ColumnPprofLabels, name, 0); slices.Contains(all, column) {
		none := columnstore.Equal(column, "")
		found, err := db.valuesOf(ctx, snap, column, q, append(missing, columnstore.Not(none)))
		if err != nil {
			return nil, err
		}
		values, missing = append(values, found...), append(missing, none)
	}
	if rows.IDType(name) != 0 {
		found, err := db.valuesOf(ctx, snap, name, q, append(missing, columnstore.Not(columnstore.IsNull(name))))
		if err != nil {
			return nil, err
		}
		values = append(values, found...)
	}
	slices.Sort(values)
	return slices.Compact(values), nil
}

// seriesValues returns the distinct values that the series of a query have in a column.
func (db *DB) seriesValues(ctx context.Context, snap *columnstore.Snapshot, column string, q Query) ([]string, error) {
	if !q.Exact {
		return db.table.SeriesValues(ctx, snap, column, q.Expr())
	}
	return db.valuesOf(ctx, snap, column, q, []columnstore.Expr{q.Expr(), columnstore.Not(columnstore.Equal(column, ""))})
}

// valuesOf returns the distinct values of a column in the rows for which all conditions hold.
func (db *DB) valuesOf(ctx context.Context, snap *columnstore.Snapshot, column string, q Query, where []columnstore.Expr) ([]string, error) {
	groups, err := db.table.Aggregate(ctx, snap, columnstore.AggregateOptions{
		By: []string{column}, Where: columnstore.And(where...), MaxBytes: q.MaxBytes,
	})
	if err != nil {
		return nil, err
	}
	const value = 16 + 32 // a string, and the text of an id
	if err := q.fits(groups, value*len(groups.Counts)); err != nil {
		return nil, err
	}
	values := make([]string, len(groups.Counts))
	for row := range values {
		values[row] = means.Text(&groups.Columns[0], row)
	}
	return values, nil
}
