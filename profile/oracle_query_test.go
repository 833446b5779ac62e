package profile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/columnstore"
)

// insertFacts draws a profile and inserts it.
func insertFacts(t *rapid.T, db *DB, facts []fact) []fact {
	sometimes := func(name string, values ...string) string {
		return rapid.SampledFrom(append(values, "")).Draw(t, name)
	}
	labels := map[string]string{"job": sometimes("job", "a", "b"), "pod": sometimes("pod", "p1", "p2"), "thread": sometimes("thread", "", "", "t1")}
	at := start + rapid.SampledFrom([]int64{0, 1, 7e9, 150e9, 151e9, 400e9, -3600e9}).Draw(t, "time")
	duration := rapid.SampledFrom([]int64{10e9, 11e9}).Draw(t, "duration")
	var stacks []stack
	for _, s := range oracleStacks { // so all profiles have the same locations
		stacks = append(stacks, stack{frames: s, values: []int64{0, 0}})
	}
	for range rapid.IntRange(0, 6).Draw(t, "samples") {
		s := stack{frames: rapid.SampledFrom(oracleStacks).Draw(t, "stack"), labels: map[string][]string{}}
		sample := map[string]string{
			"job": sometimes("sample's job", "", "a", "z"), "thread": sometimes("sample's thread", "t1", "t2"),
			"trace_id": sometimes("trace", "", traceA, strings.ToUpper(traceA), strings.Repeat("0", 32)), "span_id": sometimes("span", "", spanA, "00"),
		}
		for name, value := range sample {
			if value != "" {
				s.labels[name] = []string{value}
			}
		}
		if sample["thread"] != "" && rapid.Bool().Draw(t, "two threads") {
			s.labels["thread"] = append(s.labels["thread"], "t9") // a selector finds the first
		}
		s.values = rapid.SliceOfN(rapid.SampledFrom([]int64{0, 1, -1, 5, 1 << 40}), 2, 2).Draw(t, "values")
		stacks = append(stacks, s)
		for i, v := range s.values {
			if v != 0 {
				facts = append(facts, fact{oracleTypes[i], at, duration, labels, sample, s.frames, v})
			}
		}
	}
	p := makeProfile(at, "n:count inuse_m:bytes", stacks...)
	p.DurationNanos = duration
	if _, err := db.Insert(ctx, p, InsertOptions{Labels: labels}); err != nil {
		t.Fatal(err)
	}
	return facts
}

// drawSnapshot returns a snapshot of a drawn number of profiles, compacted or not, with their
// facts. The caller closes the snapshot and the store.
func drawSnapshot(t *rapid.T, least, most int) (*DB, []fact, *columnstore.Snapshot) {
	db := openDB(t, Options{Bucket: oracleBucket})
	var facts []fact
	for range rapid.IntRange(least, most).Draw(t, "profiles") {
		facts = insertFacts(t, db, facts)
	}
	if rapid.Bool().Draw(t, "compacted") {
		if err := db.store.Compact(ctx); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := db.store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return db, facts, snap
}

func drawQuery(t *rapid.T) Query {
	s, err := ParseSelector(rapid.SampledFrom(oracleQueries).Draw(t, "selector"))
	if err != nil {
		t.Fatal(err)
	}
	bound := func(name string) int64 {
		return rapid.SampledFrom([]int64{0, 0, start, start + 1, start + 8e9, start + 151e9, start + 400e9, start - 1800e9}).Draw(t, name)
	}
	q := Query{
		Selector: s, From: bound("from"), To: bound("to"),
		SumGauges: true,
		Function:  rapid.SampledFrom(oracleFunctions).Draw(t, "function"), MaxBytes: rapid.SampledFrom([]int64{0, 1 << 30}).Draw(t, "max bytes"),
	}
	for range max(0, rapid.IntRange(-1, 2).Draw(t, "conditions")) {
		q.Frames = append(q.Frames, rapid.SampledFrom(oracleConditions).Draw(t, "condition"))
	}
	if rapid.IntRange(0, 2).Draw(t, "frames") == 0 {
		q.Hide, q.Show = rapid.SampledFrom(oracleFunctions).Draw(t, "hide"), rapid.SampledFrom(oracleFunctions).Draw(t, "show")
	}
	if rapid.IntRange(0, 3).Draw(t, "paths") == 0 {
		q.Under = rapid.SampledFrom(oraclePaths).Draw(t, "path")
	}
	return q
}

// P7: every question gives the answer of a search value by value, over one or several
// generations, of fresh, partly compacted and compacted rows.
func TestQueriesEqualOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store, err := columnstore.Open(columnstore.Options{
			Manual: true, FutureLimit: -1, GranuleRows: 16, FreshParts: 2,
			GenerationBuckets: rapid.SampledFrom([]int{1, 2, 16}).Draw(t, "generation"),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		db, err := Open(store, Options{Bucket: rapid.SampledFrom([]time.Duration{oracleBucket, oracleBucket, -1}).Draw(t, "bucket")})
		if err != nil {
			t.Fatal(err)
		}
		var facts []fact
		checkQueries(t, db, facts)
		for range rapid.IntRange(1, 5).Draw(t, "profiles") {
			facts = insertFacts(t, db, facts)
		}
		checkQueries(t, db, facts)
		if err := store.Compact(ctx); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 3).Draw(t, "late profiles") {
			facts = insertFacts(t, db, facts)
		}
		checkQueries(t, db, facts)
		if err := store.Compact(ctx); err != nil {
			t.Fatal(err)
		}
		checkQueries(t, db, facts)
	})
}

func checkQueries(t *rapid.T, db *DB, facts []fact) {
	snap, err := db.store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	q, typ := drawQuery(t), rapid.SampledFrom(oracleTypes).Draw(t, "type")
	c := queryCheck{t, db, snap, typ, q, choose(facts, typ, q)}
	c.merge()
	c.mergeBy()
	c.rangeOf()
	c.diff()
	c.want = visible(facts, typ, q)
	c.profiles()
	c.series(facts, false)
	c.series(facts, true)
}

// queryCheck compares the answers to one query with those of the oracle.
type queryCheck struct {
	t    *rapid.T
	db   *DB
	snap *columnstore.Snapshot
	typ  Type
	q    Query
	want []fact // the rows of the query
}

// leavesOut reports whether the query leaves out frames, so that stacks can look alike.
func (c *queryCheck) leavesOut() bool { return c.q.Hide != nil || c.q.Show != nil }

func (c *queryCheck) equal(what string, want, got any, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		c.t.Fatalf("%s of %v %s [%d, %d) %v %v %v %v %q: -want +got\n%s", what, c.typ, c.q.Selector, c.q.From, c.q.To, c.q.Function, c.q.Frames, c.q.Hide, c.q.Show, c.q.Under, diff)
	}
}

// sumsOf returns the sum of each stack, without sums of 0.
func sumsOf(facts []fact) map[string]int64 {
	sums := map[string]int64{}
	for i := range facts {
		sums[strings.Join(facts[i].functions(), " ")] += facts[i].value
	}
	maps.DeleteFunc(sums, func(_ string, v int64) bool { return v == 0 })
	return sums
}

func stackSums(s *Stacks) map[string]int64 {
	sums := map[string]int64{}
	for frames, value := range s.All() {
		var functions []string
		for _, f := range frames {
			functions = append(functions, f.Function)
		}
		sums[strings.Join(functions, " ")] += value
	}
	maps.DeleteFunc(sums, func(_ string, v int64) bool { return v == 0 })
	return sums
}

func (c *queryCheck) merge() *Stacks {
	got, err := c.db.Merge(ctx, c.snap, c.typ, c.q)
	if err != nil {
		c.t.Fatal(err)
	}
	c.equal("Merge", sumsOf(c.want), stackSums(got), nil)
	if again := stackSums(searched(c.t, got, nil)); len(again) != got.Len() && !c.leavesOut() {
		c.t.Fatalf("%d stacks, %d of them differ", got.Len(), len(again))
	}
	pattern := rapid.SampledFrom(oracleFunctions[1:]).Draw(c.t, "search")
	found := slices.DeleteFunc(slices.Clone(c.want), func(f fact) bool { return !slices.ContainsFunc(f.functions(), pattern.MatchString) })
	searched := searched(c.t, got, pattern)
	c.equal("Search for "+pattern.String(), sumsOf(found), stackSums(searched), nil)
	checkFlameGraph(c.t, searched)
	checkSandwich(c.t, got, rapid.SampledFrom([]string{"a", "b", "c", "[app]", "nobody"}).Draw(c.t, "sandwich"))
	checkPruned(c.t, got, rapid.IntRange(1, 12).Draw(c.t, "most nodes"))
	return got
}

func (c *queryCheck) mergeBy() {
	by := rapid.SliceOfN(rapid.SampledFrom(oracleNames), 0, 3).Draw(c.t, "by")
	want := map[string]map[string]int64{}
	groups := map[string][]fact{}
	for _, f := range c.want {
		key := fmt.Sprint(f.group(by))
		groups[key] = append(groups[key], f)
	}
	for key, facts := range groups {
		want[key] = sumsOf(facts)
	}
	groupsGot, err := c.db.MergeBy(ctx, c.snap, c.typ, c.q, by...)
	got := map[string]map[string]int64{}
	for i, g := range groupsGot {
		got[fmt.Sprint(g.Labels)] = stackSums(g.Stacks)
		if g.Stacks.Len() != len(stackSums(g.Stacks)) && !c.leavesOut() || i > 0 && compareLabels(groupsGot[i-1].Labels, g.Labels) >= 0 {
			c.t.Fatalf("group %v is not in order, or has a stack twice", g.Labels)
		}
	}
	c.equal(fmt.Sprint("MergeBy ", by), want, got, err)
}

func (c *queryCheck) rangeOf() {
	opts := RangeOptions{
		Step: rapid.SampledFrom([]time.Duration{0, 1, 9 * time.Second, time.Hour}).Draw(c.t, "step"),
		By:   rapid.SliceOfN(rapid.SampledFrom(oracleNames), 0, 2).Draw(c.t, "by"),
		Top:  rapid.IntRange(0, 3).Draw(c.t, "top"),
	}
	sums := map[string]map[int64]int64{}
	labels := map[string][]Label{}
	for _, f := range c.want {
		group := f.group(opts.By)
		key := fmt.Sprint(group)
		if labels[key] = group; sums[key] == nil {
			sums[key] = map[int64]int64{}
		}
		at := f.time
		if opts.Step > 0 {
			at -= at % int64(opts.Step) // after 1970
		}
		sums[key][at] += f.value
	}
	var want []Line
	for key, points := range sums {
		line := Line{Labels: labels[key]}
		for _, at := range slices.Sorted(maps.Keys(points)) {
			line.Points = append(line.Points, Point{at, points[at]})
		}
		want = append(want, line)
	}
	slices.SortFunc(want, func(a, b Line) int { return compareLabels(a.Labels, b.Labels) })
	if opts.Top > 0 && len(want) > opts.Top {
		total := func(l Line) (sum int64) {
			for _, p := range l.Points {
				sum += p.Value
			}
			return sum
		}
		slices.SortStableFunc(want, func(a, b Line) int { return cmp.Compare(total(b), total(a)) })
		want = want[:opts.Top]
		slices.SortFunc(want, func(a, b Line) int { return compareLabels(a.Labels, b.Labels) })
	}
	got, err := c.db.Range(ctx, c.snap, c.typ, c.q, opts)
	c.equal(fmt.Sprintf("Range %+v", opts), want, got, err)
}

func (c *queryCheck) profiles() {
	sums := map[string]*ProfileInfo{}
	for _, f := range c.want {
		labels := f.profileLabels()
		key := fmt.Sprint(f.time, labels, f.duration)
		if sums[key] == nil {
			sums[key] = &ProfileInfo{Time: f.time, Duration: f.duration, Period: 10, Labels: labels}
		}
		sums[key].Total += f.value
		sums[key].Rows++
	}
	want := []ProfileInfo{}
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		want = append(want, *sums[key])
	}
	slices.SortFunc(want, func(a, b ProfileInfo) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), compareLabels(a.Labels, b.Labels), cmp.Compare(a.Duration, b.Duration))
	})
	got, err := c.db.Profiles(ctx, c.snap, c.typ, c.q)
	c.equal("Profiles", want, got, err)
	if len(got) > 0 && got[0].Time > 0 {
		one := c.q
		one.From, one.To = got[0].Time, got[0].Time+1
		stacks, err := c.db.Merge(ctx, c.snap, c.typ, one)
		c.equal("one profile", sumsOf(choose(c.want, c.typ, Query{From: one.From, To: one.To, Under: one.Under})), stackSums(stacks), err)
	}
}

// series checks the questions about labels. Their answers contain at least the values of the
// query's rows, and only values of rows in the buckets of its time range, or exactly those of
// its rows.
func (c *queryCheck) series(facts []fact, exact bool) {
	c.q.Exact = exact
	var sure, can []fact
	for _, f := range facts {
		if f.chosen(f.typ, c.q) {
			sure = append(sure, f)
		}
		if exact && f.chosen(f.typ, c.q) || !exact && c.canBe(&f) {
			can = append(can, f)
		}
	}
	collect := func(facts []fact, f func(f *fact, add func(string))) map[string]bool {
		out := map[string]bool{}
		for i := range facts {
			f(&facts[i], func(s string) { out[s] = true })
		}
		return out
	}
	check := func(what string, got []string, err error, sure, can map[string]bool) {
		if err != nil || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			c.t.Fatalf("%s: %q, %v", what, got, err)
		}
		for s := range sure {
			if !slices.Contains(got, s) {
				c.t.Fatalf("%s of %s: %q, want %q too", what, c.q.Selector, got, s)
			}
		}
		for _, s := range got {
			if !can[s] {
				c.t.Fatalf("%s of %s: %q is in no row", what, c.q.Selector, s)
			}
		}
	}
	ofProfiles := func(f *fact, add func(string)) {
		for _, l := range f.profileLabels() {
			add(l.Name)
		}
	}
	ofAll := func(f *fact, add func(string)) {
		ofProfiles(f, add)
		for name, value := range f.sample {
			if value != "" {
				add(name)
			}
		}
	}
	names, err := c.db.LabelNames(ctx, c.snap, c.q)
	sample := collect(facts, ofAll) // labels of samples can be those of any fact
	if exact || len(can) == 0 {
		sample = collect(can, ofAll)
	}
	check("LabelNames", names, err, collect(sure, ofAll), sample)
	for _, name := range oracleNames {
		value := func(f *fact, add func(string)) {
			if v := f.label(name); v != "" {
				add(v)
			}
		}
		values, err := c.db.LabelValues(ctx, c.snap, name, c.q)
		check("LabelValues of "+name, values, err, collect(sure, value), collect(can, value))
	}
	source := func(f *fact, add func(string)) { add(fmt.Sprint(Source{f.typ, f.profileLabels()})) }
	series, err := c.db.Series(ctx, c.snap, c.q)
	var got []string
	for i, s := range series {
		got = append(got, fmt.Sprint(s))
		if i > 0 && cmp.Or(series[i-1].Type.compare(s.Type), compareLabels(series[i-1].Labels, s.Labels)) >= 0 {
			c.t.Fatalf("series are not in order: %v", series)
		}
	}
	slices.Sort(got)
	check("Series", got, err, collect(sure, source), collect(can, source))
	types, err := c.db.Types(ctx, c.snap)
	if err != nil || len(facts) > 0 && (len(types) != 2 || types[0] != oracleTypes[0] && types[1] != oracleTypes[0]) {
		c.t.Fatalf("Types: %v, %v", types, err)
	}
}

// canBe reports whether a fact is of a series and a bucket of the query.
func (c *queryCheck) canBe(f *fact) bool {
	from, to := c.q.From, c.q.To
	if width := c.db.opts.Bucket; width > 0 {
		from -= from % int64(width)
		if to != 0 {
			to = to - 1 - (to-1)%int64(width) + int64(width)
		}
	} else {
		from, to = 0, 0
	}
	if from != 0 && f.time < from || to != 0 && f.time >= to {
		return false
	}
	for _, m := range c.q.Selector.matchers {
		if value := f.labels[m.Name]; value != "" && !m.Matches(value) {
			return false
		}
	}
	return true
}

func (c *queryCheck) diff() {
	before, err := c.db.Merge(ctx, c.snap, c.typ, c.q)
	if err != nil {
		c.t.Fatal(err)
	}
	after, err := c.db.Merge(ctx, c.snap, c.typ, Query{Hide: c.q.Hide, Show: c.q.Show, SumGauges: true})
	if err != nil {
		c.t.Fatal(err)
	}
	checkDiffTop(c.t, before, after)
	if nothing, err := DiffTop(after, after); err != nil || len(nothing) != 0 {
		c.t.Fatalf("a difference less itself: %+v, %v", nothing, err)
	}
}

// costsOf returns the costs of functions, counted stack by stack.
func costsOf(s *Stacks) map[string]FunctionCost {
	costs := map[string]FunctionCost{}
	for frames, value := range s.All() {
		seen := map[string]bool{}
		for i, f := range frames {
			cost := costs[f.Function]
			if i == 0 {
				cost.Flat += value
			}
			if !seen[f.Function] {
				seen[f.Function] = true
				cost.Cum += value
			}
			costs[f.Function] = cost
		}
	}
	return costs
}

// checkDiffTop checks the changes of functions against the costs of both answers.
func checkDiffTop(t *rapid.T, before, after *Stacks) {
	was, is := costsOf(before), costsOf(after)
	names := map[string]bool{}
	for _, costs := range []map[string]FunctionCost{was, is} {
		for name := range costs {
			names[name] = true
		}
	}
	var want []FunctionChange
	for name := range names {
		b, a := was[name], is[name]
		if b != a {
			want = append(want, FunctionChange{Function{name, a.Flat - b.Flat, a.Cum - b.Cum}, b, a})
		}
	}
	slices.SortFunc(want, func(a, b FunctionChange) int {
		return cmp.Or(cmp.Compare(size(b.Flat), size(a.Flat)), cmp.Compare(size(b.Cum), size(a.Cum)), cmp.Compare(a.Name, b.Name))
	})
	got, err := DiffTop(before, after)
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Fatalf("DiffTop: %v, -want +got\n%s", err, diff)
	}
}
