package profile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

var (
	delay      = Type{"delay", "nanoseconds", "cpu", "nanoseconds"}
	contention = "contentions:count delay:nanoseconds"
)

func selectorFor(t fataler, text string) Selector {
	t.Helper()
	s, err := ParseSelector(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// contended inserts a profile of contentions, a minute after the one before it.
func contended(t fataler, db *DB, minute, value int64, labels ...string) {
	t.Helper()
	insert(t, db, makeProfile(start+minute*60e9, contention, stack{frames: fmt.Sprintf("f%d main", minute), values: []int64{1, value}}), labels...)
}

// mixed returns the MixedError of an error, and fails if it is none.
func mixed(t testing.TB, err error) *MixedError {
	t.Helper()
	e, ok := errors.AsType[*MixedError](err)
	if !ok || !errors.Is(err, ErrMixed) {
		t.Fatalf("error %v, want a MixedError", err)
	}
	return e
}

// P8: no answer adds up the delays of block and mutex profiles, unless it is asked to.
func TestKindsAreNotAddedUp(t *testing.T) {
	db := testDB(t, Options{})
	contended(t, db, 0, 10, "job", "a", NameLabel, "mutex")
	contended(t, db, 1, 200, "job", "a", NameLabel, "block")
	contended(t, db, 2, 3000, "job", "b", NameLabel, "block")
	h := createHistory(t, db, start-1)
	changes(t, db, h, 1, "0 1 runs")
	snap := view(t, db)
	total := func(s *Stacks) int64 {
		if s == nil {
			return 0
		}
		return s.Total
	}
	questions := map[string]func(q Query) (int64, error){
		"Merge": func(q Query) (int64, error) { s, err := db.Merge(ctx, snap, delay, q); return total(s), err },
		"MergeBy": func(q Query) (sum int64, err error) {
			groups, err := db.MergeBy(ctx, snap, delay, q, "job")
			for _, g := range groups {
				sum += g.Stacks.Total
			}
			return sum, err
		},
		"Range": func(q Query) (sum int64, err error) {
			lines, err := db.Range(ctx, snap, delay, q, RangeOptions{Step: time.Hour})
			for _, l := range lines {
				for _, p := range l.Points {
					sum += p.Value
				}
			}
			return sum, err
		},
		"Profile": func(q Query) (sum int64, err error) {
			p, err := db.Profile(ctx, snap, q)
			if err != nil {
				return 0, err
			}
			for _, s := range p.Sample {
				sum += s.Value[1]
			}
			return sum, err
		},
		"MergeByState": func(q Query) (sum int64, err error) {
			groups, err := db.MergeByState(ctx, snap, delay, q, States{History: h, Path: []string{"Threads", "1"}})
			for _, g := range groups {
				sum += g.Stacks.Total
			}
			return sum, err
		},
	}
	for name, ask := range questions {
		_, err := ask(Query{})
		e := mixed(t, err)
		want := []ProfileKind{
			{"block", []Type{{"contentions", "count", "cpu", "nanoseconds"}, delay}, [][]Label{{{NameLabel, "block"}, {"job", "a"}}, {{NameLabel, "block"}, {"job", "b"}}}, `{__name__="block"}`},
			{"mutex", []Type{{"contentions", "count", "cpu", "nanoseconds"}, delay}, [][]Label{{{NameLabel, "mutex"}, {"job", "a"}}}, `{__name__="mutex"}`},
		}
		if diff := cmp.Diff(want, e.Kinds); diff != "" || name != "Profile" && e.Type != delay || e.Periods {
			t.Errorf("%s: of %v: -want +got\n%s", name, e.Type, diff)
		}
		for _, tc := range []struct {
			q    Query
			want int64
		}{
			{Query{SumKinds: true}, 3210},
			{Query{Selector: selectorFor(t, e.Kinds[0].Selector)}, 3200},
			{Query{Selector: selectorFor(t, e.Kinds[1].Selector)}, 10},
			{Query{Selector: selectorFor(t, `mutex{job="a"}`)}, 10},
			{Query{Selector: selectorFor(t, `{job="b"}`)}, 3000},
			{Query{From: start, To: start + 1}, 10}, // one profile of a bucket with both kinds
			{Query{From: start + 60e9}, 3200},
			{Query{Function: regexp.MustCompile("^f0$")}, 10},
			{Query{Frames: []FrameCondition{{Function: regexp.MustCompile("^f0$"), Not: true}}}, 3200},
		} {
			if got, err := ask(tc.q); err != nil || got != tc.want {
				t.Errorf("%s: %+v: %d, %v; want %d", name, tc.q, got, err, tc.want)
			}
		}
	}
	want := "profiles of different kinds: values of delay:nanoseconds:cpu:nanoseconds in block (contentions, delay) and mutex (contentions, delay); " +
		`choose one by the selector {__name__="block"} or {__name__="mutex"}`
	if _, err := db.Merge(ctx, snap, delay, Query{}); err.Error() != want {
		t.Errorf("%v", err)
	}
}

// Sums by a label that kinds do not share add up nothing of two kinds.
func TestKindsByLabel(t *testing.T) {
	db := testDB(t, Options{})
	contended(t, db, 0, 10, "job", "a", NameLabel, "mutex")
	contended(t, db, 1, 200, "job", "b", NameLabel, "block")
	contended(t, db, 2, 3000, "job", "b")
	snap := view(t, db)
	for _, tc := range []struct {
		selector string
		by       []string
		want     string // "" for an error
	}{
		{"", []string{NameLabel}, "[{[] 3000} {[{__name__ block}] 200} {[{__name__ mutex}] 10}]"},
		{"", []string{NameLabel, "job"}, "[{[{__name__ block} {job b}] 200} {[{__name__ mutex} {job a}] 10} {[{job b}] 3000}]"},
		{"", []string{"job"}, ""},
		{`{__name__!=""}`, []string{"job"}, "[{[{job a}] 10} {[{job b}] 200}]"},
		{`{job="b"}`, nil, ""},
		{`{__name__=""}`, nil, "[{[] 3000}]"},
	} {
		type group struct {
			Labels []Label
			Total  int64
		}
		q := Query{Selector: selectorFor(t, tc.selector)}
		groups, err := db.MergeBy(ctx, snap, delay, q, tc.by...)
		lines, errRange := db.Range(ctx, snap, delay, q, RangeOptions{Step: time.Hour, By: tc.by})
		if tc.want == "" {
			mixed(t, err)
			mixed(t, errRange)
			continue
		}
		var got, ranged []group
		for _, g := range groups {
			got = append(got, group{g.Labels, g.Stacks.Total})
		}
		for _, l := range lines {
			ranged = append(ranged, group{l.Labels, l.Points[0].Value})
		}
		if fmt.Sprint(got) != tc.want || err != nil || errRange != nil || fmt.Sprint(ranged) != tc.want {
			t.Errorf("%s by %v: %v, %v, %v, %v; want %s", tc.selector, tc.by, got, err, ranged, errRange, tc.want)
		}
	}
}

// Profiles with other lists of types are of another kind, in whatever order a list is. Values
// that are all zero do not change it, nor do rows without a list.
func TestKindsByList(t *testing.T) {
	db := testDB(t, Options{})
	add := func(types, pod string, values ...int64) {
		insert(t, db, makeProfile(start, types, stack{frames: "f", values: values}), "pod", pod)
	}
	add("a:count b:count", "1", 1, 2)
	add("b:count a:count", "2", 4, 0)
	merge := func() (int64, error) {
		s, err := db.Merge(ctx, view(t, db), Type{"b", "count", "cpu", "nanoseconds"}, Query{})
		if err != nil {
			return 0, err
		}
		return s.Total, nil
	}
	if got, err := merge(); err != nil || got != 6 {
		t.Fatalf("of one list: %d, %v", got, err)
	}
	add("b:count c:count d:count", "3", 8, 1, 1)
	_, err := merge()
	e := mixed(t, err)
	var texts []string
	for _, k := range e.Kinds {
		texts = append(texts, fmt.Sprint(k.String(), " ", k.Selector, " ", len(k.Sources)))
	}
	if want := []string{`(a, b) {pod=~"1|2"} 2`, `(b, c, d) {pod="3"} 1`}; !slices.Equal(texts, want) {
		t.Errorf("%q, want %q", texts, want)
	}
	kinds, err := db.Kinds(ctx, view(t, db), Query{Selector: selectorFor(t, `{pod!="1"}`)})
	if err != nil || len(kinds) != 2 || kinds[0].Selector != `{pod="2"}` || kinds[1].Selector != `{pod="3"}` {
		t.Errorf("kinds %+v, %v", kinds, err)
	}
}

// The list of a source is the one with the most of its types, and then the shortest.
func TestKindOfSource(t *testing.T) {
	typ := func(names string) (types []Type) {
		for name := range strings.FieldsSeq(names) {
			types = append(types, Type{Sample: name})
		}
		return types
	}
	for _, tc := range []struct {
		lists []string
		has   string
		want  int // of type a
	}{
		{[]string{"a b"}, "a", 0},
		{[]string{"a b", "a"}, "a", 1},
		{[]string{"a b", "a"}, "a b", 0},
		{[]string{"a b c d", "a b"}, "a b", 1},
		{[]string{"a b c d", "a b"}, "a b c", 0}, // d is 0
		{[]string{"b c", "a"}, "a b c", 1},       // two lists with equal labels
		{[]string{"a b", "a c"}, "a b c", 0},     // nothing can tell
		{[]string{"b"}, "a", 1},                  // no list
		{nil, "a", 0},
	} {
		s := kindSources{}
		for _, l := range tc.lists {
			s.lists = append(s.lists, typ(l))
		}
		if got := s.kindOf(&kindSource{types: typ(tc.has)}, Type{Sample: "a"}); got.list != tc.want {
			t.Errorf("lists %q, source of %q: list %d, want %d", tc.lists, tc.has, got.list, tc.want)
		}
	}
}

// Rows of Arrow records have no list. Their kind is that of their name, and their period type.
func TestKindsOfRecords(t *testing.T) {
	db := testDB(t, Options{})
	add := func(sample, period, name string) {
		columns := map[string]encoding.Vector{
			ColumnSampleType: encoding.Strings(sample), ColumnSampleUnit: encoding.Strings("u"), ColumnPeriodType: encoding.Strings(period), ColumnPeriodUnit: encoding.Strings("u"),
			ColumnTimestamp: encoding.Int64s(start), ColumnValue: encoding.Int64s(5), ColumnDuration: encoding.Int64s(0), ColumnPeriod: encoding.Int64s(0),
			ColumnStacktrace: encoding.UUIDLists(nil), ColumnLabels + "." + NameLabel: encoding.Strings(name),
		}
		if _, err := db.Table().Insert(ctx, schema.Batch{Rows: 1, Columns: columns}); err != nil {
			t.Fatal(err)
		}
	}
	add("a", "p", "")
	add("b", "p", "")
	add("c", "q", "")
	if _, err := db.Merge(ctx, view(t, db), Type{"a", "u", "p", "u"}, Query{}); err != nil {
		t.Error(err)
	}
	add("a", "p", "x")
	_, err := db.Merge(ctx, view(t, db), Type{"a", "u", "p", "u"}, Query{})
	if e := mixed(t, err); len(e.Kinds) != 2 || e.Kinds[0].String() != "(a)" || e.Kinds[1].String() != "x (a)" {
		t.Errorf("%v", err)
	}
	kinds, err := db.Kinds(ctx, view(t, db), Query{})
	if err != nil || fmt.Sprint(kinds) != "[(a, b) (c) x (a)]" || kinds[0].Selector != "" {
		t.Errorf("%v, %v", kinds, err)
	}
}

// A kind without a single label that separates it has no selector.
func TestKindsWithoutSelector(t *testing.T) {
	db := testDB(t, Options{})
	for i, list := range []string{"b:count a:count", "b:count c:count", "b:count a:count", "b:count c:count"} {
		insert(t, db, makeProfile(start, list, stack{frames: "f", values: []int64{1, 1}}), "x", fmt.Sprint(i/2), "y", fmt.Sprint((i+i/2)%2))
	}
	_, err := db.Merge(ctx, view(t, db), Type{"b", "count", "cpu", "nanoseconds"}, Query{})
	if e := mixed(t, err); len(e.Kinds) != 2 || e.Kinds[0].Selector+e.Kinds[1].Selector != "" || !strings.HasSuffix(err.Error(), "; choose one by a selector") {
		t.Errorf("%v", err)
	}
	many := testDB(t, Options{})
	for i := range 10 {
		contended(t, many, int64(i), 1, NameLabel, fmt.Sprint("n", i))
	}
	if _, err := many.Merge(ctx, view(t, many), delay, Query{}); !strings.Contains(err.Error(), "n7 (contentions, delay) and 2 more; choose") {
		t.Errorf("%v", err)
	}
}

// Any label and value makes a selector that chooses the kind.
func TestKindSelectors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{NameLabel, "job", "a b", "a.b", "1x", `"`, "é"}).Draw(t, "label")
		value := rapid.SampledFrom([]string{"", "v", `"`, `\`, ".*", "a|b", "\n", "é", "\xff", "{}"})
		values := rapid.SliceOfNDistinct(value, 2, 5, rapid.ID).Draw(t, "values")
		kinds := []ProfileKind{{Name: "a"}, {Name: "b"}}
		for i, v := range values {
			k := &kinds[min(1, i)]
			k.Sources = append(k.Sources, []Label{{name, v}})
		}
		SeparateKinds(kinds)
		// The pattern of two values must be valid UTF-8. Kinds of more values are what the other is not.
		if none := len(values) == 3 && slices.Contains(values[1:], "\xff"); none != (kinds[1].Selector == "") {
			t.Fatalf("%q: selectors %q and %q", values, kinds[0].Selector, kinds[1].Selector)
		}
		for i := range kinds {
			if kinds[i].Selector == "" {
				return
			}
			s := selectorFor(t, kinds[i].Selector)
			for k, v := range values {
				if chosen := s.matchers[0].Matches(v); chosen != (min(1, k) == i) {
					t.Fatalf("%s chooses %q: %t", kinds[i].Selector, v, chosen)
				}
			}
		}
	})
}

// P8, against a search of the profiles one by one: an answer is a MixedError if and only if it
// would add up values of two kinds.
func TestKindsEqualOracle(t *testing.T) {
	lists := []string{"n:count", "n:count m:count", "m:count", "n:count k:count"}
	rapid.Check(t, func(t *rapid.T) {
		db := openDB(t, Options{Bucket: oracleBucket})
		defer db.store.Close()
		var facts []fact
		kinds := map[string]string{} // by labels
		kindOf := func(f *fact) string { return kinds[fmt.Sprint(f.labels)] }
		for range rapid.IntRange(1, 6).Draw(t, "profiles") {
			labels := map[string]string{}
			list := rapid.IntRange(0, len(lists)-1).Draw(t, "list")
			labels["list"] = fmt.Sprint(list) // sources with equal labels have one list
			for _, name := range []string{NameLabel, "job"} {
				if v := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, name); v != "" {
					labels[name] = v
				}
			}
			if len(labels[NameLabel]) > 0 && rapid.Bool().Draw(t, "named list") {
				labels["x"] = "y"
			}
			if kinds[fmt.Sprint(labels)] = labels[NameLabel]; labels[NameLabel] == "" {
				kinds[fmt.Sprint(labels)] = lists[list]
			}
			at := start + rapid.SampledFrom([]int64{0, 1, 150e9, 400e9}).Draw(t, "time")
			types := strings.Fields(lists[list])
			frames := rapid.SampledFrom(oracleStacks).Draw(t, "stack")
			thread := rapid.SampledFrom([]string{"t1", "t2"}).Draw(t, "thread")
			p := makeProfile(at, lists[list], stack{frames: frames, values: []int64{1, 2}[:len(types)], labels: map[string][]string{"thread": {thread}}})
			for i := range types {
				facts = append(facts, fact{typeListOf(p).Types[i], at, p.DurationNanos, labels, map[string]string{"thread": thread}, frames, int64(i + 1)})
			}
			if _, err := db.Insert(ctx, p, InsertOptions{Labels: labels}); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "compacted") {
				if err := db.store.Compact(ctx); err != nil {
					t.Fatal(err)
				}
			}
		}
		snap, err := db.store.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer snap.Close()
		for range 4 {
			checkKinds(t, db, snap, facts, kindOf)
		}
	})
}

func checkKinds(t *rapid.T, db *DB, snap *columnstore.Snapshot, facts []fact, kindOf func(*fact) string) {
	bound := func(name string) int64 {
		return rapid.SampledFrom([]int64{0, 0, start, start + 1, start + 151e9}).Draw(t, name)
	}
	text := rapid.SampledFrom([]string{"", "", `{__name__="a"}`, `{__name__=""}`, `{job="a"}`, `{thread="t1"}`, `{list!="1"}`}).Draw(t, "selector")
	q := Query{Selector: selectorFor(t, text), From: bound("from"), To: bound("to"), Function: rapid.SampledFrom(oracleFunctions).Draw(t, "function"), SumKinds: rapid.IntRange(0, 5).Draw(t, "sum") == 0}
	by := rapid.SliceOfDistinct(rapid.SampledFrom([]string{NameLabel, "job", "list", "x"}), rapid.ID).Draw(t, "by")
	typ := Type{rapid.SampledFrom([]string{"n", "m"}).Draw(t, "type"), "count", "cpu", "nanoseconds"}
	rows := rowsOf(facts, typ, q)
	want := map[string][]ProfileKind{}
	groups, several := map[string]string{}, false
	for i := range rows {
		group, kind := fmt.Sprint(rows[i].group(by)), kindOf(&rows[i])
		several = several || groups[group] != "" && groups[group] != kind
		groups[group], want[kind] = kind, nil
	}
	_, errBy := db.MergeBy(ctx, snap, typ, q, by...)
	_, errRange := db.Range(ctx, snap, typ, q, RangeOptions{Step: time.Hour, By: by})
	for _, err := range []error{errBy, errRange} {
		e, isMixed := errors.AsType[*MixedError](err)
		if isMixed != (several && !q.SumKinds) || err != nil && !isMixed {
			t.Fatalf("%+v of %v by %v: %v, of kinds %v", q, typ, by, err, want)
		}
		if isMixed && len(e.Kinds) != len(want) {
			t.Fatalf("%+v of %v by %v: %v, want kinds %v", q, typ, by, err, want)
		}
	}
}

// Agents of one kind list different types: Go's CPU profiles have samples too, those of Java and Python only the time.
func TestKinds_OneName(t *testing.T) {
	db := openDB(t, Options{Bucket: oracleBucket})
	defer db.store.Close()
	for service, list := range map[string]string{"go": "samples:count cpu:nanoseconds", "java": "cpu:nanoseconds"} {
		values := []int64{1, 20}[2-len(strings.Fields(list)):]
		p := makeProfile(start, list, stack{frames: oracleStacks[0], values: values})
		if _, err := db.Insert(ctx, p, InsertOptions{Labels: map[string]string{"service_name": service, NameLabel: "process_cpu"}}); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := db.store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	typ := Type{"cpu", "nanoseconds", "cpu", "nanoseconds"}
	if s, err := db.Merge(ctx, snap, typ, Query{}); err != nil || s.Total != 40 {
		t.Errorf("%v, %v; want a total of 40", s, err)
	}
	kinds, err := db.Kinds(ctx, snap, Query{})
	if err != nil || len(kinds) != 1 || kinds[0].Name != "process_cpu" || len(kinds[0].Types) != 2 || len(kinds[0].Sources) != 2 {
		t.Errorf("%+v, %v; want one kind", kinds, err)
	}
}

// Types whose names say what they measure add up over all lists of profiles without a name, but not over names.
func TestKindsOfClearTypes(t *testing.T) {
	db := testDB(t, Options{})
	cpu := Type{"cpu", "nanoseconds", "cpu", "nanoseconds"}
	insert(t, db, makeProfile(start, "samples:count cpu:nanoseconds", stack{frames: "f", values: []int64{1, 2}}), "job", "a")
	insert(t, db, makeProfile(start, "cpu:nanoseconds", stack{frames: "f", values: []int64{4}}), "job", "b")
	if s, err := db.Merge(ctx, view(t, db), cpu, Query{}); err != nil || s.Total != 6 {
		t.Errorf("%+v, %v", s, err)
	}
	for i := range 5 {
		insert(t, db, makeProfile(start, "cpu:nanoseconds", stack{frames: "f", values: []int64{8}}), "job", fmt.Sprint(i), NameLabel, "mine")
	}
	_, err := db.Merge(ctx, view(t, db), cpu, Query{})
	if want := `in (samples, cpu) and mine (cpu); choose one by the selector {__name__=""} or {__name__="mine"}`; !strings.HasSuffix(mixed(t, err).Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// Of two kinds the one with many values of a label is chosen by what the other has not.
func TestKindOfManyValues(t *testing.T) {
	db := testDB(t, Options{})
	insert(t, db, makeProfile(start, "contentions:count", stack{frames: "f", values: []int64{1}}), "job", "a")
	for i := range 5 {
		insert(t, db, makeProfile(start, contention, stack{frames: "f", values: []int64{8, 1}}), "job", fmt.Sprint(i))
	}
	contentions := Type{"contentions", "count", "cpu", "nanoseconds"}
	_, err := db.Merge(ctx, view(t, db), contentions, Query{})
	e := mixed(t, err)
	for i, want := range []int64{1, 40} {
		s, err := db.Merge(ctx, view(t, db), contentions, Query{Selector: selectorFor(t, e.Kinds[i].Selector)})
		if err != nil || s.Total != want {
			t.Errorf("%s: %v, want %d", e.Kinds[i].Selector, err, want)
		}
	}
	if !strings.HasSuffix(err.Error(), `choose one by the selector {job="a"} or {job!="a"}`) {
		t.Errorf("%v", err)
	}
}
