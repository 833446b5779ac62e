package profile

import (
	"context"
	"slices"

	"github.com/granarydb/granary/columnstore"
)

// LabelTotal is the sum of a type's values, or their mean for gauges, for one combination of the requested labels.
type LabelTotal struct {
	// Labels are the requested labels, sorted by name. Missing labels are omitted.
	Labels []Label
	Value  int64 // in Type.SampleUnit
}

// Totals sums a type's values in a query's profiles by labels, as MergeBy does, without the stacks. Gauges are means over
// all times of a source (Query.SumGauges). Totals are sorted by labels and belong to the caller.
//
// It costs as much as columnstore.Table.Aggregate by series, 3 to 10 ns a row. Errors are as for MergeBy.
func (db *DB) Totals(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query, by ...string) ([]LabelTotal, error) {
	p := db.plan(ctx, snap, q, t)
	g := p.grouping(by)
	groups, err := p.sum(ctx, p.types, columnstore.AggregateOptions{By: g.columns(), NoCounts: true})
	if err != nil {
		return nil, err
	}
	if err := p.fits(groups, labelTotal*len(groups.Sums)); err != nil {
		return nil, err
	}
	var out []LabelTotal
	for row, sum := range groups.Sums {
		i := int(g.group(groups.Columns, row))
		if i == len(out) {
			out = append(out, LabelTotal{Labels: g.labels[i]})
		}
		out[i].Value += sum
	}
	slices.SortFunc(out, func(a, b LabelTotal) int { return compareLabels(a.Labels, b.Labels) })
	return out, nil
}

// labelTotal is about the bytes of a LabelTotal or a LabelSources with one label.
const labelTotal = 80

// LabelSources is the number of the sources of one combination of the requested labels.
type LabelSources struct {
	// Labels are the requested labels, sorted by name. Missing labels are omitted.
	Labels []Label
	// Sources counts sources with a chosen value, as for Query.SumGauges: profiles with equal labels are of one source.
	Sources int
}

// SourcesBy counts the sources that have values of a type in a query's profiles, by labels. The answer is sorted by labels
// and belongs to the caller.
//
// It costs about as much as Series with Query.Exact. Errors are as for Aggregate. An empty name is columnstore.ErrQuery.
func (db *DB) SourcesBy(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query, by ...string) ([]LabelSources, error) {
	p := db.plan(ctx, snap, q, t)
	g := p.grouping(by)
	groups, err := p.read(ctx, p.chosen, columnstore.AggregateOptions{By: append(g.columns(), ColumnLabels)})
	if err != nil {
		return nil, err
	}
	if err := p.fits(groups, (labelTotal+gaugeBytes)*len(groups.Counts)); err != nil {
		return nil, err
	}
	var out []LabelSources
	seen, sources := make(map[[2]int]bool, len(groups.Counts)), sourceIndex{columns: db.labelColumns(groups)}
	for row := range groups.Counts {
		key := [2]int{int(g.group(groups.Columns, row)), sources.of(row)}
		if key[0] == len(out) {
			out = append(out, LabelSources{Labels: g.labels[key[0]]})
		}
		if !seen[key] {
			seen[key] = true
			out[key[0]].Sources++
		}
	}
	slices.SortFunc(out, func(a, b LabelSources) int { return compareLabels(a.Labels, b.Labels) })
	return out, nil
}

// LabelTime is the time of the newest profile of one combination of the requested labels.
type LabelTime struct {
	// Labels are the requested labels, sorted by name. Missing labels are omitted.
	Labels []Label
	Time   int64 // Unix nanoseconds
}

// NewestBy returns the time of the newest profile that has values of a type in a query's profiles, by labels. The answer is
// sorted by labels and belongs to the caller.
//
// It costs one columnstore.Table.Aggregate with an Aggregate, about 8 ns a row. Errors are as for SourcesBy.
func (db *DB) NewestBy(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query, by ...string) ([]LabelTime, error) {
	p := db.plan(ctx, snap, q, t)
	g := p.grouping(by)
	groups, err := p.read(ctx, p.chosen, columnstore.AggregateOptions{
		By: g.columns(), NoCounts: true, Aggregates: []columnstore.Aggregate{{Op: columnstore.Max, Column: ColumnTimestamp}},
	})
	if err != nil {
		return nil, err
	}
	times := groups.Aggregates[0].Values.Int64s
	if err := p.fits(groups, labelTotal*len(times)); err != nil {
		return nil, err
	}
	var out []LabelTime
	for row, at := range times {
		i := int(g.group(groups.Columns, row))
		if i == len(out) {
			out = append(out, LabelTime{Labels: g.labels[i], Time: at})
		}
		out[i].Time = max(out[i].Time, at)
	}
	slices.SortFunc(out, func(a, b LabelTime) int { return compareLabels(a.Labels, b.Labels) })
	return out, nil
}
