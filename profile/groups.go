package profile

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/granarydb/granary/columnstore"
)

// StackGroup is the sum by stack of the samples that share the labels asked for.
type StackGroup struct {
	// Labels are the names asked for and their values, sorted by name; a
	// missing label is left out.
	Labels []Label
	Stacks *Stacks
}

// MergeBy is Merge by labels: the stacks of each combination of values that the named
// labels have, sorted by labels. A name means a label of the profile first, and of the
// sample where the profile has none, as in a Selector. Without names it is one group, or
// none if there are no samples.
//
// It costs what columnstore.Table.Aggregate does, and 50 bytes for each stack of a group,
// 16 of which stay. The groups share what they know of locations. Errors are those of
// Aggregate; an empty name is columnstore.ErrQuery.
func (db *DB) MergeBy(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query, by ...string) ([]StackGroup, error) {
	g := newGrouping(by)
	groups, err := db.table.Aggregate(ctx, snap, columnstore.AggregateOptions{
		Sum: ColumnValue, By: append([]string{ColumnStacktrace}, g.columns()...), Where: q.Expr(t), NoCounts: true, MaxBytes: q.MaxBytes,
	})
	if err != nil {
		return nil, err
	}
	rows := len(groups.Sums)
	const stack = 4 + 12 // the number of its group; its code and value
	if err := q.fits(groups, stack*rows); err != nil {
		return nil, err
	}
	of := make([]uint32, rows)
	var sizes []int
	for row := range of {
		of[row] = g.group(groups.Columns[1:], row)
		if int(of[row]) == len(sizes) {
			sizes = append(sizes, 0)
		}
		sizes[of[row]]++
	}
	stacks := &groups.Columns[0]
	codes, values := make([]uint32, rows), make([]int64, rows)
	ends := make([]int, len(sizes)) // so far
	at := 0
	for i, n := range sizes {
		ends[i] = at
		at += n
	}
	for row, i := range of {
		codes[ends[i]], values[ends[i]] = stacks.Codes[row], groups.Sums[row]
		ends[i]++
	}
	symbols := newSymbols(stacks.Lists, stacks.Codes)
	out := make([]StackGroup, len(sizes))
	for i, n := range sizes {
		lo, hi := ends[i]-n, ends[i]
		out[i] = StackGroup{g.labels[i], newStacks(t, symbols, codes[lo:hi:hi], values[lo:hi:hi])}
	}
	slices.SortFunc(out, func(a, b StackGroup) int { return compareLabels(a.Labels, b.Labels) })
	return out, nil
}

// grouping tells groups of rows apart by labels.
type grouping struct {
	names  []string // sorted
	starts []int    // of the columns of each, and their end
	labels [][]Label

	index map[string]uint32 // of labels
	key   []byte            // of the row before
	next  []byte
	last  uint32
}

func newGrouping(by []string) *grouping {
	return &grouping{names: slices.Compact(slices.Sorted(slices.Values(by))), index: map[string]uint32{}}
}

// columns returns the columns that can have the labels. Of those of a name the first
// in which a row has a value counts.
func (g *grouping) columns() []string {
	var columns []string
	for _, name := range g.names {
		g.starts = append(g.starts, len(columns))
		columns = append(columns, matcher{name: name}.columns()...)
		if idType(name) != 0 {
			columns = append(columns, name)
		}
	}
	g.starts = append(g.starts, len(columns))
	return columns
}

// group returns the number of the group of a row: numbers are given from 0 up. Rows of
// one group mostly come together.
func (g *grouping) group(columns []columnstore.GroupColumn, row int) uint32 {
	g.next = g.next[:0]
	for i := range g.names {
		value := g.value(columns, i, row)
		g.next = binary.AppendUvarint(g.next, uint64(len(value)))
		g.next = append(g.next, value...)
	}
	if len(g.labels) > 0 && string(g.next) == string(g.key) {
		return g.last
	}
	g.key, g.next = g.next, g.key
	i, known := g.index[string(g.key)]
	if !known {
		i = uint32(len(g.labels))
		g.index[string(g.key)] = i
		var labels []Label
		for k, name := range g.names {
			if value := g.value(columns, k, row); value != "" {
				labels = append(labels, Label{name, value})
			}
		}
		g.labels = append(g.labels, labels)
	}
	g.last = i
	return i
}

// value returns the value of a label of a row, empty if it has none.
func (g *grouping) value(columns []columnstore.GroupColumn, name, row int) string {
	for c := g.starts[name]; c < g.starts[name+1]; c++ {
		if value := valueText(&columns[c], row); value != "" {
			return value
		}
	}
	return ""
}
