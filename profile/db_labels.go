package profile

import (
	"context"
	"slices"
	"strings"

	"github.com/granarydb/granary/columnstore"
)

// LabelNames returns the names, sorted, of the labels that profiles of a query can have: of
// profiles, and of samples if they are text, trace and span ids included.
//
// No row is read, so a name can be there without a row that has it: bounds on time mean
// the time buckets that meet them, Query.Function is not looked at, and labels of samples
// are all that the table has. That there are trace and span ids is looked up, in the
// first row that has one. O(series x buckets), and O(parts) for the ids. Errors are those of
// columnstore.Table.Series.
func (db *DB) LabelNames(ctx context.Context, snap *columnstore.Snapshot, q Query) ([]string, error) {
	columns, err := db.table.SeriesColumns(ctx, snap, q.Expr())
	if err != nil {
		return nil, err
	}
	if len(columns) == 0 { // there is none, or one that nothing is known of
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

// appendSampleLabels appends the names of the labels that samples can have.
func (db *DB) appendSampleLabels(ctx context.Context, snap *columnstore.Snapshot, names []string, q Query) ([]string, error) {
	columns, err := db.table.Columns(snap)
	if err != nil {
		return nil, err
	}
	for _, column := range columns {
		if name, ok := strings.CutPrefix(column, ColumnPprofLabels+"."); ok {
			name, _, _ = cutNumber(name)
			names = append(names, name)
			continue
		}
		if idType(column) == 0 {
			continue
		}
		has, err := db.hasID(ctx, snap, column, q)
		if err != nil {
			return nil, err
		}
		if has {
			names = append(names, column)
		}
	}
	return names, nil
}

// hasID says whether a row of a query has a value in a column of ids.
func (db *DB) hasID(ctx context.Context, snap *columnstore.Snapshot, column string, q Query) (bool, error) {
	q.Function = nil
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

// LabelValues returns the distinct values, sorted, that a label has in the profiles of
// a query. A name means a label of the profile first, and of the sample where the profile
// has none, as in a Selector.
//
// Labels of profiles are those of the series that LabelNames speaks of: no row is read,
// O(series x buckets). Labels of samples are looked up in the rows, at the cost of
// columnstore.Table.Aggregate, if any sample has a label of the name; Query.Function
// and MaxBytes are about these. Trace and span ids are many: a Query of a short time is
// wise. Errors are those of Aggregate; an empty name is columnstore.ErrQuery.
func (db *DB) LabelValues(ctx context.Context, snap *columnstore.Snapshot, name string, q Query) ([]string, error) {
	values, err := db.table.SeriesValues(ctx, snap, ColumnLabels+"."+name, q.Expr())
	if err != nil {
		return nil, err
	}
	all, err := db.table.Columns(snap)
	if err != nil {
		return nil, err
	}
	missing := []columnstore.Expr{q.Expr(), columnstore.Equal(ColumnLabels+"."+name, "")}
	if column := labelColumn(ColumnPprofLabels, name, 0); slices.Contains(all, column) {
		none := columnstore.Equal(column, "")
		found, err := db.valuesOf(ctx, snap, column, q, append(missing, columnstore.Not(none)))
		if err != nil {
			return nil, err
		}
		values, missing = append(values, found...), append(missing, none)
	}
	if idType(name) != 0 {
		found, err := db.valuesOf(ctx, snap, name, q, append(missing, columnstore.Not(columnstore.IsNull(name))))
		if err != nil {
			return nil, err
		}
		values = append(values, found...)
	}
	slices.Sort(values)
	return slices.Compact(values), nil
}

// valuesOf returns the distinct values of a column in the rows for which all conditions
// hold.
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
		values[row] = valueText(&groups.Columns[0], row)
	}
	return values, nil
}
