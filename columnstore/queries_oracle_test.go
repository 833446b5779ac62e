package columnstore

import (
	"math"
	"slices"
	"strings"

	"github.com/granarydb/granary/internal/oracle"
)

// queryView is a snapshot and the oracle's rows of it: the first n.
type queryView struct {
	*querySet
	snap    *Snapshot
	n       int
	when    string
	present []bool // columns that a row has a value in
	buckets []*queryBucket
}

// queryBucket is the knowledge about a time bucket without its rows.
type queryBucket struct {
	first, last int64  // possible times
	latest      int64  // of its rows
	present     []bool // columns
	series      map[string]oracle.Cells
}

func newQueryView(d *querySet, snap *Snapshot, n int, when string) *queryView {
	v := &queryView{querySet: d, snap: snap, n: n, when: when, present: make([]bool, len(d.columns))}
	byStart := map[int64]*queryBucket{}
	time := d.index("time")
	d.starts.mu.Lock()
	defer d.starts.mu.Unlock()
	for _, row := range d.rows[:n] {
		_, last := oracle.Range(row[time].(int64), d.width)
		first := d.starts.of[&row[0]] // a bucket can get rows up to the end of its range
		b := byStart[first]
		if b == nil {
			b = &queryBucket{first: first, last: last, latest: math.MinInt64, present: make([]bool, len(d.columns)), series: map[string]oracle.Cells{}}
			byStart[first] = b
			v.buckets = append(v.buckets, b)
		}
		b.latest = max(b.latest, row[time].(int64))
		b.series[d.seriesKey(row)] = row
		for i, value := range row {
			v.present[i] = v.present[i] || value != nil
			b.present[i] = b.present[i] || value != nil
		}
	}
	return v
}

// chosen returns the rows for which a condition holds.
func (v *queryView) chosen(where *oracle.Cond[int]) []oracle.Cells {
	var out []oracle.Cells
	for _, row := range v.rows[:v.n] {
		if where.Holds(func(column int) any { return row[column] }) {
			out = append(out, row)
		}
	}
	return out
}

// expand returns the indexes of the concrete columns of names.
func (v *queryView) expand(names []string) []int {
	var out []int
	for _, name := range names {
		if i := v.index(name); i >= 0 {
			out = append(out, i)
			continue
		}
		var members []int
		for i := range v.columns {
			if v.present[i] && strings.HasPrefix(v.columns[i].name, name+".") {
				members = append(members, i)
			}
		}
		slices.SortFunc(members, func(a, b int) int { return strings.Compare(v.columns[a].name, v.columns[b].name) })
		out = append(out, members...)
	}
	return out
}

func (v *queryView) names(columns []int) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = v.columns[c].name
	}
	return names
}

// groups sums rows: the values of the columns, then the sum and the count. stepped is
// the column that is rounded down to multiples of step, or -1.
func (v *queryView) groups(rows []oracle.Cells, by []int, sum, stepped int, step int64) []oracle.Cells {
	return oracle.Groups(rows, valuesOf(by, stepped, step), func(row oracle.Cells) int64 {
		if sum < 0 {
			return 0
		}
		value, _ := row[sum].(int64)
		return value
	})
}

// valuesOf returns functions of rows that return the values of columns, one of them rounded.
func valuesOf(by []int, stepped int, step int64) []func(oracle.Cells) any {
	of := make([]func(oracle.Cells) any, len(by))
	for i, c := range by {
		of[i] = func(row oracle.Cells) any {
			if at, ok := row[c].(int64); ok && c == stepped {
				first, _ := oracle.Range(at, step)
				return first
			}
			return row[c]
		}
	}
	return of
}

// Series are decided by the knowledge about a bucket: a condition holds for all possible rows
// of a series there, for none, or for some.
type queryTruth int8

const (
	holdsForNone queryTruth = iota
	holdsForSome
	holdsForAll
)

func queryTruthOf(b bool) queryTruth {
	if b {
		return holdsForAll
	}
	return holdsForNone
}

// seriesOf returns the series, by key, that the answer must have, and the series that it may have. They
// differ where the documentation leaves the precision open: conditions on times below Or and Not, and
// columns that are not dynamic.
func (v *queryView) seriesOf(where *oracle.Cond[int]) (must, may map[string]oracle.Cells) {
	must, may = map[string]oracle.Cells{}, map[string]oracle.Cells{}
	for _, b := range v.buckets {
		for key, row := range b.series {
			if v.truth(where, b, row, false, true) != holdsForNone {
				may[key] = row
			}
			if v.truth(where, b, row, true, true) != holdsForNone && !v.noTime(where) {
				must[key] = row
			}
		}
	}
	return must, may
}

// noTime reports whether the top-level conditions on time exclude all times.
func (v *queryView) noTime(where *oracle.Cond[int]) bool {
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64) // both inclusive
	empty := false
	if v.width == 0 {
		return false
	}
	var visit func(c *oracle.Cond[int])
	visit = func(c *oracle.Cond[int]) {
		if c.Op == "and" {
			for _, arg := range c.Args {
				visit(arg)
			}
		}
		if len(c.Values) == 0 || v.columns[c.Column].name != "time" {
			return
		}
		at := c.Values[0].(int64)
		switch c.Op {
		case ">=":
			lo = max(lo, at)
		case "<":
			empty = empty || at == math.MinInt64
			hi = min(hi, max(at, math.MinInt64+1)-1)
		case "<=":
			hi = min(hi, at)
		case ">":
			empty = empty || at == math.MaxInt64
			lo = max(lo, min(at, math.MaxInt64-1)+1)
		case "between":
			lo, hi = max(lo, at), min(hi, c.Values[1].(int64))
		case "==":
			lo, hi = max(lo, at), min(hi, at)
		}
	}
	visit(where)
	return empty || lo > hi
}

func (v *queryView) truth(c *oracle.Cond[int], b *queryBucket, row oracle.Cells, finest, top bool) queryTruth {
	switch c.Op {
	case "all":
		return holdsForAll
	case "not":
		return holdsForAll - v.truth(c.Args[0], b, row, finest, false)
	case "and":
		out := holdsForAll
		for _, arg := range c.Args {
			out = min(out, v.truth(arg, b, row, finest, top))
		}
		return out
	case "between":
		lo := &oracle.Cond[int]{Op: ">=", Column: c.Column, Values: c.Values[:1], Missing: c.Missing}
		hi := &oracle.Cond[int]{Op: "<=", Column: c.Column, Values: c.Values[1:], Missing: c.Missing}
		return min(v.truth(lo, b, row, finest, top), v.truth(hi, b, row, finest, top))
	case "or", "in":
		out := holdsForNone
		for _, arg := range c.Args {
			out = max(out, v.truth(arg, b, row, finest, false))
		}
		for _, value := range c.Values {
			equal := &oracle.Cond[int]{Op: "==", Column: c.Column, Values: []any{value}, Missing: c.Missing}
			out = max(out, v.truth(equal, b, row, finest, false))
		}
		return out
	}
	column := &v.columns[c.Column]
	switch {
	case column.series:
		return queryTruthOf(c.HoldsOf(row[c.Column]))
	case column.name == "time" && v.width > 0:
		if (finest || top) && len(c.Values) > 0 {
			last := b.last
			if finest {
				last = b.latest
			}
			return timeTruth(c.Op, c.Values[0].(int64), b.first, last)
		}
		if finest && c.Op == "null" {
			return holdsForNone
		}
	case !b.present[c.Column] && (column.of.Dynamic || finest):
		return queryTruthOf(c.HoldsOf(nil))
	}
	return holdsForSome
}

// timeTruth reports whether a comparison holds for all, none or some of the times [first,
// last].
func timeTruth(op string, at, first, last int64) queryTruth {
	switch op {
	case ">=":
		if first >= at || last < at {
			return queryTruthOf(first >= at)
		}
		return holdsForSome
	case "<":
		return holdsForAll - timeTruth(">=", at, first, last)
	case "<=":
		return holdsForAll - timeTruth(">", at, first, last)
	case ">":
		if first > at || last <= at {
			return queryTruthOf(first > at)
		}
		return holdsForSome
	}
	if at < first || at > last {
		return holdsForNone
	}
	return holdsForSome
}
