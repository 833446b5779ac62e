package profile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/granarydb/granary/columnstore"
)

// Point is a sum at a time.
type Point struct {
	Time  int64 // Unix nanoseconds: the start of the step
	Value int64
}

// Line is a series over time: the profiles that share the labels asked for.
type Line struct {
	// Labels are the names asked for and their values, sorted by name; a
	// missing label is left out.
	Labels []Label
	// Points are in order of time; steps without a profile are left out.
	Points []Point
}

// Label is a name and its value.
type Label struct{ Name, Value string }

// Range sums what the profiles of a query have of one type, by step and by
// labels. A name means a label of the profile first, and of the sample where the
// profile has none, as in a Selector. Lines are sorted by their labels.
//
// Values are added up: of heap sizes scraped twice in a step, that is twice the
// heap.
func (db *DB) Range(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query, step time.Duration, by ...string) ([]Line, error) {
	if step <= 0 {
		return nil, fmt.Errorf("%w: step %v: want more than 0", columnstore.ErrQuery, step)
	}
	by = slices.Compact(slices.Sorted(slices.Values(by)))
	columns := []string{ColumnTimestamp}
	for _, name := range by {
		columns = append(columns, ColumnLabels+"."+name, labelColumn(ColumnPprofLabels, name, 0))
	}
	groups, err := db.table.Aggregate(ctx, snap, columnstore.AggregateOptions{
		Sum: ColumnValue, By: columns, Step: int64(step), Time: ColumnTimestamp, Where: q.Expr(t),
	})
	if err != nil {
		return nil, err
	}
	index := map[string]int{}
	var lines []Line
	for row := range groups.Sums {
		labels, key := labelsOf(by, groups.Columns[1:], row)
		i, ok := index[key]
		if !ok {
			i = len(lines)
			index[key] = i
			lines = append(lines, Line{Labels: labels})
		}
		lines[i].Points = append(lines[i].Points, Point{groups.Columns[0].Values.Int64s[row], groups.Sums[row]})
	}
	for i := range lines {
		lines[i].Points = sumPoints(lines[i].Points)
	}
	slices.SortFunc(lines, func(a, b Line) int {
		return slices.CompareFunc(a.Labels, b.Labels, func(a, b Label) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
		})
	})
	return lines, nil
}

// sumPoints sorts points by time and sums those of one time, in place.
func sumPoints(points []Point) []Point {
	slices.SortFunc(points, func(a, b Point) int { return cmp.Compare(a.Time, b.Time) })
	out := points[:0]
	for _, p := range points {
		if n := len(out); n > 0 && out[n-1].Time == p.Time {
			out[n-1].Value += p.Value
		} else {
			out = append(out, p)
		}
	}
	return out
}

// labelsOf returns the labels of a group, and a key that tells them apart. There
// are two columns a name: of profiles, and of samples.
func labelsOf(by []string, columns []columnstore.GroupColumn, row int) (labels []Label, key string) {
	var b strings.Builder
	for i, name := range by {
		c := &columns[2*i]
		if c.Values.Null(row) {
			c = &columns[2*i+1]
		}
		if c.Values.Null(row) {
			continue
		}
		l := Label{name, c.Values.Strings[row]}
		labels = append(labels, l)
		fmt.Fprintf(&b, "%q=%q,", l.Name, l.Value)
	}
	return labels, b.String()
}
