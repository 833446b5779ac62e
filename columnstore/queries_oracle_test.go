package columnstore

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// queryView is a snapshot and what the oracle knows of it: the first n rows.
type queryView struct {
	*querySet
	snap    *Snapshot
	n       int
	when    string
	present []bool // columns that a row has a value in
	buckets []*queryBucket
}

// queryBucket is what can be known of a time bucket without its rows.
type queryBucket struct {
	first, last int64  // times that it can have
	latest      int64  // of its rows
	present     []bool // columns
	series      map[string]queryRow
}

func newQueryView(d *querySet, snap *Snapshot, n int, when string) *queryView {
	v := &queryView{querySet: d, snap: snap, n: n, when: when, present: make([]bool, len(d.columns))}
	byStart := map[int64]*queryBucket{}
	time := d.index("time")
	d.starts.mu.Lock()
	defer d.starts.mu.Unlock()
	for _, row := range d.rows[:n] {
		_, last := timesOf(row[time].(int64), d.width)
		first := d.starts.of[&row[0]] // a bucket can get rows up to the end of its range
		b := byStart[first]
		if b == nil {
			b = &queryBucket{first: first, last: last, latest: math.MinInt64, present: make([]bool, len(d.columns)), series: map[string]queryRow{}}
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

// timesOf returns the first and the last time of the bucket that a time is in.
func timesOf(at, width int64) (first, last int64) {
	if width == 0 {
		return math.MinInt64, math.MaxInt64
	}
	within := at % width
	if within < 0 {
		within += width
	}
	first, last = math.MinInt64, math.MaxInt64
	if at >= math.MinInt64+within {
		first = at - within
	}
	if rest := width - 1 - within; at <= math.MaxInt64-rest {
		last = at + rest
	}
	return first, last
}

// chosen returns the rows for which a condition holds.
func (v *queryView) chosen(where *queryCond) []queryRow {
	var out []queryRow
	for _, row := range v.rows[:v.n] {
		if v.holds(where, row) {
			out = append(out, row)
		}
	}
	return out
}

// expand returns the indexes of the concrete columns that names stand for.
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
func (v *queryView) groups(rows []queryRow, by []int, sum, stepped int, step int64) []queryRow {
	index := map[string]queryRow{}
	for _, row := range rows {
		group := make(queryRow, len(by)+2)
		var key []byte
		for i, c := range by {
			group[i] = row[c]
			if at, ok := row[c].(int64); ok && c == stepped {
				group[i], _ = timesOf(at, step)
			}
			key = appendCell(key, group[i])
		}
		known, ok := index[string(key)]
		if !ok {
			known = group
			known[len(by)], known[len(by)+1] = int64(0), int64(0)
			index[string(key)] = known
		}
		if sum >= 0 {
			value, _ := row[sum].(int64)
			known[len(by)] = known[len(by)].(int64) + value
		}
		known[len(by)+1] = known[len(by)+1].(int64) + 1
	}
	return slices.Collect(maps.Values(index))
}

// Series are told by what is known of a bucket: a condition holds for all rows that a
// series can have there, for none, or for some.
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

// seriesOf returns the series, by key, that the answer must have, and those that it may
// have. They differ where the documentation leaves it open how much is known:
// conditions on times below Or and Not, and columns that are not dynamic.
func (v *queryView) seriesOf(where *queryCond) (must, may map[string]queryRow) {
	must, may = map[string]queryRow{}, map[string]queryRow{}
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

// noTime says that the conditions on time at the top leave none.
func (v *queryView) noTime(where *queryCond) bool {
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64) // both inclusive
	empty := false
	if v.width == 0 {
		return false
	}
	var visit func(c *queryCond)
	visit = func(c *queryCond) {
		if c.op == "and" {
			for _, arg := range c.args {
				visit(arg)
			}
		}
		if len(c.values) == 0 || v.columns[c.column].name != "time" {
			return
		}
		at := c.values[0].(int64)
		switch c.op {
		case ">=":
			lo = max(lo, at)
		case "<":
			empty = empty || at == math.MinInt64
			hi = min(hi, max(at, math.MinInt64+1)-1)
		case "==":
			lo, hi = max(lo, at), min(hi, at)
		}
	}
	visit(where)
	return empty || lo > hi
}

func (v *queryView) truth(c *queryCond, b *queryBucket, row queryRow, finest, top bool) queryTruth {
	switch c.op {
	case "all":
		return holdsForAll
	case "not":
		return holdsForAll - v.truth(c.args[0], b, row, finest, false)
	case "and":
		out := holdsForAll
		for _, arg := range c.args {
			out = min(out, v.truth(arg, b, row, finest, top))
		}
		return out
	case "or", "in":
		out := holdsForNone
		for _, arg := range c.args {
			out = max(out, v.truth(arg, b, row, finest, false))
		}
		for _, value := range c.values {
			equal := &queryCond{op: "==", column: c.column, values: []any{value}}
			out = max(out, v.truth(equal, b, row, finest, false))
		}
		return out
	}
	column := &v.columns[c.column]
	switch {
	case column.series:
		return queryTruthOf(v.leafHolds(c, row[c.column]))
	case column.name == "time" && v.width > 0:
		if (finest || top) && len(c.values) > 0 {
			last := b.last
			if finest {
				last = b.latest
			}
			return timeTruth(c.op, c.values[0].(int64), b.first, last)
		}
		if finest && c.op == "null" {
			return holdsForNone
		}
	case !b.present[c.column] && (column.of.Dynamic || finest):
		return queryTruthOf(v.leafHolds(c, nil))
	}
	return holdsForSome
}

// timeTruth says for how many of the times [first, last] a comparison holds.
func timeTruth(op string, at, first, last int64) queryTruth {
	switch op {
	case ">=":
		if first >= at || last < at {
			return queryTruthOf(first >= at)
		}
		return holdsForSome
	case "<":
		return holdsForAll - timeTruth(">=", at, first, last)
	}
	if at < first || at > last {
		return holdsForNone
	}
	return holdsForSome
}

// appendCell writes a value so that equal bytes mean equal values: -0 and 0 differ, a
// null and an empty string too.
func appendCell(dst []byte, value any) []byte {
	switch x := value.(type) {
	case nil:
		return append(dst, 0)
	case string:
		dst = binary.AppendUvarint(append(dst, 1), uint64(len(x)))
		return append(dst, x...)
	case int64:
		return binary.LittleEndian.AppendUint64(append(dst, 2), uint64(x))
	case uint64:
		return binary.LittleEndian.AppendUint64(append(dst, 3), x)
	case float64:
		return binary.LittleEndian.AppendUint64(append(dst, 4), math.Float64bits(x))
	case bool:
		return append(dst, 5, byte(boolInt(x)))
	case uuid.UUID:
		return append(append(dst, 6), x[:]...)
	case []uuid.UUID:
		dst = binary.AppendUvarint(append(dst, 7), uint64(len(x)))
		for _, id := range x {
			dst = append(dst, id[:]...)
		}
		return dst
	}
	panic(fmt.Sprintf("no cell of a %T", value))
}

func appendCells(dst []byte, row queryRow) []byte {
	for _, value := range row {
		dst = appendCell(dst, value)
	}
	return dst
}

// rowsDiffer compares two multisets of rows; with some, got need only be a part of want.
func rowsDiffer(want, got []queryRow, some bool) string {
	counts := make(map[string]int, len(want))
	var buf []byte
	for _, row := range want {
		buf = appendCells(buf[:0], row)
		counts[string(buf)]++
	}
	left, wrong := len(want), false
	for _, row := range got {
		buf = appendCells(buf[:0], row)
		n := counts[string(buf)]
		wrong = wrong || n == 0
		counts[string(buf)] = n - 1
		left--
	}
	if !wrong && (some || left == 0) {
		return ""
	}
	diff := gocmp.Diff(rowTexts(want), rowTexts(got))
	if lines := strings.Split(diff, "\n"); len(lines) > 60 {
		diff = strings.Join(lines[:60], "\n") + "\n..."
	}
	return fmt.Sprintf("%d rows, want %d (-want +got):\n%s", len(got), len(want), diff)
}

func rowTexts(rows []queryRow) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		var cells []string
		for _, value := range row {
			cells = append(cells, text(value))
		}
		out[i] = strings.Join(cells, " ")
	}
	slices.Sort(out)
	return out
}
