package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// havingRow is a row of the table.
type havingRow struct {
	pod, list   int // list 0: none
	time, value int64
}

const (
	havingLists = 3000 // of which few are a 64th
	// havingGens is the number of generations with all lists, in another order each.
	havingGens = 2
	// havingMemory is too little to evaluate the conditions on groups: 128 bytes a list.
	havingMemory = 128 * havingGens * havingLists
)

// ids returns the elements of the row's list.
func (r havingRow) ids() []uuid.UUID {
	if r.list == 0 {
		return nil
	}
	return []uuid.UUID{{1, byte(r.list % 7)}, {2, byte(r.list), byte(r.list >> 8)}}
}

// row returns the row as the oracle has it.
func (r havingRow) row() oracle.Row {
	return oracle.Row{"labels.pod": fmt.Sprint(r.pod), "stack": r.ids(), "time": r.time, "value": r.value}
}

// newHavingTable is a table with rows of pod 0, which has all lists, of pod 1, which has
// twenty, and of pod 2, which has none.
func newHavingTable(t *testing.T) (*querytest.Table, []havingRow) {
	t.Helper()
	def := querytest.Samples(100)
	def.Columns[slices.IndexFunc(def.Columns, func(c schema.Column) bool { return c.Name == "stack" })].Nullable = true
	table := querytest.Open(t, querytest.Options{GenerationBuckets: 1, GranuleRows: 1000}, def)
	var rows []havingRow
	for gen := range int64(havingGens) {
		for i := range 2 * havingLists {
			list := 1 + i%havingLists
			if gen > 0 {
				list = havingLists + 1 - list
			}
			rows = append(rows, havingRow{0, list, 100*gen + int64(i/havingLists), int64(i)})
		}
		for i := range 60 {
			rows = append(rows, havingRow{1, 1 + 100*(i%20), 100 * gen, int64(-i)})
		}
		for i := range 5 {
			rows = append(rows, havingRow{2, 0, 100 * gen, int64(i)})
		}
	}
	for of, part := range groupBy(rows, func(r havingRow) [2]int64 { return [2]int64{int64(r.pod), r.time} }) {
		lists, values := make([][]uuid.UUID, len(part)), make([]int64, len(part))
		for i, r := range part {
			lists[i], values[i] = r.ids(), r.value
		}
		b := querytest.Many(of[1], int(of[0]), lists, values)
		if of[0] == 2 {
			delete(b.Columns, "stack")
		}
		table.Insert(b)
	}
	return table, rows
}

// groupBy groups elements by key.
func groupBy[K comparable, V any](all []V, key func(V) K) map[K][]V {
	out := map[K][]V{}
	for _, v := range all {
		out[key(v)] = append(out[key(v)], v)
	}
	return out
}

// element is a condition on the elements of lists, which have no records.
func element(holds func(id uuid.UUID) bool) *oracle.Cond[string] {
	return &oracle.Cond[string]{
		Op: "has", Column: "stack", Note: "element",
		Element: func(id uuid.UUID, _ []byte) bool { return holds(id) },
		Record:  func(uuid.UUID) []byte { return nil },
	}
}

// join joins conditions with an operation.
func join(op string, args ...*oracle.Cond[string]) *oracle.Cond[string] {
	return &oracle.Cond[string]{Op: op, Args: args}
}

// Conditions evaluated on groups give the result of conditions on rows: for many lists in one pass and
// few lists one by one, for several generations, for rows without a list and parts without the column,
// beside other conditions, and with memory for only one of both ways.
func TestAggregate_Having(t *testing.T) {
	effort.Slow(t)
	table, rows := newHavingTable(t)
	every, never := element(func(uuid.UUID) bool { return true }), element(func(uuid.UUID) bool { return false })
	seventh := element(func(id uuid.UUID) bool { return id == uuid.UUID{1, 3} })
	one := element(func(id uuid.UUID) bool { return id == uuid.UUID{2, 101} })
	odd := element(func(id uuid.UUID) bool { return id[0] == 2 && id[1]%2 == 1 })
	even := element(func(id uuid.UUID) bool { return id[0] == 2 && id[1]%2 == 0 })
	pod := func(n int) *oracle.Cond[string] {
		return &oracle.Cond[string]{Op: "==", Column: "labels.pod", Values: []any{fmt.Sprint(n)}, Missing: ""}
	}
	early := &oracle.Cond[string]{Op: "<", Column: "time", Values: []any{int64(101)}}
	and := func(args ...*oracle.Cond[string]) *oracle.Cond[string] { // nested to the left
		c := join("and")
		for _, arg := range args {
			c = join("and", c, arg)
		}
		return c
	}
	not := func(c *oracle.Cond[string]) *oracle.Cond[string] { return join("not", c) }
	or := func(a, b *oracle.Cond[string]) *oracle.Cond[string] { return join("or", a, b) }
	tests := []struct {
		name  string
		where *oracle.Cond[string]
	}{
		{"every", every},
		{"never", never},
		{"a seventh", seventh},
		{"one", one},
		{"few rows", and(pod(1), odd)},
		{"few rows, every", and(every, pod(1))},
		{"no lists", and(every, pod(2))},
		{"two", and(seventh, and(early, odd))},
		{"times", and(early, odd)},
		{"none of them", not(seventh)},
		{"either", or(odd, pod(1))},
		{"either, of which one has no list of the other", or(even, pod(1))},
		{"beside either", and(or(odd, pod(1)), seventh)},
	}
	for _, when := range []string{"fresh", "compacted"} {
		r := table.Read()
		for _, test := range tests {
			for _, limit := range []int64{0, 1 << 30, havingMemory * havingLists} {
				opts := AggregateOptions{Sum: "value", By: []string{"stack"}, Where: querytest.Expr(test.where), MaxBytes: limit}
				g, err := GroupRows(t.Context(), r, opts)
				if err != nil {
					t.Fatalf("%s, %s, within %d: %v", when, test.name, limit, err)
				}
				var chosen []oracle.Row
				for _, r := range rows {
					if row := r.row(); test.where.Holds(func(name string) any { return row[name] }) {
						chosen = append(chosen, row)
					}
				}
				want := oracle.Groups(chosen, []func(oracle.Row) any{func(row oracle.Row) any { return row["stack"] }},
					func(row oracle.Row) int64 { return row["value"].(int64) })
				if wrong := oracle.Diff(want, havingAnswer(t, g), false); wrong != "" {
					t.Errorf("%s, %s, within %d: lists, sums and counts: %s", when, test.name, limit, wrong)
				}
			}
		}
		table.Compact()
	}
}

// havingAnswer returns lists, their sums and counts. An answer's validity is nil if all lists are valid.
func havingAnswer(t *testing.T, g *Groups) (out []oracle.Cells) {
	t.Helper()
	seen := map[string]bool{}
	var valid []bool
	if slices.Contains(g.Columns[0].Codes, 0) {
		for _, code := range g.Columns[0].Codes {
			valid = append(valid, code != 0)
		}
	}
	if got := g.Columns[0].Values.Valid; !slices.Equal(got, valid) || (got == nil) != (valid == nil) {
		t.Errorf("%d lists are said to be valid or not, want %d or others", len(got), len(valid))
	}
	for i, code := range g.Columns[0].Codes {
		var ids []uuid.UUID
		if code != 0 {
			ids = g.Columns[0].Lists.UUIDs(nil, code)
		}
		if seen[fmt.Sprint(ids)] {
			t.Errorf("%v comes twice", ids)
		}
		seen[fmt.Sprint(ids)] = true
		out = append(out, oracle.Cells{ids, g.Sums[i], g.Counts[i]})
	}
	return out
}

// A query cancelled while groups are evaluated, in one pass or one by one, returns nothing,
// and leaves no state for the next.
func TestAggregate_HavingIsCancelled(t *testing.T) {
	table, _ := newHavingTable(t)
	r := table.Read()
	for _, rest := range []filter.Expr{{}, filter.Equal("labels.pod", "1")} {
		ctx, cancel := context.WithCancel(t.Context())
		where := filter.And(rest, filter.HasElement("stack", func(uuid.UUID, []byte) bool { cancel(); return true }))
		g, err := GroupRows(ctx, r, AggregateOptions{Sum: "value", By: []string{"stack"}, Where: where})
		if !errors.Is(err, context.Canceled) || g != nil {
			t.Errorf("%v, %v", g, err)
		}
		g, err = GroupRows(t.Context(), r, AggregateOptions{Sum: "value", By: []string{"stack"}, Where: filter.Equal("labels.pod", "2")})
		if err != nil || len(g.Sums) != 1 || g.Sums[0] != 10*havingGens || g.Counts[0] != 5*havingGens {
			t.Errorf("afterwards: %v, %v", g, err)
		}
	}
}

// Rows without a list, which a condition drops, are not counted as null in a single generation, whose
// sums stay in place.
func TestAggregate_HavingDropsNulls(t *testing.T) {
	table, _ := newHavingTable(t)
	every := element(func(uuid.UUID) bool { return true })
	for where, lists := range map[*oracle.Cond[string]]int{{Op: "all"}: havingLists + 1, every: havingLists} {
		opts := AggregateOptions{Sum: "value", By: []string{"stack"}, Where: filter.And(filter.Less("time", 100), querytest.Expr(where))}
		g, err := GroupRows(t.Context(), table.Read(), opts)
		if err != nil {
			t.Fatal(err)
		}
		if got := havingAnswer(t, g); len(got) != lists {
			t.Errorf("%d lists, want %d", len(got), lists)
		}
	}
}

// A condition is evaluated only for the groups that the previous condition left, although the dropped
// sums are still in place.
func TestAggregate_HavingOfFew(t *testing.T) {
	table, _ := newHavingTable(t)
	calls := 0
	one := element(func(id uuid.UUID) bool { return id == uuid.UUID{2, 101} })
	counted := filter.HasElement("stack", func(id uuid.UUID, _ []byte) bool {
		calls++
		return id[0] == 2
	})
	g, err := GroupRows(t.Context(), table.Read(), AggregateOptions{By: []string{"stack"}, Where: filter.And(querytest.Expr(one), counted)})
	if err != nil || len(havingAnswer(t, g)) != 1 {
		t.Fatalf("%d lists, %v", len(havingAnswer(t, g)), err)
	}
	if calls == 0 || calls > 2*havingGens {
		t.Errorf("%d elements are asked about, of a list of two in each of %d generations", calls, havingGens)
	}
}
