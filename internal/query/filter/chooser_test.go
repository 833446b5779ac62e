package filter_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// A condition that does not fit its column is an error that names the column and the reason.
func TestNewChooser_Errors(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Wide(100, querytest.WideKey))
	pattern := regexp.MustCompile("x")
	for _, test := range []struct {
		name  string
		where filter.Expr
		text  string
	}{
		{"unknown", filter.Equal("nope", "x"), `no column "nope"`},
		{"family", filter.Equal("labels", "x"), `no column "labels"`},
		{"null of a family", filter.IsNull("labels"), `no column "labels"`},
		{"string with int", filter.Equal("kind", 1), `"kind" is string and cannot be compared with 1`},
		{"label with int", filter.Less("labels.a", 1), `"labels.a" is string`},
		{"plain string with uuid", filter.Equal("note", uuid.UUID{}), `"note" is string`},
		{"uuid with string", filter.Equal("trace", "x"), `"trace" is uuid`},
		{"int with string", filter.AtLeast("value", "x"), `"value" is int64 and cannot be compared with x`},
		{"int with uint", filter.Equal("value", uint64(1)), `"value" is int64`},
		{"uint with int", filter.Equal("size", 1), `"size" is uint64`},
		{"float with int", filter.Equal("ratio", 1), `"ratio" is float64`},
		{"int with float", filter.Equal("value", 1.0), `"value" is int64`},
		{"bool with int", filter.Equal("flag", 1), `"flag" is bool`},
		{"int with bool", filter.Equal("value", true), `"value" is int64`},
		{"dynamic int with string", filter.Equal("nums.x", "1"), `"nums.x" is int64`},
		{"list", filter.Equal("stack", uuid.UUID{}), `"stack" is uuid list`},
		{"match of a list", filter.Match("stack", pattern), `"stack" is uuid list and cannot be matched with a pattern`},
		{"match of int", filter.Match("value", pattern), `"value" is int64 and cannot be matched with a pattern`},
		{"match of uuid", filter.Match("trace", pattern), `"trace" is uuid and cannot be matched with a pattern`},
		{"match of no pattern", filter.Match("kind", nil), `"kind" is string and cannot be matched with a nil pattern`},
		{"no function", filter.Func("kind", nil), `"kind" is string and cannot be tested with a nil function`},
		{"function of a list", filter.Func("stack", func(any) bool { return true }), `"stack" is uuid list and has no single values`},
		{"no function of elements", filter.HasElement("stack", nil), `"stack" is uuid list and cannot be tested with a nil function`},
		{"elements of a string", filter.HasElement("kind", func(uuid.UUID, []byte) bool { return true }), `"kind" is string and has no elements`},
		{"deep inside", filter.And(filter.Equal("kind", "x"), filter.Or(filter.Not(filter.Equal("nope", 1)))), `no column "nope"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, where := range []filter.Expr{test.where, filter.Not(test.where), filter.And(filter.Expr{}, test.where)} {
				_, err := filter.NewChooser(t.Context(), table.Read(), where, false)
				if !errors.Is(err, filter.ErrQuery) || !strings.Contains(err.Error(), test.text) {
					t.Errorf("%v, want %s", err, test.text)
				}
			}
		})
	}
}

// Some conditions hold by their form, and some call functions.
func TestExpr(t *testing.T) {
	yes, call := filter.Expr{}, filter.Func("value", func(any) bool { return true })
	for _, test := range []struct {
		name          string
		expr          filter.Expr
		always, calls bool
	}{
		{"zero", yes, true, false},
		{"all of none", filter.And(), true, false},
		{"all of such", filter.And(yes, filter.And(yes)), true, false},
		{"one of none", filter.Or(), false, false},
		{"a comparison", filter.Equal("value", 1), false, false},
		{"beside a comparison", filter.And(yes, filter.Equal("value", 1)), false, false},
		{"a function", call, false, true},
		{"a function within", filter.Or(yes, filter.Not(filter.And(call))), false, true},
		{"elements", filter.HasElement("stack", func(uuid.UUID, []byte) bool { return true }), false, true},
	} {
		if got := test.expr.Always(); got != test.always {
			t.Errorf("%s: always %v", test.name, got)
		}
		if got := test.expr.Calls(); got != test.calls {
			t.Errorf("%s: calls %v", test.name, got)
		}
	}
}

// Names of families stand for the columns that rows have, sorted, and names of columns for themselves.
func TestRead_Concrete(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(100))
	table.Insert(querytest.At(5))
	table.Insert(querytest.At(15))
	r := table.Read()
	for _, test := range []struct {
		names, want []string
	}{
		{[]string{"value", "labels", "time"}, []string{"value", "labels.only0", "labels.only1", "labels.pod", "time"}},
		{[]string{"labels.nobody", "tags"}, []string{"labels.nobody"}},
		{[]string{}, nil},
		{nil, []string{"kind", "labels.only0", "labels.only1", "labels.pod", "stack", "time", "trace", "value"}},
	} {
		columns, err := r.Concrete(test.names)
		var got []string
		for _, c := range columns {
			got = append(got, c.Name)
		}
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, %v; want %q", test.names, got, err, test.want)
		}
	}
	for _, name := range []string{"nope", "labels.", "value.x"} {
		if _, err := r.Concrete([]string{"value", name}); !errors.Is(err, filter.ErrQuery) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	names, err := r.Names()
	if err != nil || len(names) != 8 || names[0] != "kind" {
		t.Errorf("names %q, %v", names, err)
	}
}

// TestChooser_Granules holds the granules of random conditions to the rows (F2): the ones in memory and the cold buckets have
// all rows that the condition chooses. EachSeries finds the series of all such rows.
func TestChooser_Granules(t *testing.T) {
	skipped := 0
	for seed := range effort.Less(uint64(40), 5) {
		table := querytest.New(t, seed)
		table.Fill(int(seed % 24))
		r := table.Read()
		for range 20 {
			cond := table.Condition(2)
			where := querytest.Expr(cond)
			c, err := filter.NewChooser(t.Context(), r, where, false)
			if err != nil {
				t.Fatal(err)
			}
			granules, cold := c.Granules()
			found := map[*granule.Granule]bool{}
			for _, g := range granules {
				found[g] = true
			}
			var want, got []oracle.Cells
			for _, row := range table.Chosen(cond) {
				want = append(want, oracle.Cells{row["value"]})
			}
			for g := range found {
				for _, section := range c.Parts(g) {
					s := c.Choose(section)
					got = append(got, valuesOf(&table.Env, &s)...)
				}
			}
			for _, b := range cold {
				for g, err := range c.Of(b) {
					if err != nil {
						t.Fatal(err)
					}
					for _, section := range c.Parts(g) {
						s := c.Choose(section)
						got = append(got, valuesOf(&table.Env, &s)...)
					}
				}
			}
			if diff := oracle.Diff(want, got, false); diff != "" {
				t.Fatalf("seed %d: %s: %s", seed, cond.Text(func(name string) string { return name }), diff)
			}
			skipped += r.State.Granules.Len() - len(granules)
			if wrong := wrongSeries(t.Context(), r, where, table.Chosen(cond)); wrong != "" {
				t.Fatalf("seed %d: %s: %s", seed, cond.Text(func(name string) string { return name }), wrong)
			}
			c.Done()
		}
	}
	if skipped == 0 {
		t.Error("no granule was ever left out")
	}
}

// wrongSeries says which series of rows EachSeries leaves out; it is empty if there is none.
func wrongSeries(ctx context.Context, r *filter.Read, where filter.Expr, rows []oracle.Row) string {
	key := func(value func(name string) any) string {
		var tags []string
		for _, name := range []string{"kind", "labels.pod", "labels.zone"} {
			text, _ := value(name).(string) // no label is an empty one
			tags = append(tags, text)
		}
		return fmt.Sprintf("%q", tags)
	}
	seen := map[string]bool{}
	err := filter.EachSeries(ctx, r, where, func(gen *granule.Generation, _ *granule.SeriesColumns, set catalog.Bitset) {
		set.All(func(code uint32) {
			seen[key(func(name string) any {
				column, _ := r.Schema.Resolve(name)
				value, _ := r.Schema.TupleValue(gen.Series.Value(code), column, name)
				return string(value)
			})] = true
		})
	})
	if err != nil {
		return err.Error()
	}
	for _, row := range rows {
		if series := key(func(name string) any { return row[name] }); !seen[series] {
			return series + " is a series of a row, and is not found"
		}
	}
	return ""
}

// An error of a file is the last element of whatever reads its rows.
func TestChosen_ColdErrors(t *testing.T) {
	broken := errors.New("broken")
	def := querytest.Stacks()
	def.Columns = append(def.Columns, schema.Column{Name: "trace", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true})
	table := querytest.Open(t, querytest.Options{}, def)
	for at := range int64(3) {
		table.Insert(querytest.OneRow(100 * at))
	}
	key, _ := table.Env.Schema.BucketBounds(100)
	table.Edit(func(e *catalog.TableEdit) { e.Unload(key, &catalog.Cold{Rows: 1, Err: broken}) })
	r := table.Read()
	for name, where := range map[string]filter.Expr{"all": {}, "an id": filter.Equal("trace", uuid.UUID{1})} {
		rows := 0
		var last error
		for s, err := range r.Chosen(t.Context(), where, false, false) {
			if last != nil {
				t.Errorf("%s: goes on after %v", name, last)
			}
			rows, last = rows+s.Rows, err
		}
		if want := map[string]int{"all": 1, "an id": 0}[name]; !errors.Is(last, broken) || rows != want {
			t.Errorf("%s: %d rows, %v", name, rows, last)
		}
	}
	if n, err := count(t.Context(), r, filter.Less("time", int64(100))); n != 1 || err != nil {
		t.Errorf("rows of other buckets: %d, %v", n, err)
	}
	lost := errors.New("dictionaries are lost")
	table.Env.Dictionaries = func(*catalog.TableState, *catalog.BucketState) (*granule.Generation, error) { return nil, lost }
	if _, err := count(t.Context(), table.Read(), filter.Expr{}); !errors.Is(err, lost) {
		t.Errorf("without dictionaries: %v", err)
	}
	stale := *r
	stale.State = nil // the table is newer than the snapshot
	if n, err := count(t.Context(), &stale, filter.Expr{}); n != 0 || err != nil {
		t.Errorf("before the table: %d rows, %v", n, err)
	}
}

// Conditions on elements that are taken out of a condition are asked list by list, or of all lists at once if many are
// expected, and hold for the same lists.
func TestTakeElements(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Stacks())
	const lists = 500
	stacks := make([][]uuid.UUID, lists)
	for i := range stacks {
		stacks[i] = []uuid.UUID{{1, byte(i % 7)}, {2, byte(i), byte(i >> 8)}}
	}
	table.Insert(querytest.Many(1, 0, stacks, make([]int64, lists)))
	third := func(id uuid.UUID) bool { return id[0] == 1 && id[1] == 3 }
	asked := 0
	element := filter.HasElement("stack", func(id uuid.UUID, _ []byte) bool { asked++; return third(id) })
	column, _ := table.Env.Schema.Resolve("stack")
	concrete := schema.Concrete{Column: column, Name: "stack"}
	early := filter.Less("time", int64(50))
	for _, test := range []struct {
		name  string
		where filter.Expr
		taken int
	}{
		{"alone", element, 1},
		{"beside another", filter.And(early, filter.And(element, element)), 2},
		{"one of two", filter.Or(early, element), 0},
		{"not", filter.Not(element), 0},
		{"none", early, 0},
	} {
		c, err := filter.NewChooser(t.Context(), table.Read(), test.where, true)
		if err != nil {
			t.Fatal(err)
		}
		taken := c.TakeElements(concrete)
		if len(taken) != test.taken {
			t.Errorf("%s: %d conditions are taken, want %d", test.name, len(taken), test.taken)
		}
		for _, condition := range taken {
			gen := table.Generation(0)
			for _, expected := range []int{0, 1, lists} {
				asked = 0
				f := condition.Of(gen.Lists)
				all := f.Expect(expected)
				if (all != nil) != (expected == lists) {
					t.Errorf("%s: a pass over all lists for %d: %v", test.name, expected, all != nil)
				}
				for code := range uint32(gen.Lists.Len() + 1) {
					want := code > 0 && slices.ContainsFunc(gen.Lists.UUIDs(nil, code), third)
					if got := f.Has(code); got != want || all != nil && all[code/64]>>(code%64)&1 == 1 != want {
						t.Fatalf("%s, %d expected: list %d: %v", test.name, expected, code, got)
					}
				}
				if most := gen.Lists.Elements(); asked > most || f.Cancelled() {
					t.Errorf("%s: asked %d times about %d elements", test.name, asked, most)
				}
			}
		}
		c.Done()
	}
	ctx, cancel := context.WithCancel(t.Context())
	c, err := filter.NewChooser(ctx, table.Read(), element, true)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Done()
	f := c.TakeElements(concrete)[0].Of(table.Generation(0).Lists)
	cancel()
	if f.Expect(lists); !f.Cancelled() || f.Has(5) {
		t.Error("a pass was not cancelled")
	}
}

// Queries count the granules, parts and rows that they read, and the rows that they choose.
func TestCounting(t *testing.T) {
	table := querytest.Open(t, querytest.Options{GranuleRows: 1000}, querytest.Stacks())
	table.FewRowsEach(300, 20)
	r := table.Read()
	granules, parts, rows := int64(0), int64(0), int64(0)
	for _, g := range r.State.Granules.All() {
		granules, parts, rows = granules+1, parts+int64(g.Parts()), rows+int64(g.Rows())
	}
	for name, where := range map[string]filter.Expr{"all": {}, "a pod": filter.Equal("labels.pod", "pod-00007-1"), "a time": filter.Equal("time", 5), "none": filter.Equal("kind", "no")} {
		var counts filter.Counts
		chosen, err := count(filter.Counting(t.Context(), &counts), r, where)
		if err != nil {
			t.Fatal(err)
		}
		got := [3]int64{counts.Granules.Load(), counts.Parts.Load(), counts.Rows.Load()}
		all := [3]int64{granules, parts, rows}
		isAll := got == all
		if counts.Chosen.Load() != int64(chosen) || isAll != (name == "all" || name == "a time") || name == "none" && got != [3]int64{} || name == "a pod" && got[0] > 2 {
			t.Errorf("%s: %d of %v rows are chosen, want %d of at most %v", name, counts.Chosen.Load(), got, chosen, all)
		}
	}
}
