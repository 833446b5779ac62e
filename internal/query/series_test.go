package query

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// TestSeries_MeetTheRange queries series by time: exactly those of buckets that meet the
// range.
func TestSeries_MeetTheRange(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(100))
	for kind, at := range map[string]int64{
		"first": math.MinInt64, "negative": -1, "zero": 0, "fifty": 50, "gap": 950, "late": 5000, "last": math.MaxInt64,
	} {
		b := querytest.OneRow(at)
		b.Columns["kind"] = encoding.Strings(kind)
		table.Insert(b)
	}
	r := table.Read()
	for _, test := range []struct {
		name     string
		from, to int64
		want     []string
	}{
		{"all", math.MinInt64, math.MaxInt64, []string{"fifty", "first", "gap", "last", "late", "negative", "zero"}},
		{"one bucket, to its end", 0, 100, []string{"fifty", "zero"}},
		{"one bucket, from its middle", 60, 70, []string{"fifty", "zero"}},
		{"two buckets", -1, 1, []string{"fifty", "negative", "zero"}},
		{"up to a bucket", -100, 0, []string{"negative"}},
		{"in a gap", 300, 400, nil},
		{"from a gap", 300, 901, []string{"gap"}},
		{"from a gap to a gap", 300, 4000, []string{"gap"}},
		{"up to the gap's end", 300, 900, nil},
		{"first", math.MinInt64, math.MinInt64 + 1, []string{"first"}},
		{"last", math.MaxInt64 - 1, math.MaxInt64, []string{"last"}},
		{"no end", 4000, math.MaxInt64, []string{"last", "late"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			series, err := ListSeries(context.Background(), r, between(test.from, test.to))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range series {
				got = append(got, s.Value("kind"))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("kinds (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSeries_AreTheRows compares series with those of the rows, over
// generations with codes of their own.
func TestSeries_AreTheRows(t *testing.T) {
	for _, width := range []int64{0, 100} {
		table := querytest.Open(t, querytest.Options{}, querytest.Wide(width, querytest.WideKey))
		rng := rand.New(rand.NewPCG(5, 6))
		rows := querytest.RandomRows(rng, 400)
		for batch := range slices.Chunk(rows, 30) {
			table.Insert(querytest.BatchOf(rng, batch))
		}
		names := append([]string{"kind", "zone"}, querytest.Expand(rows, "labels")...)
		want := map[string]bool{}
		for _, row := range rows {
			want[oracle.Text(oracle.Project(row, names))] = true
		}
		for range 2 {
			series, err := ListSeries(context.Background(), table.Read(), filter.Expr{})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for _, s := range series {
				row := map[string]any{}
				for _, label := range s {
					row[label.Name] = label.Value
				}
				got[oracle.Text(row)] = true
			}
			if diff := cmp.Diff(want, got); diff != "" || len(series) != len(got) {
				t.Errorf("width %d: %d series, distinct (-want +got):\n%s", width, len(series), diff)
			}
			table.Compact()
		}
		if s := (Series{{Name: "kind", Value: "x"}}); s.Value("kind") != "x" || s.Value("zone") != "" {
			t.Errorf("values of %v", s)
		}
	}
}

// TestExtremeTimes has rows at both ends of int64 (C6): in buckets and steps that the range of
// int64 cuts short, and found by time.
func TestExtremeTimes(t *testing.T) {
	times := []int64{math.MinInt64, math.MinInt64 + 1, math.MinInt64 + 150, -1, 0, 1, math.MaxInt64 - 150, math.MaxInt64 - 1, math.MaxInt64}
	for _, width := range []int64{1, 7, 100, 1 << 40, math.MaxInt64} {
		table := querytest.Open(t, querytest.Options{GranuleRows: 4}, querytest.Samples(width))
		for round := range 3 {
			for i := range times {
				table.Insert(querytest.OneRow(times[(i*7)%len(times)])) // 7 and 9 have no common factor
			}
			for _, when := range []string{"fresh", "compacted"} {
				checkTimes(t, table, width, round+1, when, times)
				table.Compact()
			}
		}
	}
}

func checkTimes(t *testing.T, table *querytest.Table, width int64, copies int, when string, times []int64) {
	t.Helper()
	r := table.Read()
	var got []int64
	for _, row := range scanRows(t, r, ScanOptions{Columns: []string{"time"}, Ordered: true}) {
		got = append(got, row["time"].(int64))
	}
	var want []int64
	for _, at := range times {
		want = append(want, slices.Repeat([]int64{at}, copies)...)
	}
	if !slices.Equal(got, want) { // one series and stack: the order is by buckets and times
		t.Errorf("width %d, %s: times %v, want %v", width, when, got, want)
	}
	for _, at := range times {
		for _, q := range []struct {
			name  string
			where filter.Expr
			holds func(int64) bool
		}{
			{"==", filter.Equal("time", at), func(x int64) bool { return x == at }},
			{">=", filter.AtLeast("time", at), func(x int64) bool { return x >= at }},
			{"<", filter.Less("time", at), func(x int64) bool { return x < at }},
			{"<=", filter.AtMost("time", at), func(x int64) bool { return x <= at }},
			{">", filter.Greater("time", at), func(x int64) bool { return x > at }},
			{"between -5 and", filter.Between("time", -5, at), func(x int64) bool { return x >= -5 && x <= at }},
			{"to the end, from", filter.Between("time", at, math.MaxInt64), func(x int64) bool { return x >= at }},
			{">= and not <", filter.And(filter.AtLeast("time", at), filter.Not(filter.Less("time", at))), func(x int64) bool { return x >= at }},
		} {
			n := int64(0)
			for _, x := range times {
				if q.holds(x) {
					n += int64(copies)
				}
			}
			groups, err := GroupRows(context.Background(), r, AggregateOptions{Where: q.where})
			if err != nil {
				t.Fatal(err)
			}
			counted := int64(0)
			for _, c := range groups.Counts {
				counted += c
			}
			if counted != n {
				t.Errorf("width %d, %s: %d rows with time %s %d, want %d", width, when, counted, q.name, at, n)
			}
		}
	}
	checkSteps(t, r, times)
}

// checkSteps groups by steps. The first is cut short by the range of int64.
func checkSteps(t *testing.T, r *filter.Read, times []int64) {
	t.Helper()
	for _, step := range []int64{10, 1000, math.MaxInt64} {
		groups, err := GroupRows(context.Background(), r, AggregateOptions{By: []string{"time"}, Step: step})
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Sorted(slices.Values(groups.Column("time").Values.Int64s))
		var want []int64
		for _, at := range times {
			down := new(big.Int).Div(big.NewInt(at), big.NewInt(step)) // toward minus infinity
			if down.Mul(down, big.NewInt(step)); !down.IsInt64() {
				down = big.NewInt(math.MinInt64)
			}
			want = append(want, down.Int64())
		}
		slices.Sort(want)
		if want = slices.Compact(want); !slices.Equal(got, want) {
			t.Errorf("steps of %d: %v, want %v", step, got, want)
		}
	}
	if groups := new(Groups); groups.Column("time") != nil {
		t.Error("a column of no columns")
	}
}

// shardsOf returns a row of one pod.
func shardsOf(pod string, at int64) schema.Batch {
	b := querytest.OneRow(at)
	b.Columns["labels.pod"] = encoding.Strings(pod)
	return b
}

// New series are inserted into a generation while the series of two of its buckets are read:
// the answer is that of the snapshot.
func TestQueries_SeriesWhileInserting(t *testing.T) {
	for name, ask := range map[string]func(r *filter.Read, where filter.Expr) (int, error){
		"series": func(r *filter.Read, where filter.Expr) (int, error) {
			series, err := ListSeries(t.Context(), r, where)
			return len(series), err
		},
		"series values": func(r *filter.Read, where filter.Expr) (int, error) {
			values, err := SeriesValues(t.Context(), r, "labels.pod", where)
			return len(values), err
		},
		"aggregate": func(r *filter.Read, where filter.Expr) (int, error) {
			g, err := GroupRows(t.Context(), r, AggregateOptions{By: []string{"labels.pod"}, Where: where})
			if err != nil {
				return 0, err
			}
			return len(g.Counts), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("panic: %v", r)
				}
			}()
			table := querytest.Open(t, querytest.Options{GenerationBuckets: 2}, querytest.Samples(100))
			for i := range 4 {
				table.Insert(shardsOf(fmt.Sprint("pod ", i), int64(50*i)))
			}
			r := table.Read()
			done := false
			where := filter.And(filter.AtLeast("value", 0), filter.Func("labels.pod", func(v any) bool {
				for i := range 200 {
					if v != nil && !done {
						table.Insert(shardsOf(fmt.Sprint("later ", i, v), int64(i)))
					}
				}
				done = done || v != nil
				return true
			}))
			for i, where := range []filter.Expr{where, filter.Not(where), filter.Or(where, filter.Equal("kind", "x"))} {
				want := 4
				if i == 1 {
					want = 4 * boolInt(name != "aggregate") // for queries of series alone, rows below 0 may exist
				}
				done = false
				if n, err := ask(r, where); err != nil || n != want {
					t.Errorf("%d, want the %d of the snapshot: %v", n, want, err)
				}
			}
		})
	}
}

// KnownTuples has the combinations of a snapshot, over several generations.
func TestKnownTuples(t *testing.T) {
	table := querytest.Open(t, querytest.Options{GenerationBuckets: 1}, querytest.Samples(100))
	none, err := KnownTuples(table.Read(), []string{"labels.pod"})
	if err != nil || len(none) != 0 {
		t.Errorf("of no series: %q, %v", none, err)
	}
	for i := range 4 {
		table.Insert(shardsOf(fmt.Sprint("pod ", i), int64(100*i)))
	}
	r := table.Read()
	table.Insert(shardsOf("later", 5))
	for _, columns := range [][]string{{"labels.pod"}, {"kind", "labels.pod"}, {"labels.none"}} {
		want, err := SeriesTuples(t.Context(), r, columns, filter.Expr{})
		if err != nil || len(want) == 0 {
			t.Fatalf("%q: %q, %v", columns, want, err)
		}
		got, err := KnownTuples(r, columns)
		if err != nil {
			t.Fatal(err)
		}
		for _, tuple := range want {
			if !slices.ContainsFunc(got, func(other []string) bool { return slices.Equal(tuple, other) }) {
				t.Errorf("%q: %q is not known: %q", columns, tuple, got)
			}
		}
	}
	if _, err := KnownTuples(r, []string{"value"}); !errors.Is(err, filter.ErrQuery) {
		t.Errorf("of a column that is not of series: %v", err)
	}
}

// An empty string of a column that is not dynamic is a value, distinct from null.
func TestQueries_EmptyValues(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Wide(100, querytest.WideKey))
	for i, zone := range []string{"", "a"} {
		b := querytest.OneRow(int64(i))
		b.Columns["kind"], b.Columns["zone"] = encoding.Strings(""), encoding.Strings(zone)
		b.Columns["labels.pod"] = encoding.Strings("")
		table.Insert(b)
	}
	for column, want := range map[string][]string{"kind": {""}, "zone": {"", "a"}, "labels.pod": nil} {
		if got, err := SeriesValues(t.Context(), table.Read(), column, filter.Expr{}); err != nil || !slices.Equal(got, want) {
			t.Errorf("values of %s: %q, %v; want %q", column, got, err, want)
		}
	}
	got, err := SeriesColumns(t.Context(), table.Read(), filter.Expr{})
	if want := []string{"kind", "zone"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("columns %q, %v; want %q", got, err, want)
	}
}
