package columnstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/schema"
)

// havingRow is a row of the table that is searched.
type havingRow struct {
	pod, list   int // list 0: none
	time, value int64
}

const (
	havingLists = 3000 // of which few are a 64th
	// havingGens is how many generations have them all, in another order each.
	havingGens = 2
)

// ids returns the elements of the row's list.
func (r havingRow) ids() []uuid.UUID {
	if r.list == 0 {
		return nil
	}
	return []uuid.UUID{{1, byte(r.list % 7)}, {2, byte(r.list), byte(r.list >> 8)}}
}

// newHavingTable is a table with rows of pod 0, which has all lists, of pod 1, which has
// twenty, and of pod 2, which has none.
func newHavingTable(t *testing.T) (*Store, *Table, []havingRow) {
	t.Helper()
	def := samples(100)
	def.Columns[slices.IndexFunc(def.Columns, func(c schema.Column) bool { return c.Name == "stack" })].Nullable = true
	store, table := open(t, Options{Manual: true, GenerationBuckets: 1, GranuleRows: 1000}, def)
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
		b := batchOfMany(of[1], int(of[0]), lists, values)
		if of[0] == 2 {
			delete(b.Columns, "stack")
		}
		insert(t, table, b)
	}
	return store, table, rows
}

// groupBy brings together what has the same key.
func groupBy[K comparable, V any](all []V, key func(V) K) map[K][]V {
	out := map[K][]V{}
	for _, v := range all {
		out[key(v)] = append(out[key(v)], v)
	}
	return out
}

// elementCondition is a condition on the lists, and what it says of a row.
type elementCondition struct {
	expr  Expr
	holds func(r havingRow) bool
}

func element(holds func(id uuid.UUID) bool) elementCondition {
	return elementCondition{
		HasElement("stack", func(id uuid.UUID, _ []byte) bool { return holds(id) }),
		func(r havingRow) bool { return slices.ContainsFunc(r.ids(), holds) },
	}
}

// What is asked of groups in the end is what rows would have said: of many lists in one
// pass and of few one by one, of several generations, of rows without a list and of parts
// without the column, beside other conditions, and within memory that allows only the one
// or the other way.
func TestAggregate_Having(t *testing.T) {
	store, table, rows := newHavingTable(t)
	every, never := element(func(uuid.UUID) bool { return true }), element(func(uuid.UUID) bool { return false })
	seventh := element(func(id uuid.UUID) bool { return id == uuid.UUID{1, 3} })
	one := element(func(id uuid.UUID) bool { return id == uuid.UUID{2, 101} })
	odd := element(func(id uuid.UUID) bool { return id[0] == 2 && id[1]%2 == 1 })
	pod := func(n int) elementCondition {
		return elementCondition{Equal("labels.pod", fmt.Sprint(n)), func(r havingRow) bool { return r.pod == n }}
	}
	early := elementCondition{Less("time", 101), func(r havingRow) bool { return r.time < 101 }}
	and := func(args ...elementCondition) elementCondition {
		c := elementCondition{And(), func(r havingRow) bool {
			return !slices.ContainsFunc(args, func(c elementCondition) bool { return !c.holds(r) })
		}}
		for _, arg := range args {
			c.expr.args = append(c.expr.args, arg.expr)
		}
		return c
	}
	not := func(c elementCondition) elementCondition {
		return elementCondition{Not(c.expr), func(r havingRow) bool { return !c.holds(r) }}
	}
	or := func(a, b elementCondition) elementCondition {
		return elementCondition{Or(a.expr, b.expr), func(r havingRow) bool { return a.holds(r) || b.holds(r) }}
	}
	tests := []struct {
		name  string
		where elementCondition
		taken int // conditions, if the memory is enough
	}{
		{"every", every, 1},
		{"never", never, 1},
		{"a seventh", seventh, 1},
		{"one", one, 1},
		{"few rows", and(pod(1), odd), 1},
		{"few rows, every", and(every, pod(1)), 1},
		{"no lists", and(every, pod(2)), 1},
		{"two", and(seventh, and(early, odd)), 2},
		{"times", and(early, odd), 1},
		{"none of them", not(seventh), 0},
		{"either", or(odd, pod(1)), 0},
		{"beside either", and(or(odd, pod(1)), seventh), 1},
	}
	for _, when := range []string{"fresh", "compacted"} {
		snap := snapshot(t, store)
		for _, test := range tests {
			for _, limit := range []int64{0, 1 << 30, havingBytes * havingGens * havingLists} {
				opts := AggregateOptions{Sum: "value", By: []string{"stack"}, Where: test.where.expr, MaxBytes: limit}
				g, err := table.Aggregate(t.Context(), snap, opts)
				if err != nil {
					t.Fatalf("%s, %s, within %d: %v", when, test.name, limit, err)
				}
				want := map[string]tally{}
				for _, r := range rows {
					if test.where.holds(r) {
						c := want[fmt.Sprint(r.ids())]
						c.add(tally{r.value, 1})
						want[fmt.Sprint(r.ids())] = c
					}
				}
				if got := havingAnswer(t, g); !maps.Equal(got, want) {
					t.Errorf("%s, %s, within %d: %d lists, want %d or other sums", when, test.name, limit, len(got), len(want))
				}
				taken := test.taken * boolInt(limit == 0 || limit == 1<<30)
				if n := takenOf(t, store, table, opts); n != taken {
					t.Errorf("%s, within %d: %d conditions are asked of groups, want %d", test.name, limit, n, taken)
				}
			}
		}
		compact(t, store)
	}
	for _, by := range [][]string{{}, {"stack", "labels.pod"}, {"stack", "stack"}, {"kind"}} {
		if n := takenOf(t, store, table, AggregateOptions{By: by, Where: every.expr}); n != 0 {
			t.Errorf("by %q: %d conditions are asked of groups", by, n)
		}
	}
}

// havingAnswer returns sums and counts by list. An answer says which are valid only if one is not.
func havingAnswer(t *testing.T, g *Groups) map[string]tally {
	t.Helper()
	out := map[string]tally{}
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
		if _, twice := out[fmt.Sprint(ids)]; twice {
			t.Errorf("%v comes twice", ids)
		}
		out[fmt.Sprint(ids)] = tally{g.Sums[i], g.Counts[i]}
	}
	return out
}

// takenOf returns how many conditions a query asks of groups.
func takenOf(t *testing.T, store *Store, table *Table, opts AggregateOptions) int {
	t.Helper()
	state := store.log.Root().State.table(table.ordinal)
	a, err := table.newAggregator(t.Context(), state, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer a.done()
	c, err := newChooser(t.Context(), table, opts.Where)
	if err != nil {
		t.Fatal(err)
	}
	defer c.done()
	return len(a.having(c, state, opts.Where))
}

// A query that is cancelled while groups are asked about hands out nothing, whether they are
// asked in one pass or one by one, and leaves nothing behind for the next.
func TestAggregate_HavingIsCancelled(t *testing.T) {
	store, table, _ := newHavingTable(t)
	snap := snapshot(t, store)
	for _, rest := range []Expr{{}, Equal("labels.pod", "1")} {
		ctx, cancel := context.WithCancel(t.Context())
		where := And(rest, HasElement("stack", func(uuid.UUID, []byte) bool { cancel(); return true }))
		g, err := table.Aggregate(ctx, snap, AggregateOptions{Sum: "value", By: []string{"stack"}, Where: where})
		if !errors.Is(err, context.Canceled) || g != nil {
			t.Errorf("%v, %v", g, err)
		}
		g, err = table.Aggregate(t.Context(), snap, AggregateOptions{Sum: "value", By: []string{"stack"}, Where: Equal("labels.pod", "2")})
		if err != nil || len(g.Sums) != 1 || g.Sums[0] != 10*havingGens || g.Counts[0] != 5*havingGens {
			t.Errorf("afterwards: %v, %v", g, err)
		}
	}
}

// Rows without a list, which a condition drops, are not in what is said to be null: of one
// generation, whose sums stay where they are.
func TestAggregate_HavingDropsNulls(t *testing.T) {
	store, table, _ := newHavingTable(t)
	every := element(func(uuid.UUID) bool { return true })
	for where, lists := range map[*Expr]int{{}: havingLists + 1, &every.expr: havingLists} {
		opts := AggregateOptions{Sum: "value", By: []string{"stack"}, Where: And(Less("time", 100), *where)}
		g, err := table.Aggregate(t.Context(), snapshot(t, store), opts)
		if err != nil {
			t.Fatal(err)
		}
		if got := havingAnswer(t, g); len(got) != lists {
			t.Errorf("%d lists, want %d", len(got), lists)
		}
	}
}

// What a condition has left is all that the next one is asked about, though the sums that were
// dropped are still where they were.
func TestAggregate_HavingOfFew(t *testing.T) {
	store, table, _ := newHavingTable(t)
	calls := 0
	one := element(func(id uuid.UUID) bool { return id == uuid.UUID{2, 101} })
	counted := HasElement("stack", func(id uuid.UUID, _ []byte) bool {
		calls++
		return id[0] == 2
	})
	g, err := table.Aggregate(t.Context(), snapshot(t, store), AggregateOptions{By: []string{"stack"}, Where: And(one.expr, counted)})
	if err != nil || len(havingAnswer(t, g)) != 1 {
		t.Fatalf("%d lists, %v", len(havingAnswer(t, g)), err)
	}
	if calls == 0 || calls > 2*havingGens {
		t.Errorf("%d elements are asked about, of a list of two in each of %d generations", calls, havingGens)
	}
}
