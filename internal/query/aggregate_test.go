package query

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// Sums of floats are within half a unit of the last place of the exact sum, and compaction,
// splits and the number of goroutines change no bit of them. Without compensation most are
// wrong, and change.
func TestAggregates_FloatSums(t *testing.T) {
	def := querytest.Stacks()
	def.Columns = append(def.Columns, schema.Column{Name: "ratio", Type: encoding.Float64, Encoding: encoding.Plain, Nullable: true})
	table := querytest.Open(t, querytest.Options{GranuleRows: 20_000}, def)
	rng := rand.New(rand.NewPCG(4, 4))
	const batch, pods = 10_000, 3
	exact, naive := [pods]*big.Rat{}, [pods]float64{}
	for pod := range pods {
		exact[pod] = new(big.Rat)
	}
	rows := 0
	for rows < (2-boolInt(effort.Brief()))*manyRowsWanted+batch {
		pod := rng.IntN(pods)
		lists, ratios := make([][]uuid.UUID, batch), make([]float64, batch)
		for i := range ratios {
			lists[i] = []uuid.UUID{{1, byte(rng.IntN(50))}}
			ratios[i] = rng.ExpFloat64() * math.Ldexp(1, rng.IntN(20))
			exact[pod].Add(exact[pod], new(big.Rat).SetFloat64(ratios[i]))
			naive[pod] += ratios[i]
		}
		b := querytest.Many(int64(rng.IntN(90)), pod, lists, make([]int64, batch))
		b.Columns["ratio"] = encoding.Float64s(ratios...)
		table.Insert(b)
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
				groups, err := GroupRows(t.Context(), table.Read(), AggregateOptions{
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
			table.Compact()
		} else {
			table.GranuleRows = 7000
			table.Compact()
		}
	}
}

// Invalid aggregates are errors that name the aggregate and the reason.
func TestAggregates_Errors(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	table.Insert(querytest.At(1))
	r := table.Read()
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
		groups, err := GroupRows(t.Context(), r, test.opts)
		if groups != nil || !errors.Is(err, filter.ErrQuery) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%v: %v, %v; want %s", test.opts.Aggregates, groups, err, test.text)
		}
	}
}

// A sum of integers may pass through values beyond its type. One that ends there is an error,
// and its mean is not.
func TestAggregates_Overflow(t *testing.T) {
	def := querytest.Stacks()
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
		table := querytest.Open(t, querytest.Options{}, def)
		b := querytest.Many(1, 0, make([][]uuid.UUID, len(test.values)), test.values)
		b.Columns["size"] = encoding.Uint64s(test.sizes...)
		table.Insert(b)
		r := table.Read()
		sums := AggregateOptions{Aggregates: []Aggregate{{Op: Sum, Column: "value"}, {Op: Sum, Column: "size"}}}
		if _, err := GroupRows(t.Context(), r, sums); errors.Is(err, ErrOverflow) != test.want || !test.want && err != nil {
			t.Errorf("%v, %v: %v, want an overflow: %v", test.values, test.sizes, err, test.want)
		}
		means := AggregateOptions{Aggregates: []Aggregate{{Op: Mean, Column: "size"}}}
		groups, err := GroupRows(t.Context(), r, means)
		if err != nil || groups.Aggregates[0].Values.Float64s[0] != test.mean {
			t.Errorf("mean of %v: %+v, %v, want %v", test.sizes, groups, err, test.mean)
		}
	}
}

// A record of groups has a column for each aggregate, with its type, name and nulls.
func TestAggregates_Record(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	table.Insert(querytest.At(1))
	table.Insert(querytest.At(2))
	groups, err := GroupRows(t.Context(), table.Read(), AggregateOptions{
		By:         []string{"kind"},
		Aggregates: []Aggregate{{Op: Max, Column: "time"}, {Op: Min, Column: "tags.none"}, {Op: Mean, Column: "time"}, {Op: Count, Column: "tags.none"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := groups.Record(RecordOptions{Form: arrowconv.FormPlain, Timestamps: []string{"max(time)"}})
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
