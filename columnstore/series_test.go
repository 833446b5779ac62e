package columnstore

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"weak"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/schema"
)

// TestSeries_MeetTheRange queries series by time: exactly those of buckets that meet the
// range.
func TestSeries_MeetTheRange(t *testing.T) {
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, samples(100))
	for kind, at := range map[string]int64{
		"first": math.MinInt64, "negative": -1, "zero": 0, "fifty": 50, "gap": 950, "late": 5000, "last": math.MaxInt64,
	} {
		b := oneRow(at)
		b.Columns["kind"] = encoding.Strings(kind)
		insert(t, table, b)
	}
	snap := snapshot(t, store)
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
			series, err := table.Series(context.Background(), snap, between(test.from, test.to))
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

// TestSeries_AreTheRows compares series with the series in rows, over generations with their own codes.
func TestSeries_AreTheRows(t *testing.T) {
	for _, width := range []int64{0, 100} {
		store, table := open(t, Options{Manual: true}, wide(width, wideKey))
		rng := rand.New(rand.NewPCG(5, 6))
		rows := randomRows(rng, 400)
		for batch := range slices.Chunk(rows, 30) {
			insert(t, table, batchOf(rng, batch))
		}
		names := append([]string{"kind", "zone"}, expand(rows, "labels")...)
		want := map[string]bool{}
		for _, row := range rows {
			want[oracle.Text(oracle.Project(row, names))] = true
		}
		for range 2 {
			series, err := table.Series(context.Background(), snapshot(t, store), Expr{})
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
			compact(t, store)
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
		store, table := open(t, Options{Manual: true, FutureLimit: -1, GranuleRows: 4, FreshParts: 2}, samples(width))
		for round := range 3 {
			for i := range times {
				insert(t, table, oneRow(times[(i*7)%len(times)])) // 7 and 9 have no common factor
			}
			for _, when := range []string{"fresh", "compacted"} {
				checkTimes(t, store, table, width, round+1, when, times)
				compact(t, store)
			}
		}
	}
}

func checkTimes(t *testing.T, store *Store, table *Table, width int64, copies int, when string, times []int64) {
	t.Helper()
	snap := snapshot(t, store)
	var got []int64
	for row := range scanRows(t, table, snap, ScanOptions{Columns: []string{"time"}, Ordered: true}) {
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
			where Expr
			holds func(int64) bool
		}{
			{"==", Equal("time", at), func(x int64) bool { return x == at }},
			{">=", AtLeast("time", at), func(x int64) bool { return x >= at }},
			{"<", Less("time", at), func(x int64) bool { return x < at }},
			{"<=", AtMost("time", at), func(x int64) bool { return x <= at }},
			{">", Greater("time", at), func(x int64) bool { return x > at }},
			{"between -5 and", Between("time", -5, at), func(x int64) bool { return x >= -5 && x <= at }},
			{"to the end, from", Between("time", at, math.MaxInt64), func(x int64) bool { return x >= at }},
			{">= and not <", And(AtLeast("time", at), Not(Less("time", at))), func(x int64) bool { return x >= at }},
		} {
			n := int64(0)
			for _, x := range times {
				if q.holds(x) {
					n += int64(copies)
				}
			}
			groups, err := table.Aggregate(context.Background(), snap, AggregateOptions{Where: q.where})
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
	checkSteps(t, snap, table, times)
}

// checkSteps groups by steps. The first is cut short by the range of int64.
func checkSteps(t *testing.T, snap *Snapshot, table *Table, times []int64) {
	t.Helper()
	for _, step := range []int64{10, 1000, math.MaxInt64} {
		groups, err := table.Aggregate(context.Background(), snap, AggregateOptions{By: []string{"time"}, Step: step})
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

// TestEqualInt has conditions with untyped constants, which are ints.
func TestEqualInt(t *testing.T) {
	store, table := open(t, Options{Manual: true}, samples(100))
	for i := range 5 {
		insert(t, table, oneRow(int64(100*i)))
	}
	for _, test := range []struct {
		name  string
		where Expr
		rows  int64
	}{
		{"equal", Equal("time", 300), 1},
		{"at least", AtLeast("time", 300), 2},
		{"less", Less("time", 300), 3},
		{"value", Equal("value", 1), 5},
		{"at most", AtMost("time", 300), 4},
		{"greater", Greater("time", 300), 1},
		{"between", Between("time", 100, 300), 3},
	} {
		groups, err := table.Aggregate(context.Background(), snapshot(t, store), AggregateOptions{Where: test.where})
		if err != nil || len(groups.Counts) != 1 || groups.Counts[0] != test.rows {
			t.Errorf("%s: %+v, %v; want %d rows", test.name, groups, err, test.rows)
		}
	}
}

// TestEmptyBatch commits no rows: a transaction like any other.
func TestEmptyBatch(t *testing.T) {
	store, table := open(t, Options{Manual: true}, samples(100))
	id, err := table.Insert(context.Background(), schema.Batch{Columns: map[string]encoding.Vector{
		"kind": encoding.Strings(), "stack": encoding.UUIDLists(), "time": encoding.Int64s(), "value": encoding.Int64s(),
		"labels.x": encoding.Strings(),
	}})
	if err != nil || id == 0 {
		t.Fatal(id, err)
	}
	b := oneRow(1) // single values for no row
	b.Rows = 0
	b.Columns["labels.x"] = encoding.Strings("x")
	insert(t, table, b)
	got := stateOf(t, store, table)
	if want := []string{"kind", "stack", "time", "trace", "value"}; len(got.Rows) > 0 || len(got.Series) > 0 || !cmp.Equal(got.Columns, want) || got.Stats.Granules > 0 {
		t.Errorf("rows %v, series %v, columns %v, stats %+v", got.Rows, got.Series, got.Columns, got.Stats)
	}
}

// between is a condition on times: from <= time < to.
func between(from, to int64) Expr { return And(AtLeast("time", from), Less("time", to)) }

// A bucket with a large set of series does not keep the set before alive.
func TestSeries_OldSetIsFreed(t *testing.T) {
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, samples(1000))
	put := func(lo, hi int) {
		kinds, values := make([]string, hi-lo), make([]int64, hi-lo)
		for i := range kinds {
			kinds[i], values[i] = fmt.Sprint("k", lo+i), 1
		}
		insert(t, table, schema.Batch{Rows: hi - lo, Columns: map[string]encoding.Vector{
			"kind": encoding.Strings(kinds...), "stack": encoding.UUIDLists([]uuid.UUID{{1}}),
			"time": encoding.Int64s(0), "value": encoding.Int64s(values...),
		}})
	}
	const n = 1 << 12
	put(0, n-1)
	var before weak.Pointer[catalog.BucketState]
	for _, b := range store.roots.Root().State.Tables[0].Buckets.All() {
		before = weak.Make(b)
	}
	put(n-1, n)
	for i := range int64(20) {
		insert(t, table, oneRow(i))
	}
	if kept(before) > 0 {
		t.Error("the bucket before is kept, with a set of series that nobody counts")
	}
}
