package columnstore

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/oracle"
)

// queryShapes are the kinds of questions. Each must occur. A question counts for all its kinds.
var queryShapes = []string{
	"scan", "scan: all columns", "scan: limit", "scan: ordered", "scan: ordered, limit", "scan: no columns",
	"aggregate", "aggregate: sum", "aggregate: count", "aggregate: of all", "aggregate: by a list", "aggregate: by a family",
	"aggregate: by several columns", "aggregate: by steps", "aggregate: by steps of another column", "aggregate: limited memory", "aggregate: by the list that is searched",
	"series", "series: certain", "series values", "series columns",
}

// queryAsker asks random questions about one data set and counts them.
type queryAsker struct {
	*testing.T
	*querySet
	store  *Store
	table  *Table
	writer *queryInserter

	pairs, empty int
	shapes       map[string]int
	stages       map[string]int
	ops          map[string]int
	question     string
	during       bool // inserts and rewrites happen during questions
	busy         bool // one is in progress
}

// errorf reports an error in the answer to the current question.
func (a *queryAsker) errorf(v *queryView, format string, args ...any) {
	a.Helper()
	a.Errorf("%s\n%s, %d rows: %s\n%v\nrun it again: go test ./columnstore -run 'TestQueries$' -queries.seed %d -queries.pairs 1",
		fmt.Sprintf(format, args...), v.when, v.n, a.question, a.querySet, a.seed)
}

// ask asks n questions of a snapshot.
func (a *queryAsker) ask(v *queryView, n int) {
	for range n {
		if a.Failed() {
			return
		}
		where, chosen := a.randomWhere(v)
		answered := 0
		func() {
			defer func() {
				if r := recover(); r != nil {
					a.errorf(v, "panic: %v", r)
				}
			}()
			switch a.rng.IntN(5) {
			case 0, 1:
				answered = a.askScan(v, where, chosen)
			case 2, 3:
				answered = a.askAggregate(v, where, chosen)
			default:
				answered = a.askSeries(v, where)
			}
		}()
		a.pairs++
		a.stages[strings.Fields(v.when)[0]]++
		if answered == 0 {
			a.empty++
		}
	}
}

// randomWhere makes a condition, mostly one that chooses some rows.
func (a *queryAsker) randomWhere(v *queryView) (*oracle.Cond[int], []oracle.Cells) {
	where := &oracle.Cond[int]{Op: "all"}
	chosen := v.rows[:v.n]
	for range 4 {
		if a.rng.IntN(10) == 0 {
			break
		}
		where = a.condition(a.rng.IntN(5))
		if chosen = v.chosen(where); len(chosen) > 0 && (len(chosen) < v.n || a.rng.IntN(2) == 0) {
			break
		}
	}
	var count func(c *oracle.Cond[int])
	count = func(c *oracle.Cond[int]) {
		a.ops[c.Op]++
		for _, arg := range c.Args {
			count(arg)
		}
	}
	count(where)
	return where, chosen
}

// randomNames picks up to four columns and families.
func (a *queryAsker) randomNames() []string {
	var all []string
	for _, c := range a.def.Columns {
		all = append(all, c.Name)
	}
	for i := range a.columns {
		if a.columns[i].of.Dynamic {
			all = append(all, a.columns[i].name)
		}
	}
	a.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	names := all[:a.rng.IntN(5)]
	if len(names) > 0 && a.rng.IntN(12) == 0 {
		names = append(names, names[0])
	}
	return slices.Clip(names)
}

func (a *queryAsker) askScan(v *queryView, where *oracle.Cond[int], chosen []oracle.Cells) (answered int) {
	opts := ScanOptions{Where: a.expr(where), Ordered: a.rng.IntN(3) == 0}
	a.shapes["scan"]++
	if a.rng.IntN(3) > 0 {
		opts.Columns = a.randomNames()
		if opts.Columns == nil {
			opts.Columns = []string{}
		}
	}
	if a.rng.IntN(3) == 0 {
		opts.Limit = 1 + a.rng.IntN(2*len(chosen)+2)
	}
	all := make([]string, len(a.def.Columns))
	for i, c := range a.def.Columns {
		all[i] = c.Name
	}
	columns := v.expand(opts.Columns)
	if opts.Columns == nil {
		columns = v.expand(all)
		a.shapes["scan: all columns"]++
	}
	if len(columns) == 0 {
		a.shapes["scan: no columns"]++
	}
	a.question = fmt.Sprintf("scan %q ordered=%v limit=%d where %s", opts.Columns, opts.Ordered, opts.Limit, where.Text(a.columnName))
	got := a.scan(v, opts, columns)
	want := make([]oracle.Cells, len(chosen))
	for i, row := range chosen {
		want[i] = row.Pick(columns)
	}
	n := len(chosen)
	if opts.Limit > 0 {
		n = min(n, opts.Limit)
		a.shapes["scan: limit"]++
	}
	if len(got) != n {
		a.errorf(v, "%d rows, want %d", len(got), n)
	}
	if wrong := oracle.Diff(want, got, opts.Limit > 0); wrong != "" {
		a.errorf(v, "rows: %s", wrong)
	}
	if opts.Ordered {
		a.checkOrder(v, opts, columns, got, v.expand(all))
	}
	return n
}

// checkOrder compares an ordered scan with a scan of all columns and rows, which must be in the order of
// the sorting key.
func (a *queryAsker) checkOrder(v *queryView, opts ScanOptions, columns []int, got []oracle.Cells, all []int) {
	a.shapes["scan: ordered"]++
	if opts.Limit > 0 {
		a.shapes["scan: ordered, limit"]++
	}
	opts.Columns, opts.Limit = nil, 0
	full := a.scan(v, opts, all)
	named := make([]map[string]any, len(full))
	for i, row := range full {
		named[i] = map[string]any{}
		for k, c := range all {
			named[i][a.columns[c].name] = row[k]
		}
	}
	if wrong := oracle.Disorder(a.width, bucketStarts(a.T, a.table, v.snap), a.def.SortingKey, named); wrong != "" && !a.extreme { // disorder knows no extremes
		a.errorf(v, "order: %s", wrong)
	}
	for i, row := range got {
		if i >= len(full) {
			return
		}
		for k, c := range columns {
			var want any // a column without values: null
			if at := slices.Index(all, c); at >= 0 {
				want = full[i][at]
			}
			if !oracle.Same(row[k], want) {
				a.errorf(v, "ordered row %d has %s %s, with all columns %s", i, a.columns[c].name, oracle.Text(row[k]), oracle.Text(want))
				return
			}
		}
	}
}

// scan decodes the answer of a scan, column by column.
func (a *queryAsker) scan(v *queryView, opts ScanOptions, columns []int) []oracle.Cells {
	var out []oracle.Cells
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	if a.rng.IntN(4) == 0 {
		opts.Memory = mem
	}
	for rec, err := range a.table.Scan(a.Context(), v.snap, opts) {
		if err != nil {
			a.errorf(v, "scan: %v", err)
			return out
		}
		rows := make([]oracle.Cells, rec.NumRows())
		for i := range rows {
			rows[i] = make(oracle.Cells, len(columns))
		}
		if int(rec.NumCols()) != len(columns) {
			a.errorf(v, "%v, want the columns %q", rec.Schema(), v.names(columns))
			return out
		}
		for k, column := range rec.Columns() {
			if want := a.columns[columns[k]].name; rec.ColumnName(k) != want {
				a.errorf(v, "column %d is %q, want %q", k, rec.ColumnName(k), want)
			}
			for i := range rows {
				if rows[i][k], err = cell(column, i); err != nil {
					a.errorf(v, "column %q row %d: %v", rec.ColumnName(k), i, err)
				}
			}
		}
		rec.Release()
		out = append(out, rows...)
	}
	mem.AssertSize(a.T, 0)
	return out
}

func (a *queryAsker) askAggregate(v *queryView, where *oracle.Cond[int], chosen []oracle.Cells) (answered int) {
	opts := AggregateOptions{Where: a.expr(where), By: a.randomNames()}
	a.shapes["aggregate"]++
	sums := []string{"", "value", "value", "time", "nums.n", "nums.late", "nums.none"}
	times := []string{"time"}
	for _, name := range []string{"bonus", "duration"} {
		if a.has(name) {
			sums, times = append(sums, name), append(times, name)
		}
	}
	opts.Sum = pick(a.rng, sums)
	stepped := -1
	if a.rng.IntN(2) == 0 {
		opts.Step = pick(a.rng, []int64{1, 7, 100, 1000, 1 << 40, math.MaxInt64})
		opts.Time = pick(a.rng, times)
		if stepped = a.index(opts.Time); opts.Time == "time" && a.width > 0 && a.rng.IntN(2) == 0 {
			opts.Time = ""
		}
		if a.rng.IntN(2) == 0 {
			opts.By = append(opts.By, a.columns[stepped].name)
		}
	}
	if a.rng.IntN(4) == 0 {
		opts.MaxBytes = 1 << 30
		a.shapes["aggregate: limited memory"]++
	}
	if a.rng.IntN(8) == 0 {
		opts.By = nil
	}
	if list := searched(where); list >= 0 && a.pairs%2 == 0 {
		opts.By = []string{a.columns[list].name}
		a.shapes["aggregate: by the list that is searched"]++
	}
	if stepped >= 0 && !slices.Contains(opts.By, a.columns[stepped].name) {
		opts.Step = 0 // there is nothing to round
	}
	by := v.expand(opts.By)
	a.countAggregate(opts, by, stepped)
	a.question = fmt.Sprintf("sum %q by %q step %d of %q max %d where %s", opts.Sum, opts.By, opts.Step, opts.Time, opts.MaxBytes, where.Text(a.columnName))
	groups, err := a.table.Aggregate(a.Context(), v.snap, opts)
	if err != nil {
		a.errorf(v, "aggregate: %v", err)
		return 0
	}
	want := v.groups(chosen, by, a.index(opts.Sum), stepped, opts.Step)
	if wrong := oracle.Diff(want, a.groupRows(v, groups, by), false); wrong != "" {
		a.errorf(v, "groups, sums and counts: %s", wrong)
	}
	return len(want)
}

// searched returns a column that must have an element for the condition to hold, -1 for none.
func searched(c *oracle.Cond[int]) int {
	switch c.Op {
	case "has":
		return c.Column
	case "and":
		for _, arg := range c.Args {
			if list := searched(arg); list >= 0 {
				return list
			}
		}
	}
	return -1
}

func (a *queryAsker) countAggregate(opts AggregateOptions, by []int, stepped int) {
	count := func(shape string, asked bool) { a.shapes[shape] += boolInt(asked) }
	count("aggregate: sum", opts.Sum != "")
	count("aggregate: count", opts.Sum == "")
	count("aggregate: of all", len(by) == 0)
	count("aggregate: by several columns", len(by) > 1)
	inBy := slices.Contains(by, stepped)
	count("aggregate: by steps", inBy && a.columns[max(stepped, 0)].name == "time")
	count("aggregate: by steps of another column", inBy && a.columns[max(stepped, 0)].name != "time")
	count("aggregate: by a list", slices.ContainsFunc(by, func(c int) bool { return a.columns[c].of.Type == encoding.UUIDList }))
	count("aggregate: by a family", len(by) > 0 && slices.ContainsFunc(opts.By, func(name string) bool { return a.index(name) < 0 }))
}

// groupRows writes groups as rows: their values, sum and count.
func (a *queryAsker) groupRows(v *queryView, g *Groups, by []int) []oracle.Cells {
	if len(g.Sums) != len(g.Counts) {
		a.errorf(v, "%d sums, %d counts", len(g.Sums), len(g.Counts))
		return nil
	}
	out := a.groupValues(v, g, by, len(g.Counts))
	for i := range out {
		out[i] = append(out[i], g.Sums[i], g.Counts[i])
	}
	return out
}

// groupValues writes the values of n groups as rows.
func (a *queryAsker) groupValues(v *queryView, g *Groups, by []int, n int) []oracle.Cells {
	if len(g.Columns) != len(by) {
		a.errorf(v, "%d columns, want %q", len(g.Columns), v.names(by))
		return nil
	}
	out := make([]oracle.Cells, n)
	for i := range out {
		out[i] = make(oracle.Cells, len(by), len(by)+2)
	}
	for k, c := range by {
		column := &g.Columns[k]
		if column.Name != a.columns[c].name {
			a.errorf(v, "column %d is %q, want %q", k, column.Name, a.columns[c].name)
		}
		if a.columns[c].of.Type == encoding.UUIDList {
			a.groupLists(v, column, out, k)
			continue
		}
		if column.Values.Len() != len(out) {
			a.errorf(v, "column %q has %d values, want %d", column.Name, column.Values.Len(), len(out))
			return nil
		}
		for i := range out {
			out[i][k] = valueOf(column, i)
		}
	}
	return out
}

// groupLists reads the lists of groups: each distinct list has one code.
func (a *queryAsker) groupLists(v *queryView, column *GroupColumn, out []oracle.Cells, k int) {
	if len(column.Codes) != len(out) {
		a.errorf(v, "column %q has %d codes, want %d", column.Name, len(column.Codes), len(out))
		return
	}
	codes := map[string]uint32{}
	for i, code := range column.Codes {
		if code == 0 {
			continue
		}
		list := column.Lists.UUIDs([]uuid.UUID{}, code)
		out[i][k] = list
		key := string(oracle.AppendCell(nil, list))
		if known, ok := codes[key]; ok && known != code {
			a.errorf(v, "list %v has the codes %d and %d", list, known, code)
		}
		codes[key] = code
		elements := column.Lists.List(nil, code)
		if len(elements) != len(list) || column.Lists.Len(code) != len(list) {
			a.errorf(v, "list %v has %d elements, its length is %d", list, len(elements), column.Lists.Len(code))
			return
		}
		for n, e := range elements {
			if got, record := column.Lists.Element(e), column.Lists.Record(e); got != list[n] || string(record) != string(recordOf(got)) {
				a.errorf(v, "element %d of list %v is %v with the record %q", n, list, got, record)
			}
		}
	}
}

func (a *queryAsker) askSeries(v *queryView, where *oracle.Cond[int]) (answered int) {
	must, may := v.seriesOf(where)
	a.shapes["series"]++
	if len(must) == len(may) {
		a.shapes["series: certain"]++
	}
	switch a.rng.IntN(4) {
	case 0:
		a.askSeriesColumns(v, where, must, may)
	case 1:
		a.askSeriesValues(v, where, must, may)
	default:
		a.question = "series where " + where.Text(a.columnName)
		series, err := a.table.Series(a.Context(), v.snap, a.expr(where))
		if err != nil {
			a.errorf(v, "series: %v", err)
			return 0
		}
		var got []string
		for i, s := range series {
			row, err := a.seriesRow(s)
			if err != nil {
				a.errorf(v, "series %v: %v", s, err)
				return 0
			}
			if got = append(got, a.seriesKey(row)); i > 0 && a.compareSeries(series[i-1], s) >= 0 {
				a.errorf(v, "series %v comes after %v", s, series[i-1])
			}
		}
		a.within(v, "series", got, slices.Collect(maps.Keys(must)), slices.Collect(maps.Keys(may)))
	}
	return len(must)
}

// seriesRow makes a row of the values of a series.
func (a *queryAsker) seriesRow(s Series) (oracle.Cells, error) {
	row := make(oracle.Cells, len(a.columns))
	for _, label := range s {
		i := a.index(label.Name)
		if i < 0 || !a.columns[i].series || row[i] != nil {
			return nil, errors.New("label " + label.Name)
		}
		row[i] = label.Value
	}
	return row, nil
}

// compareSeries orders two series as the sorting key does: nulls first, a family's columns by name.
func (a *queryAsker) compareSeries(x, y Series) int {
	for _, key := range a.def.SortingKey {
		var names []string
		for i := range a.columns {
			if name := a.columns[i].name; a.columns[i].series && (name == key || strings.HasPrefix(name, key+".")) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			p, inX := x.Find(name)
			q, inY := y.Find(name)
			if inX != inY {
				return boolInt(inX) - boolInt(inY)
			}
			if order := strings.Compare(p, q); order != 0 {
				return order
			}
		}
	}
	return 0
}

// within checks that a distinct answer has all of must and nothing beyond may.
func (a *queryAsker) within(v *queryView, what string, got, must, may []string) {
	seen := map[string]bool{}
	for _, g := range got {
		if seen[g] || !slices.Contains(may, g) {
			a.errorf(v, "%s: %q is too much; %d, must be %d, may be %d", what, g, len(got), len(must), len(may))
		}
		seen[g] = true
	}
	for _, m := range must {
		if !seen[m] {
			a.errorf(v, "%s: %q is missing; %d, must be %d, may be %d", what, m, len(got), len(must), len(may))
		}
	}
}
