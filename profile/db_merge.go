package profile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/granarydb/granary/columnstore"
)

// Merge sums a type's values in a query's profiles, by stack. Gauges are means (Query.SumGauges). If the
// query selects nothing, or no profile has the type, the answer has no stacks, without an error.
//
// It costs as much as columnstore.Table.Aggregate, about 5 to 10 ns a row, and 12 bytes a stack. The
// methods of the answer look up locations later. Errors are as for CheckKinds.
func (db *DB) Merge(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query) (*Stacks, error) {
	p := db.plan(snap, q, t)
	groups, err := p.sum(ctx, p.types, columnstore.AggregateOptions{By: []string{ColumnStacktrace}, NoCounts: true})
	if err != nil {
		return nil, err
	}
	column := &groups.Columns[0]
	return newStacks(t, p.symbols(column), column.Codes, groups.Sums), nil
}

// MergeBy is Merge by labels. It returns the stacks for each combination of values of the named labels,
// sorted by labels. A name refers to the label of the profile or, if the profile lacks it, of the sample,
// as in a Selector. Without names there is one group, or none if there are no samples.
//
// It costs as much as columnstore.Table.Aggregate, and 50 bytes for each stack in a group, of which 16
// remain. The groups share the symbols of locations. Errors are as for CheckKinds. An empty name is
// columnstore.ErrQuery.
func (db *DB) MergeBy(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query, by ...string) ([]StackGroup, error) {
	p, g := db.plan(snap, q, t), newGrouping(by)
	groups, err := p.sum(ctx, p.types, columnstore.AggregateOptions{By: append([]string{ColumnStacktrace}, g.columns()...), NoCounts: true})
	if err != nil {
		return nil, err
	}
	of, err := p.numbered(groups, func(row int) uint32 { return g.group(groups.Columns[1:], row) })
	if err != nil {
		return nil, err
	}
	out := make([]StackGroup, len(g.labels))
	for i, stacks := range divide(p, groups, of, len(out)) {
		out[i] = StackGroup{g.labels[i], stacks}
	}
	slices.SortFunc(out, func(a, b StackGroup) int { return compareLabels(a.Labels, b.Labels) })
	return out, nil
}

// StackStep has the sums by stack for a step in time and a combination of the requested labels.
type StackStep struct {
	Time int64 // start of the step, in Unix nanoseconds
	StackGroup
}

// MergeByStep is MergeBy by time too: it returns the stacks of each step that has a sample, such as a
// flame graph for each minute, sorted by time and then by labels. Steps are as in RangeOptions.Step.
// Gauges are means in each step, as in Range: a step's Total is the Value of its Point there, except for
// the rounding of a mean.
//
// It costs as much as MergeBy, and 200 bytes for each step of a group. Errors are as for MergeBy. A
// negative step is columnstore.ErrQuery.
func (db *DB) MergeByStep(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query, step time.Duration, by ...string) ([]StackStep, error) {
	if step < 0 {
		return nil, fmt.Errorf("%w: step %v: want at least 0", columnstore.ErrQuery, step)
	}
	p, g := db.plan(snap, q, t), newGrouping(by)
	groups, err := p.sum(ctx, p.types, columnstore.AggregateOptions{
		By: append([]string{ColumnStacktrace, ColumnTimestamp}, g.columns()...), Step: int64(step), NoCounts: true,
	})
	if err != nil {
		return nil, err
	}
	type place struct {
		time  int64
		group uint32
	}
	var places []place
	index := map[place]uint32{}
	times := groups.Columns[1].Values.Int64s
	of, err := p.numbered(groups, func(row int) uint32 {
		at := place{times[row], g.group(groups.Columns[2:], row)}
		i, known := index[at]
		if !known {
			i = uint32(len(places))
			index[at] = i
			places = append(places, at)
		}
		return i
	})
	if err != nil {
		return nil, err
	}
	const stackStep = 200 // its place, its Stacks and its place in the answer
	if err := p.fits(groups, groupedStack*len(of)+stackStep*len(places)); err != nil {
		return nil, err
	}
	out := make([]StackStep, len(places))
	for i, stacks := range divide(p, groups, of, len(out)) {
		out[i] = StackStep{places[i].time, StackGroup{g.labels[places[i].group], stacks}}
	}
	slices.SortFunc(out, func(a, b StackStep) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), compareLabels(a.Labels, b.Labels))
	})
	return out, nil
}

// groupedStack is a stack's size in a group: the number of its group, its code and its value.
const groupedStack = 4 + 12

// numbered returns the number of each row of groups. number assigns them in order.
func (p *plan) numbered(groups *columnstore.Groups, number func(row int) uint32) ([]uint32, error) {
	of := make([]uint32, len(groups.Sums))
	if err := p.fits(groups, groupedStack*len(of)); err != nil {
		return nil, err
	}
	for row := range of {
		of[row] = number(row)
	}
	return of, nil
}

// divide splits groups by the numbers of their rows. The first column is the stack. It returns the stacks
// of each number below count, or nil for a number without rows.
func divide[N uint32 | uint64](p *plan, groups *columnstore.Groups, numbers []N, count int) []*Stacks {
	ends := make([]int, count) // end of each number's stacks
	for _, n := range numbers {
		ends[n]++
	}
	sizes, at := slices.Clone(ends), 0
	for i, n := range sizes {
		ends[i] = at
		at += n
	}
	lists := &groups.Columns[0]
	codes, values := make([]uint32, at), make([]int64, at)
	for row, n := range numbers {
		codes[ends[n]], values[ends[n]] = lists.Codes[row], groups.Sums[row]
		ends[n]++
	}
	resolver := p.symbols(lists)
	out := make([]*Stacks, count)
	for i, n := range sizes {
		if lo, hi := ends[i]-n, ends[i]; n > 0 {
			out[i] = newStacks(p.types[0], resolver, codes[lo:hi:hi], values[lo:hi:hi])
		}
	}
	return out
}
