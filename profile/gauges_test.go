package profile

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/schema"
)

func TestIsGauge(t *testing.T) {
	for name, want := range map[string]bool{
		"inuse_space": true, "inuse_objects": true, "goroutine": true, "goroutines": true, "threadcreate": true,
		"alloc_space": false, "cpu": false, "contentions": false, "space": false, "": false,
	} {
		if got := (Type{Sample: name, SampleUnit: "bytes"}).IsGauge(); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

var heapSpace = Type{"inuse_space", "bytes", "cpu", "nanoseconds"}

// insertHeaps inserts profiles of two pods: p at 4 times, q at 2. The heap of p is 40 on
// average, that of q is 7.
func insertHeaps(t testing.TB, db *DB) {
	heap := func(at int64, pod string, stacks ...stack) {
		insert(t, db, makeProfile(start+at*int64(time.Second), "alloc_space:bytes inuse_space:bytes", stacks...), "pod", pod, "file", fmt.Sprint(pod, at))
	}
	both := func(f, g int64) []stack {
		return []stack{{frames: "f main", values: []int64{100, f}}, {frames: "g main", values: []int64{10, g}}}
	}
	heap(0, "p", both(10, 0)...)
	heap(10, "p", both(20, 20)...)
	heap(20, "p", both(30, 20)...)
	heap(30, "p", both(40, 20)...)
	heap(0, "q", both(5, 0)...)
	heap(30, "q", both(5, 4)...)
}

// A merge of gauges is the mean over a source's times, summed over the sources. Other types are added up.
func TestMergeOfGauges(t *testing.T) {
	db := testDB(t, Options{})
	insertHeaps(t, db)
	snap := view(t, db)
	without := []string{"file"}
	for _, tc := range []struct {
		what    string
		typ     Type
		without []string
		q       Query
		want    map[string]int64
	}{
		{"mean of both", heapSpace, without, Query{}, map[string]int64{"f main": 25 + 5, "g main": 15 + 2}},
		{"mean of p", heapSpace, without, Query{Selector: parsed(t, `{pod="p"}`)}, map[string]int64{"f main": 25, "g main": 15}},
		{"mean of the first times", heapSpace, without, Query{To: start + 10e9 + 1}, map[string]int64{"f main": 15 + 5, "g main": 10}},
		{"each file is a source", heapSpace, nil, Query{}, map[string]int64{"f main": 110, "g main": 64}},
		{"sum", heapSpace, without, Query{SumGauges: true}, map[string]int64{"f main": 110, "g main": 64}},
		{"without pods, 4 times", heapSpace, []string{"file", "pod"}, Query{}, map[string]int64{"f main": 28, "g main": 16}},
		{"no gauge", Type{"alloc_space", "bytes", "cpu", "nanoseconds"}, without, Query{}, map[string]int64{"f main": 600, "g main": 60}},
	} {
		db.opts.Without = tc.without
		got, err := db.Merge(ctx, snap, tc.typ, tc.q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, stackSums(got)); diff != "" {
			t.Errorf("%s: -want +got\n%s", tc.what, diff)
		}
	}
	groups, err := db.MergeBy(ctx, snap, heapSpace, Query{}, "pod")
	if err != nil || len(groups) != 2 || groups[0].Stacks.Total != 40 || groups[1].Stacks.Total != 7 {
		t.Errorf("by pod: %+v, %v", groups, err)
	}
}

func parsed(t testing.TB, text string) Selector {
	t.Helper()
	s, err := ParseSelector(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Samples that a query leaves out do not make the mean greater.
func TestGaugesOfSomeSamples(t *testing.T) {
	db := testDB(t, Options{})
	for i := range int64(4) {
		value := int64(0)
		if i == 2 {
			value = 8
		}
		insert(t, db, makeProfile(start+i, "inuse_space:bytes",
			stack{frames: "f", values: []int64{1}}, stack{frames: "g", values: []int64{value}, labels: map[string][]string{"thread": {"w"}}}))
	}
	for name, q := range map[string]Query{"label": {Selector: parsed(t, `{thread="w"}`)}, "function": {Function: regexp.MustCompile("^g$")}} {
		if got, err := db.Merge(ctx, view(t, db), heapSpace, q); err != nil || got.Total != 2 {
			t.Errorf("by %s: %d, %v; want the mean over 4 times", name, got.Total, err)
		}
	}
}

// A point of gauges is the mean of a step, summed over the sources.
func TestRangeOfGauges(t *testing.T) {
	db := testDB(t, Options{Without: []string{"file"}})
	insertHeaps(t, db)
	snap := view(t, db)
	at := func(d time.Duration) int64 { return start - start%int64(20*time.Second) + int64(d) }
	if start%int64(20*time.Second) > int64(10*time.Second) {
		t.Fatal("two scrapes must be in the first step")
	}
	for _, tc := range []struct {
		q    Query
		by   []string
		want []Line
	}{
		{Query{}, nil, []Line{{nil, []Point{{at(0), 25 + 5}, {at(20 * time.Second), 55 + 9}}}}},
		{Query{SumGauges: true}, nil, []Line{{nil, []Point{{at(0), 50 + 5}, {at(20 * time.Second), 110 + 9}}}}},
		{Query{}, []string{"pod"}, []Line{
			{[]Label{{"pod", "p"}}, []Point{{at(0), 25}, {at(20 * time.Second), 55}}},
			{[]Label{{"pod", "q"}}, []Point{{at(0), 5}, {at(20 * time.Second), 9}}},
		}},
	} {
		got, err := db.Range(ctx, snap, heapSpace, tc.q, RangeOptions{Step: 20 * time.Second, By: tc.by})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%+v by %v: -want +got\n%s", tc.q, tc.by, diff)
		}
	}
}

// Stacks that are there at one time of ten are a tenth each. Together they are as many as at any
// time.
func TestMeansOfRareStacks(t *testing.T) {
	db := testDB(t, Options{})
	const times, goroutines = 10, 7
	for at := range int64(times) {
		var stacks []stack
		for i := range goroutines {
			stacks = append(stacks, stack{frames: fmt.Sprintf("f%d_%d main", at, i), values: []int64{1}})
		}
		insert(t, db, makeProfile(start+at, "goroutine:count", stacks...))
	}
	got, err := db.Merge(ctx, view(t, db), Type{"goroutine", "count", "cpu", "nanoseconds"}, Query{})
	if err != nil || got.Total != goroutines {
		t.Fatalf("total %d, %v; want %d", got.Total, err, goroutines)
	}
	for _, f := range got.Top() {
		if f.Flat > 1 || f.Name == "main" && f.Cum != goroutines {
			t.Errorf("%+v", f)
		}
	}
}

// A merged profile has means of gauges beside sums of the other types.
func TestProfileOfGauges(t *testing.T) {
	db := testDB(t, Options{Without: []string{"file"}})
	insertHeaps(t, db)
	for sum, want := range map[bool]string{false: "f main [600 30], g main [60 17]", true: "f main [600 110], g main [60 64]"} {
		p, err := db.Profile(ctx, view(t, db), Query{SumGauges: sum})
		if err != nil {
			t.Fatal(err)
		}
		if got := samplesText(p); got != want {
			t.Errorf("sum %v: %s; want %s", sum, got, want)
		}
	}
}

func samplesText(p *pprof.Profile) string {
	var samples []string
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			names = append(names, l.Line[0].Function.Name)
		}
		samples = append(samples, fmt.Sprint(strings.Join(names, " "), " ", s.Value))
	}
	slices.Sort(samples)
	return strings.Join(samples, ", ")
}

// Means of gauges equal those of a search value by value (P7).
func TestGaugesEqualOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		db, facts, snap := drawSnapshot(t, 1, 8)
		defer db.store.Close()
		defer snap.Close()
		q, typ := drawQuery(t), oracleTypes[1]
		q.SumGauges, q.Frames, q.Hide, q.Show = false, nil, nil, nil
		db.opts.Without = rapid.SampledFrom([][]string{nil, {"pod"}, {"pod", "job", "thread"}}).Draw(t, "without")
		checkGauges(t, db, snap, facts, typ, q)
	})
}

func checkGauges(t *rapid.T, db *DB, snap *columnstore.Snapshot, facts []fact, typ Type, q Query) {
	step := rapid.SampledFrom([]time.Duration{1, 9 * time.Second, time.Hour}).Draw(t, "step")
	stacks, points := map[string]float64{}, map[int64]float64{}
	for _, f := range choose(facts, typ, q) {
		stacks[strings.Join(f.functions(), " ")] += float64(f.value) / float64(timesOf(db, facts, &f, q, 0))
		points[schema.RoundDown(f.time, int64(step))] += float64(f.value) / float64(timesOf(db, facts, &f, q, int64(step)))
	}
	const half = 0.5 + 1e-3
	merged, err := db.Merge(ctx, snap, typ, q)
	if err != nil {
		t.Fatal(err)
	}
	got, total := stackSums(merged), 0.0
	for _, mean := range stacks {
		total += mean
	}
	if math.Abs(float64(merged.Total)-total) > half {
		t.Fatalf("Merge %s without %v: total %d, want %f", q.Selector, db.opts.Without, merged.Total, total)
	}
	for name := range got {
		stacks[name] += 0 // a stack of the answer is one of the oracle
	}
	for name, want := range stacks {
		if math.Abs(float64(got[name])-want) > float64(stacksOf(facts, name))*(1+1e-3) {
			t.Fatalf("Merge %s without %v: %q is %d, want %f", q.Selector, db.opts.Without, name, got[name], want)
		}
	}
	lines, err := db.Range(ctx, snap, typ, q, RangeOptions{Step: step})
	if err != nil {
		t.Fatal(err)
	}
	line := map[int64]int64{}
	for _, l := range lines {
		for _, p := range l.Points {
			line[p.Time] = p.Value
		}
	}
	if !slices.Equal(slices.Sorted(maps.Keys(line)), slices.Sorted(maps.Keys(points))) {
		t.Fatalf("Range %s: %v, want %v", q.Selector, line, points)
	}
	for at, want := range points {
		if math.Abs(float64(line[at])-want) > half {
			t.Fatalf("Range %s without %v by %v: %d, want %f", q.Selector, db.opts.Without, step, line[at], want)
		}
	}
}

// stacksOf returns the number of stacks whose functions have the given names.
func stacksOf(facts []fact, names string) int {
	stacks := map[string]bool{}
	for i := range facts {
		if strings.Join(facts[i].functions(), " ") == names {
			stacks[facts[i].stack] = true
		}
	}
	return len(stacks)
}

// timesOf returns the number of times of a fact's source, in the fact's step.
func timesOf(db *DB, facts []fact, f *fact, q Query, step int64) int {
	times := map[int64]bool{}
	for i := range facts {
		g := &facts[i]
		outside := q.From != 0 && g.time < q.From || q.To != 0 && g.time >= q.To
		if g.typ != f.typ || outside || step > 0 && schema.RoundDown(g.time, step) != schema.RoundDown(f.time, step) {
			continue
		}
		same := true
		for _, name := range []string{"job", "pod", "thread"} {
			same = same && (slices.Contains(db.opts.Without, name) || g.labels[name] == f.labels[name])
		}
		for _, m := range q.Selector.matchers {
			same = same && (g.labels[m.Name] == "" || m.Matches(g.labels[m.Name]))
		}
		if same {
			times[g.time] = true
		}
	}
	return len(times)
}

// BenchmarkMergeGauges merges the heaps of 50 pods, with sums and with means: of pods with
// equal numbers of profiles, and of pods one of which has half as many.
func BenchmarkMergeGauges(b *testing.B) {
	for _, half := range []bool{false, true} {
		db := testDB(b, Options{})
		stacks := make([]stack, 100)
		for i := range stacks {
			stacks[i] = stack{frames: fmt.Sprintf("f%d main", i), values: []int64{int64(i) + 1}}
		}
		const pods, times = 50, 60
		for at := range int64(times) {
			for pod := range pods {
				if half && pod == 0 && at%2 == 1 {
					continue
				}
				insert(b, db, makeProfile(start+at*int64(10*time.Second), "inuse_space:bytes", stacks...), "job", "api", "pod", fmt.Sprint(pod))
			}
		}
		if err := db.store.Compact(ctx); err != nil {
			b.Fatal(err)
		}
		snap := view(b, db)
		for _, sum := range []bool{true, false} {
			b.Run(fmt.Sprintf("half=%v/sum=%v", half, sum), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := db.Merge(ctx, snap, heapSpace, Query{SumGauges: sum}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pods*times*len(stacks)), "ns/row")
			})
		}
	}
}
