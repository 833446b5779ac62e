package profile

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
)

// Label is a name and its value.
type Label struct{ Name, Value string }

// compareLabels orders by the first label that differs: by its name, then by its value.
func compareLabels(a, b []Label) int {
	return slices.CompareFunc(a, b, func(a, b Label) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
	})
}

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
// O(series x buckets). Labels of samples are looked up in the rows, which costs what
// columnstore.Table.Aggregate does, if any sample has a label of the name; Query.Function
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

// Source is one series: what is measured, and where.
type Source struct {
	Type   Type
	Labels []Label // of the profiles, sorted by name
}

// Series returns the series that can have rows of a query, sorted by type, then by labels.
// No row is read: see LabelNames. The slices belong to the caller.
//
// O(series x buckets), and about 1 us for each of the answer. Errors are those of
// columnstore.Table.Series.
func (db *DB) Series(ctx context.Context, snap *columnstore.Snapshot, q Query) ([]Source, error) {
	series, err := db.table.Series(ctx, snap, q.Expr())
	if err != nil {
		return nil, err
	}
	sources := make([]Source, len(series))
	for i, s := range series {
		sources[i].Type = typeOf(s)
		for _, label := range s {
			if name, ok := strings.CutPrefix(label.Name, ColumnLabels+"."); ok {
				sources[i].Labels = append(sources[i].Labels, Label{name, label.Value})
			}
		}
		slices.SortFunc(sources[i].Labels, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
	}
	slices.SortFunc(sources, func(a, b Source) int {
		return cmp.Or(a.Type.compare(b.Type), compareLabels(a.Labels, b.Labels))
	})
	return sources, nil
}

func (t Type) compare(u Type) int {
	return cmp.Or(cmp.Compare(t.Sample, u.Sample), cmp.Compare(t.SampleUnit, u.SampleUnit),
		cmp.Compare(t.Period, u.Period), cmp.Compare(t.PeriodUnit, u.PeriodUnit))
}

// ProfileInfo is one profile that the store has, of one type.
type ProfileInfo struct {
	Time     int64   // Unix nanoseconds
	Duration int64   // nanoseconds
	Period   int64   // in Type.PeriodUnit
	Labels   []Label // of the profile, sorted by name
	Total    int64   // sum of its values, in Type.SampleUnit
	Rows     int64   // how many values, of the samples that the query chooses
}

// Profiles returns which profiles there are of a type with a sample that a query chooses,
// by time, then by labels. Profiles of one time, duration, period and set of labels count
// as one. The slices belong to the caller.
//
// It costs what columnstore.Table.Aggregate does, 5 to 10 ns a row, and about 1 us a profile.
// Errors are those of Aggregate.
func (db *DB) Profiles(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query) ([]ProfileInfo, error) {
	groups, err := db.table.Aggregate(ctx, snap, columnstore.AggregateOptions{
		Sum: ColumnValue, By: []string{ColumnTimestamp, ColumnDuration, ColumnPeriod, ColumnLabels},
		Where: q.Expr(t), MaxBytes: q.MaxBytes,
	})
	if err != nil {
		return nil, err
	}
	const profile, label = 64, 32
	if err := q.fits(groups, (profile+label*(len(groups.Columns)-3))*len(groups.Sums)); err != nil {
		return nil, err
	}
	out := make([]ProfileInfo, len(groups.Sums))
	for row := range out {
		out[row] = ProfileInfo{
			Time: groups.Columns[0].Values.Int64s[row], Duration: groups.Columns[1].Values.Int64s[row],
			Period: groups.Columns[2].Values.Int64s[row], Total: groups.Sums[row], Rows: groups.Counts[row],
		}
		for i := range groups.Columns[3:] {
			c := &groups.Columns[3+i]
			if value := valueText(c, row); value != "" {
				out[row].Labels = append(out[row].Labels, Label{strings.TrimPrefix(c.Name, ColumnLabels+"."), value})
			}
		}
	}
	slices.SortFunc(out, func(a, b ProfileInfo) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), compareLabels(a.Labels, b.Labels),
			cmp.Compare(a.Duration, b.Duration), cmp.Compare(a.Period, b.Period))
	})
	return out, nil
}

// valueText returns the value of a row as text, empty if it has none.
func valueText(c *columnstore.GroupColumn, row int) string {
	if c.Values.Null(row) {
		return ""
	}
	switch c.Values.Type {
	case encoding.UUID:
		return idText(c.Values.UUIDs[row])
	case encoding.Uint64:
		return idText(c.Values.Uint64s[row])
	default:
		return c.Values.Strings[row]
	}
}
