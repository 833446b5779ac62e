package query

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// typesOfJobs inserts rows of two types of some jobs, each with stacks of its own, so that the
// key has the type first and codes go by job; and a type without stacks.
func typesOfJobs(table *querytest.Table, time int64) {
	for job := range 10 {
		for _, kind := range []string{"cpu", "mem", "none"} {
			const rows = 100
			b := schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
				"kind": encoding.Strings(kind), "labels.pod": encoding.Strings(fmt.Sprint(job)),
				"time": encoding.Int64s(time), "value": encoding.Int64s(int64(job)),
			}}
			if kind != "none" {
				stacks := make([][]uuid.UUID, rows)
				for i := range stacks {
					stacks[i] = []uuid.UUID{{1, byte(job), byte(i)}}
				}
				b.Columns["stack"] = encoding.UUIDLists(stacks...)
			}
			table.Insert(b)
		}
	}
}

// sumsOf returns an answer's sums by list. The lists of a list are its text.
func sumsOf(g *Groups) map[string]int64 {
	out := map[string]int64{}
	for i, code := range g.Columns[0].Codes {
		var ids []uuid.UUID
		if code != 0 {
			ids = g.Columns[0].Lists.UUIDs(nil, code)
		}
		out[fmt.Sprint(ids)] += g.Sums[i]
	}
	return out
}

// Granules come in the order of the stacks in them, a generation after the one before, and
// the sums stay as they are.
func TestAggregator_SortByLists(t *testing.T) {
	table := querytest.Open(t, querytest.Options{GenerationBuckets: 1}, querytest.Stacks())
	typesOfJobs(table, 1)
	typesOfJobs(table, 101)
	table.GranuleRows = 150
	table.Compact()
	typesOfJobs(table, 102) // not rewritten
	opts := AggregateOptions{Sum: "value", By: []string{"stack"}}
	r := table.Read()
	want, err := GroupRows(t.Context(), r, opts)
	if err != nil {
		t.Fatal(err)
	}
	c, err := filter.NewChooser(t.Context(), r, opts.Where, true)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Done()
	a, err := newAggregator(t.Context(), r, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer a.done()
	granules, _ := c.Granules()
	inKeyOrder := slices.Clone(granules)
	a.sortByLists(granules)
	if slices.Equal(granules, inKeyOrder) {
		t.Error("granules stay in the order of the key")
	}
	place := func(g *granule.Granule) (gen int, code uint64) {
		s := g.Sections()[0]
		if column := s.Part.Find(a.by[0].Column, ""); column != nil {
			code = column.Words().At((s.Lo + s.Hi) / 2)
		}
		return a.number(s.Part.Generation()), code
	}
	for i := 1; i < len(granules); i++ {
		before, codeBefore := place(granules[i-1])
		if gen, code := place(granules[i]); gen < before || gen == before && code < codeBefore {
			t.Errorf("a granule of generation %d, code %d, comes after one of %d, %d", gen, code, before, codeBefore)
		}
	}
	if err := a.sumSome(t.Context(), c, &sumUnits{read: r, granules: granules}); err != nil {
		t.Fatal(err)
	}
	got, err := a.groups()
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(sumsOf(got), sumsOf(want)) {
		t.Errorf("%d sums are not the %d in the order of the key", len(got.Sums), len(want.Sums))
	}
}

// A goroutine pays from more rows on if they are summed by series and time alone, or if lists
// are many.
func TestAggregator_Workers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	r := querytest.Open(t, querytest.Options{GenerationBuckets: 1}, querytest.Stacks()).Read()
	for _, test := range []struct {
		by                         []string
		asOf                       bool
		rows, most, granules, want int
	}{
		{nil, false, 1<<20 - 1, 0, 100, 1},
		{[]string{"kind", "time"}, false, 1<<20 - 1, 0, 100, 1},
		{[]string{"time"}, false, 1 << 20, 1 << 20, 100, 2},
		{[]string{"time"}, false, 1 << 30, 0, 100, 4},
		{[]string{"time"}, false, 1 << 30, 0, 3, 3},
		{[]string{"time"}, false, 0, 0, 0, 1},
		{[]string{"time"}, true, 1 << 19, 0, 100, 2},
		{[]string{"time", "value"}, false, 1 << 19, 0, 100, 2},
		{[]string{"stack"}, false, 1<<19 - 1, 1000, 100, 1},
		{[]string{"time", "stack"}, false, 1 << 19, 1000, 100, 2},
		{[]string{"stack"}, false, 1 << 19, 1<<16 + 1, 100, 1},
		{[]string{"stack"}, false, 1 << 21, 1 << 18, 100, 2},
	} {
		a, err := newAggregator(t.Context(), r, AggregateOptions{By: test.by})
		if err != nil {
			t.Fatal(err)
		}
		if test.asOf {
			a.asOf = &asOf{}
		}
		if got := a.workers(filter.Estimate{Rows: test.rows, Most: test.most}, test.granules, nil); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
		a.done()
	}
}

// skewed inserts a series of many rows, of as many lists as given, and one of ten rows.
func skewed(table *querytest.Table, lists, rows int) {
	all := make([][]uuid.UUID, lists)
	for i := range all {
		all[i] = []uuid.UUID{{1, byte(i), byte(i >> 8), byte(i >> 16)}}
	}
	for pod, n := range map[string]int{"large": rows, "small": 10} {
		of, values := make([][]uuid.UUID, n), make([]int64, n)
		for i := range of {
			of[i], values[i] = all[i%lists], int64(i)
		}
		table.Insert(schema.Batch{Rows: n, Columns: map[string]encoding.Vector{
			"kind": encoding.Strings("cpu"), "labels.pod": encoding.Strings(pod),
			"stack": encoding.UUIDLists(of...), "time": encoding.Int64s(1), "value": encoding.Int64s(values...),
		}})
	}
	table.GranuleRows = 1 << 16
	table.Compact()
}

// A series of few rows among others of many is summed in a hash table of as few lists, and
// not in an array of all lists of the dictionary.
func TestAggregate_SmallSeries(t *testing.T) {
	table := querytest.Open(t, querytest.Options{GenerationBuckets: 1}, querytest.Stacks())
	skewed(table, 4000, 20_000)
	r := table.Read()
	for pod, array := range map[string]bool{"small": false, "large": true} {
		a, err := newAggregator(t.Context(), r, AggregateOptions{Sum: "value", By: []string{"stack"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.sumAll(t.Context(), r, filter.Equal("labels.pod", pod)); err != nil {
			t.Fatal(err)
		}
		if s := a.lists[0][0]; (s.codes == nil) != array || !array && len(s.cells) > 64 {
			t.Errorf("%s: %d cells, an array: %v", pod, len(s.cells), s.codes == nil)
		}
		a.done()
	}
}

// An array that an earlier query left counts with the part that is needed, not with its length.
func TestAggregate_MaxBytes_KeptArray(t *testing.T) {
	table := querytest.Open(t, querytest.Options{GenerationBuckets: 1}, querytest.Stacks())
	skewed(table, 4000, 20_000)
	r := table.Read()
	for range 4 {
		for range 10 {
			cells := make([]tally, 1<<20)
			arrays.Put(&cells)
		}
		opts := AggregateOptions{Sum: "value", By: []string{"stack"}, Where: filter.Equal("labels.pod", "large"), MaxBytes: 1 << 20}
		if g, err := GroupRows(t.Context(), r, opts); err != nil || len(g.Sums) != 4000 {
			t.Fatal(err)
		}
	}
}

// Conditions on the lists that alone make groups are asked of the groups, if memory allows;
// others are asked of rows.
func TestAggregator_Having(t *testing.T) {
	table := querytest.Open(t, querytest.Options{GenerationBuckets: 1}, querytest.Stacks())
	const lists = 4000
	skewed(table, lists, 20_000)
	r := table.Read()
	every := filter.HasElement("stack", func(uuid.UUID, []byte) bool { return true })
	odd := filter.HasElement("stack", func(id uuid.UUID, _ []byte) bool { return id[1]%2 == 1 })
	pod, early := filter.Equal("labels.pod", "small"), filter.Less("time", int64(101))
	stack := []string{"stack"}
	for _, test := range []struct {
		name  string
		by    []string
		where filter.Expr
		limit int64
		want  int // conditions
	}{
		{"one", stack, every, 0, 1},
		{"beside a label", stack, filter.And(every, pod), 0, 1},
		{"beside a time", stack, filter.And(early, odd), 0, 1},
		{"two", stack, filter.And(every, filter.And(early, odd)), 0, 2},
		{"not", stack, filter.Not(every), 0, 0},
		{"either", stack, filter.Or(odd, pod), 0, 0},
		{"beside either", stack, filter.And(filter.Or(odd, pod), every), 0, 1},
		{"enough memory", stack, every, 1 << 30, 1},
		{"too little memory", stack, every, havingBytes * lists, 0},
		{"no lists", []string{}, every, 0, 0},
		{"lists and labels", []string{"stack", "labels.pod"}, every, 0, 0},
		{"lists twice", []string{"stack", "stack"}, every, 0, 0},
		{"another column", []string{"kind"}, every, 0, 0},
	} {
		a, err := newAggregator(t.Context(), r, AggregateOptions{By: test.by, MaxBytes: test.limit})
		if err != nil {
			t.Fatal(err)
		}
		c, err := filter.NewChooser(t.Context(), r, test.where, true)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(a.having(c)); got != test.want {
			t.Errorf("%s: %d conditions are asked of groups, want %d", test.name, got, test.want)
		}
		c.Done()
		a.done()
	}
}
