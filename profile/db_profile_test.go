package profile

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"
)

// Profiles of different kinds cannot form one profile, except if they are chosen by type or by
// label.
func TestProfileOfMixedKinds(t *testing.T) {
	db := testDB(t, Options{})
	insert(t, db, makeProfile(start, "n:count", stack{frames: "f", values: []int64{1}}), "job", "a")
	heap := makeProfile(start, "space:bytes", stack{frames: "f", values: []int64{2}})
	heap.PeriodType = &pprof.ValueType{Type: "space", Unit: "bytes"}
	insert(t, db, heap, "job", "b")
	snap := view(t, db)
	space := Type{"space", "bytes", "space", "bytes"}
	for _, only := range [][]Type{nil, {cpuCount, space}} {
		if _, err := db.Profile(ctx, snap, Query{}, only...); !errors.Is(err, ErrMixed) || !strings.Contains(err.Error(), `(n) and (space); choose one by the selector {job="a"} or {job="b"}, or by type`) {
			t.Errorf("of %v: error %v", only, err)
		}
	}
	p, err := db.Profile(ctx, snap, Query{}, space)
	if err != nil || len(p.Sample) != 1 || p.Sample[0].Value[0] != 2 || p.PeriodType.Type != "space" {
		t.Errorf("by type: %v, %v", p, err)
	}
	s, err := ParseSelector(`{job="a"}`)
	if err != nil {
		t.Fatal(err)
	}
	p, err = db.Profile(ctx, snap, Query{Selector: s})
	if err != nil || len(p.Sample) != 1 || p.Sample[0].Value[0] != 1 || p.PeriodType.Type != "cpu" {
		t.Errorf("by label: %v, %v", p, err)
	}
}

// A profile has the requested types, in the requested order, and no others.
func TestProfileOfSomeTypes(t *testing.T) {
	db := testDB(t, Options{})
	insert(t, db, makeProfile(start, "a:count b:count c:count",
		stack{frames: "f", values: []int64{1, 2, 3}}, stack{frames: "g", values: []int64{4, 0, 0}}))
	typ := func(name string) Type { return Type{name, "count", "cpu", "nanoseconds"} }
	for _, tc := range []struct {
		only  []Type
		types string
		want  []int64 // values of f
		rows  int
	}{
		{nil, "a:count b:count c:count ", []int64{1, 2, 3}, 2},
		{[]Type{typ("b")}, "b:count ", []int64{2}, 1},
		{[]Type{typ("c"), typ("a")}, "c:count a:count ", []int64{3, 1}, 2},
		{[]Type{typ("none")}, "none:count ", nil, 0},
	} {
		p, err := db.Profile(ctx, view(t, db), Query{}, tc.only...)
		if err != nil {
			t.Fatal(err)
		}
		a := answerOf(p)
		if a.Types != tc.types || len(p.Sample) != tc.rows || a.PeriodType != "cpu:nanoseconds" {
			t.Errorf("%v: types %s, %d samples", tc.only, a.Types, len(p.Sample))
		}
		for _, s := range p.Sample {
			if s.Location[0].Line[0].Function.Name == "f" {
				if diff := cmp.Diff(tc.want, s.Value); diff != "" {
					t.Errorf("%v: %s", tc.only, diff)
				}
			}
		}
	}
}

// A type whose values are all zero is in the profile. If lists share some types, the first
// list that has all of them is used.
func TestProfileTypesOfLists(t *testing.T) {
	db := testDB(t, Options{})
	insert(t, db, makeProfile(start, "a:count b:count", stack{frames: "f", values: []int64{0, 2}}), "job", "1")
	insert(t, db, makeProfile(start, "c:count b:count a:count", stack{frames: "f", values: []int64{3, 2, 1}}), "job", "2")
	for selector, want := range map[string]string{
		`{job="1"}`: "a:count b:count ",
		`{job="2"}`: "c:count b:count a:count ",
		``:          "c:count b:count a:count ",
	} {
		s, err := ParseSelector(selector)
		if err != nil {
			t.Fatal(err)
		}
		p, err := db.Profile(ctx, view(t, db), Query{Selector: s, SumKinds: true})
		if err != nil || answerOf(p).Types != want {
			t.Errorf("%s: %v, %v; want %s", selector, answerOf(p).Types, err, want)
		}
	}
	// No list has both a and d. The profile has both, in the order of the lists.
	insert(t, db, makeProfile(start, "d:count", stack{frames: "f", values: []int64{4}}), "job", "3")
	p, err := db.Profile(ctx, view(t, db), Query{SumKinds: true})
	if err != nil || answerOf(p).Types != "a:count b:count c:count d:count " {
		t.Errorf("%v, %v", answerOf(p).Types, err)
	}
}

func TestProfileHeader(t *testing.T) {
	db := testDB(t, Options{})
	add := func(at int64, duration time.Duration, period, value int64, job string) {
		p := makeProfile(at, "n:count", stack{frames: "f", values: []int64{value}}, stack{frames: "g", values: []int64{value}})
		p.DurationNanos, p.Period = int64(duration), period
		insert(t, db, p, "job", job)
	}
	add(start+2, 10, 5, 1, "a")
	add(start+1, 20, 7, 1, "a")
	add(start+1, 20, 7, 1, "a") // with the same time, duration, period and labels: one profile
	add(start+1, 20, 7, 1, "b")
	add(start, 40, 9, 0, "a") // no rows
	for _, when := range []string{"fresh", "compacted"} {
		p, err := db.Profile(ctx, view(t, db), Query{})
		if err != nil {
			t.Fatal(err)
		}
		if p.TimeNanos != start+1 || p.DurationNanos != 50 || p.Period != 7 {
			t.Errorf("%s: time %d, duration %d, period %d", when, p.TimeNanos-start, p.DurationNanos, p.Period)
		}
		if err := db.store.Compact(ctx); err != nil {
			t.Fatal(err)
		}
	}
	p, err := db.Profile(ctx, view(t, db), Query{From: start + 5})
	if err != nil || p.TimeNanos != 0 || p.DurationNanos != 0 || len(p.Sample) != 0 || len(p.SampleType) != 1 {
		t.Errorf("of nothing: %v, %v", p, err)
	}
}

// The profile names the default type, unless pprof would show that type anyway.
func TestProfileDefaultType(t *testing.T) {
	typ := func(name string) Type { return Type{name, "count", "cpu", "nanoseconds"} }
	for _, tc := range []struct {
		name, want string
		only       []Type
	}{
		{"", "", nil},
		{"a", "a", nil},
		{"b", "b", nil},
		{"c", "", nil},
		{"none", "", nil},
		{"a", "a", []Type{typ("a"), typ("b")}},
		{"a", "", []Type{typ("b"), typ("c")}},
		{"a", "", []Type{typ("b"), typ("a")}},
	} {
		db := testDB(t, Options{})
		in := makeProfile(start, "a:count b:count c:count", stack{frames: "f", values: []int64{1, 2, 3}})
		in.DefaultSampleType = tc.name
		insert(t, db, in)
		p, err := db.Profile(ctx, view(t, db), Query{}, tc.only...)
		if err != nil || p.DefaultSampleType != tc.want {
			t.Errorf("%q of %v: %q, %v; want %q", tc.name, tc.only, p.DefaultSampleType, err, tc.want)
		}
	}
}

// A profile is the same bytes on each call. Each mapping, function and location is in it once.
func TestProfileIsDeterministic(t *testing.T) {
	db := testDB(t, Options{})
	var samples []stack
	for i := range 40 {
		samples = append(samples, stack{
			frames: strings.Repeat("f ", i%5) + "g main", values: []int64{int64(i + 1)},
			labels: map[string][]string{"a": {string(rune('a' + i%7))}, "b": {string(rune('a' + i%3)), "x"}},
		})
	}
	insert(t, db, makeProfile(start, "n:count", samples...))
	snap := view(t, db)
	var first []byte
	for range 5 {
		p, err := db.Profile(ctx, snap, Query{})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Mapping) != 1 || len(p.Function) != 3 || len(p.Location) != 3 {
			t.Fatalf("%d mappings, %d functions, %d locations", len(p.Mapping), len(p.Function), len(p.Location))
		}
		var b bytes.Buffer
		if err := p.WriteUncompressed(&b); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b.Bytes()
		} else if !bytes.Equal(first, b.Bytes()) {
			t.Fatal("two answers differ")
		}
	}
}

// A profile without labels has one sample for each stack, as pprof's after FilterTagsByName.
func TestProfileWithoutSampleLabels(t *testing.T) {
	db := testDB(t, Options{})
	text := func(value string) map[string][]string {
		return map[string][]string{"thread": {value}, "trace_id": {traceA}}
	}
	p := makeProfile(start, "n:count m:bytes",
		stack{frames: "b a", values: []int64{1, 10}, labels: text("t1")},
		stack{frames: "b a", values: []int64{2, 20}, labels: text("t2")},
		stack{frames: "b a", values: []int64{4, 0}, nums: map[string][]int64{"bytes": {8}}},
		stack{frames: "a", values: []int64{8, 0}, labels: text("t1")})
	insert(t, db, p)
	got, err := db.Profile(ctx, view(t, db), Query{NoSampleLabels: true})
	if err != nil {
		t.Fatal(err)
	}
	p.FilterTagsByName(nil, regexp.MustCompile(""))
	if diff := cmp.Diff(answerOf(p), answerOf(got)); diff != "" || len(got.Sample) != 2 {
		t.Errorf("%d samples: -pprof +granary\n%s", len(got.Sample), diff)
	}
}
