package profile

import (
	"slices"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/means"
	"github.com/granarydb/granary/internal/rows"
)

// StackGroup has the sums by stack for one combination of the requested labels.
type StackGroup struct {
	// Labels are the requested labels, sorted by name. Missing labels are omitted.
	Labels []Label
	Stacks *Stacks
}

// grouping numbers the groups of rows that share labels.
type grouping struct {
	names  []string   // sorted
	others [][]string // by name: other names of the label
	starts []int      // index of a name's first column, by name; then the number of columns
	labels [][]Label

	index map[string]uint32 // group by key
	key   []byte            // the values of the previous row's labels
	next  []byte
	last  uint32
}

func newGrouping(by []string) *grouping {
	return &grouping{names: slices.Compact(slices.Sorted(slices.Values(by))), index: map[string]uint32{}}
}

// grouping returns the grouping of the query's rows by labels, which it finds by all their names.
func (p *plan) grouping(by []string) *grouping {
	g := newGrouping(by)
	for _, name := range g.names {
		isAsked := func(other string) bool { return slices.Contains(g.names, other) }
		g.others = append(g.others, slices.DeleteFunc(p.names.others(name), isAsked))
	}
	return g
}

// columns returns the columns that can have the labels. Among a name's columns, the first with a value in
// the row counts.
func (g *grouping) columns() []string {
	var columns []string
	for i, name := range g.names {
		g.starts = append(g.starts, len(columns))
		columns = append(columns, textColumns(name)...)
		if g.others != nil {
			for _, other := range g.others[i] {
				columns = append(columns, textColumns(other)...)
			}
		}
		if rows.IDType(name) != 0 {
			columns = append(columns, name)
		}
	}
	g.starts = append(g.starts, len(columns))
	return columns
}

// group returns the number of a row's group, from 0 up. Neighbouring rows are mostly in the same group.
func (g *grouping) group(columns []columnstore.GroupColumn, row int) uint32 {
	g.next = g.next[:0]
	for i := range g.names {
		g.next = means.AppendText(g.next, g.value(columns, i, row))
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

// value returns a label's value in a row, or "".
func (g *grouping) value(columns []columnstore.GroupColumn, name, row int) string {
	for c := g.starts[name]; c < g.starts[name+1]; c++ {
		if value := means.Text(&columns[c], row); value != "" {
			return value
		}
	}
	return ""
}
