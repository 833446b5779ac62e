package columnstore

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/schema"
)

// aggregateOps are the functions of Aggregate, by the name that the oracle has for them.
var aggregateOps = []AggregateOp{Sum, Mean, Min, Max, Count}

// Aggregates of any kind and type equal those of the oracle, for random rows and groups, by
// steps and cases too, before, between the steps of, during and after rewrites (C2, C3).
func TestAggregates(t *testing.T) {
	effort.Long(t)
	asked := map[string]int{}
	eachStage(t, uint64(effort.Part(30, 3+4*boolInt(effort.Race))), 2000, 12, func(a *queryAsker, v *queryView) { a.askAggregates(v, asked) })
	for _, op := range aggregateOps {
		for _, typ := range []encoding.Type{encoding.Int64, encoding.Uint64, encoding.Float64, encoding.Bool, encoding.String, encoding.UUID} {
			kind := fmt.Sprint(op, " ", typ)
			if (op == Sum || op == Mean) != (asked[kind] == 0) {
				continue
			}
			if (op != Sum && op != Mean || typ == encoding.Int64 || typ == encoding.Uint64 || typ == encoding.Float64) && asked[kind] == 0 {
				t.Errorf("%s was never asked", kind)
			}
		}
	}
	for _, kind := range []string{"overflow", "by lists", "by steps", "as of", "without counts", "null", "limited memory"} {
		if asked[kind] == 0 {
			t.Errorf("%s: never asked", kind)
		}
	}
	t.Log(asked)
}

// randomAggregates makes aggregates of columns that have them, -1 for a count of rows.
func (a *queryAsker) randomAggregates() (aggregates []Aggregate, columns []int) {
	for range 1 + a.rng.IntN(5) {
		op, column := pick(a.rng, aggregateOps), a.rng.IntN(len(a.columns))
		isNumber := slices.Contains([]encoding.Type{encoding.Int64, encoding.Uint64, encoding.Float64}, a.columns[column].of.Type)
		switch {
		case op == Count && a.rng.IntN(2) == 0:
			aggregates, columns = append(aggregates, Aggregate{Op: Count}), append(columns, -1)
			continue
		case (op == Sum || op == Mean) && !isNumber, a.columns[column].of.Type == encoding.UUIDList && op != Count:
			continue
		}
		aggregates, columns = append(aggregates, Aggregate{Op: op, Column: a.columns[column].name}), append(columns, column)
	}
	if aggregates == nil {
		return []Aggregate{{Op: Sum, Column: "value"}}, []int{a.index("value")}
	}
	return aggregates, columns
}

func (a *queryAsker) askAggregates(v *queryView, asked map[string]int) {
	where, chosen := a.randomWhere(v)
	opts := AggregateOptions{Where: a.expr(where), By: a.randomNames(), NoCounts: a.rng.IntN(4) == 0}
	var columns []int
	opts.Aggregates, columns = a.randomAggregates()
	if a.rng.IntN(4) == 0 {
		opts.By = []string{"stack"}
	}
	if list := searched(where); list >= 0 && a.rng.IntN(2) == 0 {
		opts.By = []string{a.columns[list].name} // the condition is asked of the sums
	}
	stepped := -1
	if a.rng.IntN(3) == 0 {
		opts.Step, opts.By, stepped = pick(a.rng, []int64{7, 1000}), append(opts.By, "time"), a.index("time")
		opts.Time = "time"
	}
	if a.rng.IntN(4) == 0 {
		opts.MaxBytes = 1 << 30
	}
	by := v.expand(opts.By)
	of := valuesOf(by, stepped, opts.Step)
	if a.rng.IntN(5) == 0 {
		cases, subject, time := a.randomCases()
		opts.AsOf = cases.asOf(time)
		chosen = cases.rows(chosen, subject, a.index(time))
		of = append(of, func(row oracle.Cells) any { return row[len(a.columns)] })
	}
	a.question = fmt.Sprintf("%v by %q step %d as of %v where %s", opts.Aggregates, opts.By, opts.Step, opts.AsOf != nil, where.Text(a.columnName))
	var overflow error
	want := oracle.GroupBy(chosen, of, func(group []oracle.Cells) oracle.Cells {
		out := make(oracle.Cells, len(columns)+1)
		for i, column := range columns {
			values := make([]any, len(group))
			for k, row := range group {
				if values[k] = any(true); column >= 0 {
					values[k] = row[column]
				}
			}
			var err error
			if out[i], err = oracle.Fold(opts.Aggregates[i].Op.String(), values); err != nil {
				overflow = err
			}
			asked["null"] += boolInt(out[i] == nil)
		}
		if out[len(columns)] = any(int64(len(group))); opts.NoCounts {
			out[len(columns)] = nil
		}
		return out
	})
	a.countAggregates(opts, columns, by, overflow != nil, asked)
	groups, err := a.table.Aggregate(a.Context(), v.snap, opts)
	if overflow != nil {
		if !errors.Is(err, ErrOverflow) || groups != nil {
			a.errorf(v, "aggregate: %v, %v, want an overflow", groups, err)
		}
		return
	}
	if err != nil {
		a.errorf(v, "aggregate: %v", err)
		return
	}
	got := a.aggregateRows(v, groups, opts, by)
	align(want, got, len(of), opts.Aggregates)
	if wrong := oracle.Diff(want, got, false); wrong != "" {
		a.errorf(v, "groups: %s", wrong)
	}
}

func (a *queryAsker) countAggregates(opts AggregateOptions, columns, by []int, overflow bool, asked map[string]int) {
	for i, column := range columns {
		if column >= 0 && !overflow {
			asked[fmt.Sprint(opts.Aggregates[i].Op, " ", a.columns[column].of.Type)]++
		}
	}
	count := func(kind string, is bool) { asked[kind] += boolInt(is) }
	count("overflow", overflow)
	count("by lists", slices.ContainsFunc(by, func(c int) bool { return a.columns[c].of.Type == encoding.UUIDList }))
	count("by steps", opts.Step > 0)
	count("as of", opts.AsOf != nil)
	count("without counts", opts.NoCounts)
	count("limited memory", opts.MaxBytes > 0)
}

// aggregateRows writes groups as rows: their values, aggregates and count.
func (a *queryAsker) aggregateRows(v *queryView, g *Groups, opts AggregateOptions, by []int) []oracle.Cells {
	if g.Sums != nil || (g.Counts == nil) != opts.NoCounts || len(g.Aggregates) != len(opts.Aggregates) {
		a.errorf(v, "%d sums, %d counts, %d aggregates", len(g.Sums), len(g.Counts), len(g.Aggregates))
		return nil
	}
	n := g.Aggregates[0].Values.Len()
	flat := *g
	if opts.AsOf != nil {
		flat.Columns = g.Columns[:len(by)]
	}
	out := a.groupValues(v, &flat, by, n)
	for i := range out {
		if opts.AsOf != nil {
			out[i] = append(out[i], g.Columns[len(by)].Values.Uint64s[i])
		}
		for k := range g.Aggregates {
			c := &g.Aggregates[k]
			if c.Name != opts.Aggregates[k].String() || c.Values.Len() != n {
				a.errorf(v, "aggregate %d is %q of %d groups, want %q of %d", k, c.Name, c.Values.Len(), opts.Aggregates[k], n)
				return nil
			}
			out[i] = append(out[i], valueOf(c, i))
		}
		if g.Counts == nil {
			out[i] = append(out[i], nil)
		} else {
			out[i] = append(out[i], g.Counts[i])
		}
	}
	return out
}

// align gives sums and means of got the floats of want, where they differ only in the last bit. The
// aggregates follow the values of the groups, which name them on both sides.
func align(want, got []oracle.Cells, values int, aggregates []Aggregate) {
	of := map[string]oracle.Cells{}
	for _, row := range want {
		of[row[:values].Text()] = row
	}
	for _, row := range got {
		other := of[row[:values].Text()]
		for i, g := range aggregates {
			if g.Op != Sum && g.Op != Mean || other == nil {
				continue
			}
			x, isFloat := row[values+i].(float64)
			y, too := other[values+i].(float64)
			if isFloat && too && (x != x && y != y || math.Abs(x-y) <= math.Abs(y)*0x1p-52) {
				row[values+i] = y
			}
		}
	}
}

// Sums of floats are within half a unit in the last place from the exact sum, and compaction, splits and
// the number of goroutines change no bit. Without compensation most sums are wrong, and change.
func TestAggregates_FloatSums(t *testing.T) {
	def := stackSamples()
	def.Columns = append(def.Columns, schema.Column{Name: "ratio", Type: encoding.Float64, Encoding: encoding.Plain, Nullable: true})
	store, table := open(t, Options{Manual: true, FutureLimit: -1, GranuleRows: 20_000, FreshParts: 2}, def)
	rng := rand.New(rand.NewPCG(4, 4))
	const batch, pods = 10_000, 3
	exact, naive := [pods]*big.Rat{}, [pods]float64{}
	for pod := range pods {
		exact[pod] = new(big.Rat)
	}
	rows := 0
	for rows < (2-boolInt(effort.Race))*manyRowsWanted+batch {
		pod := rng.IntN(pods)
		lists, ratios := make([][]uuid.UUID, batch), make([]float64, batch)
		for i := range ratios {
			lists[i] = []uuid.UUID{{1, byte(rng.IntN(50))}}
			ratios[i] = rng.ExpFloat64() * math.Ldexp(1, rng.IntN(20))
			exact[pod].Add(exact[pod], new(big.Rat).SetFloat64(ratios[i]))
			naive[pod] += ratios[i]
		}
		b := batchOfMany(int64(rng.IntN(90)), pod, lists, make([]int64, batch))
		b.Columns["ratio"] = encoding.Float64s(ratios...)
		insert(t, table, b)
		rows += batch
	}
	wrong := 0
	for i, sum := range naive {
		want, _ := exact[i].Float64()
		wrong += boolInt(sum != want)
	}
	if wrong == 0 {
		t.Error("sums without compensation are right: the test proves nothing")
	}
	for _, when := range []string{"fresh", "split", "compacted"} {
		for _, processors := range []int{1, 4} {
			groups := func() *Groups {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
				groups, err := table.Aggregate(t.Context(), snapshot(t, store), AggregateOptions{
					By: []string{"labels.pod"}, Aggregates: []Aggregate{{Op: Sum, Column: "ratio"}, {Op: Mean, Column: "ratio"}},
				})
				if err != nil {
					t.Fatal(err)
				}
				return groups
			}()
			for i, pod := range groups.Columns[0].Values.Strings {
				want, _ := exact[pod[0]-'0'].Float64()
				if sum, mean := groups.Aggregates[0].Values.Float64s[i], groups.Aggregates[1].Values.Float64s[i]; sum != want || mean != want/float64(groups.Counts[i]) {
					t.Errorf("%s, %d processors: pod %s has sum %v and mean %v, want %v", when, processors, pod, sum, mean, want)
				}
			}
		}
		if when == "fresh" {
			if err := store.Maintain(t.Context()); err != nil {
				t.Fatal(err)
			}
		} else {
			compact(t, store)
		}
	}
}

// Invalid aggregates are errors that name the aggregate and the reason.
func TestAggregates_Errors(t *testing.T) {
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, samples(10))
	insert(t, table, at(1))
	snap := snapshot(t, store)
	for _, test := range []struct {
		opts AggregateOptions
		text string
	}{
		{AggregateOptions{Aggregates: []Aggregate{{Op: Max}}}, `max(*): no column ""`},
		{AggregateOptions{Aggregates: []Aggregate{{Op: Count, Column: "nope"}}}, `count(nope): no column "nope"`},
		{AggregateOptions{Aggregates: []Aggregate{{Op: Min, Column: "labels"}}}, `min(labels): no column "labels"`},
		{AggregateOptions{Aggregates: []Aggregate{{Op: Max, Column: "stack"}}}, "max(stack): column of type"},
		{AggregateOptions{Aggregates: []Aggregate{{Op: Sum, Column: "kind"}}}, "sum(kind): column of type string"},
		{AggregateOptions{Aggregates: []Aggregate{{Op: Mean, Column: "trace"}}}, "mean(trace): column of type"},
		{AggregateOptions{Aggregates: []Aggregate{{Column: "value"}}}, "AggregateOp(0)"},
		{AggregateOptions{Aggregates: []Aggregate{{Op: Count + 1, Column: "value"}}}, "AggregateOp(6)"},
		{AggregateOptions{Sum: "value", Aggregates: []Aggregate{{Op: Count}}}, `sum of "value" beside aggregates`},
	} {
		groups, err := table.Aggregate(t.Context(), snap, test.opts)
		if groups != nil || !errors.Is(err, ErrQuery) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%v: %v, %v; want %s", test.opts.Aggregates, groups, err, test.text)
		}
	}
}

// A sum of integers may pass through values beyond its type. A sum that ends there is an error, and its
// mean is not.
func TestAggregates_Overflow(t *testing.T) {
	def := stackSamples()
	def.Columns = append(def.Columns, schema.Column{Name: "size", Type: encoding.Uint64, Encoding: encoding.Plain, Nullable: true})
	const most = math.MaxInt64
	for _, test := range []struct {
		values []int64
		sizes  []uint64
		want   bool
		mean   float64
	}{
		{[]int64{most, 1, -1}, []uint64{math.MaxUint64, 0, 0}, false, float64(math.MaxUint64) / 3},
		{[]int64{-most, -1}, []uint64{math.MaxUint64 - 1, 1}, false, float64(math.MaxUint64) / 2},
		{[]int64{most, 1}, []uint64{1, 1}, true, 1},
		{[]int64{-most, -1, -1}, []uint64{1, 1, 1}, true, 1},
		{[]int64{0, 0}, []uint64{math.MaxUint64, 1}, true, 1 << 63},
		{[]int64{0, 0}, []uint64{math.MaxUint64, math.MaxUint64}, true, float64(math.MaxUint64)},
	} {
		store, table := open(t, Options{Manual: true, FutureLimit: -1}, def)
		b := batchOfMany(1, 0, make([][]uuid.UUID, len(test.values)), test.values)
		b.Columns["size"] = encoding.Uint64s(test.sizes...)
		insert(t, table, b)
		snap := snapshot(t, store)
		sums := AggregateOptions{Aggregates: []Aggregate{{Op: Sum, Column: "value"}, {Op: Sum, Column: "size"}}}
		if _, err := table.Aggregate(t.Context(), snap, sums); errors.Is(err, ErrOverflow) != test.want || !test.want && err != nil {
			t.Errorf("%v, %v: %v, want an overflow: %v", test.values, test.sizes, err, test.want)
		}
		means := AggregateOptions{Aggregates: []Aggregate{{Op: Mean, Column: "size"}}}
		groups, err := table.Aggregate(t.Context(), snap, means)
		if err != nil || groups.Aggregates[0].Values.Float64s[0] != test.mean {
			t.Errorf("mean of %v: %+v, %v, want %v", test.sizes, groups, err, test.mean)
		}
	}
}

// A record of groups has a column for each aggregate, with its type, name and nulls.
func TestAggregates_Record(t *testing.T) {
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, samples(10))
	insert(t, table, at(1))
	insert(t, table, at(2))
	groups, err := table.Aggregate(t.Context(), snapshot(t, store), AggregateOptions{
		By:         []string{"kind"},
		Aggregates: []Aggregate{{Op: Max, Column: "time"}, {Op: Min, Column: "tags.none"}, {Op: Mean, Column: "time"}, {Op: Count, Column: "tags.none"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := groups.Record(RecordOptions{Form: Plain, Timestamps: []string{"max(time)"}})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	got := ""
	for i, field := range rec.Schema().Fields() {
		got += fmt.Sprintln(field.Name, field.Type, rec.Column(i).ValueStr(0))
	}
	want := "kind utf8 k\nmax(time) timestamp[ns] 1970-01-01 00:00:00.000000002Z\nmin(tags.none) utf8 (null)\n" +
		"mean(time) float64 1.5\ncount(tags.none) int64 0\ncount int64 2\n"
	if rec.NumRows() != 1 || got != want {
		t.Errorf("%d rows:\n%s\nwant\n%s", rec.NumRows(), got, want)
	}
}
