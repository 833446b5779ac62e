package profile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"
)

// The default type depends on the profiles that a query selects. A kind without rows is
// skipped, unless the query selects no rows.
func TestDefaultType(t *testing.T) {
	db := testDB(t, Options{})
	count := func(name string) Type { return Type{name, "count", "cpu", "nanoseconds"} }
	insert(t, db, makeProfile(start, "empty:count", stack{frames: "f", values: []int64{0}}), "job", "0")
	insert(t, db, makeProfile(start, "a:count b:count", stack{frames: "f", values: []int64{1, 2}}), "job", "1")
	insert(t, db, makeProfile(start, "c:count", stack{frames: "f", values: []int64{3}}), "job", "2")
	for text, want := range map[string]Type{``: count("b"), `{job="1"}`: count("b"), `{job="2"}`: count("c"), `{job="none"}`: count("empty")} {
		s, err := ParseSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := db.DefaultType(ctx, view(t, db), Query{Selector: s}); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
}

// Range uses a sample's label if the profile has no label of that name. Both sources of a value
// contribute to one line.
func TestRangeBySampleLabel(t *testing.T) {
	db := testDB(t, Options{})
	labelled := func(value string) map[string][]string { return map[string][]string{"who": {value}} }
	insert(t, db, makeProfile(start, "n:count",
		stack{frames: "f", values: []int64{1}, labels: labelled("x")},
		stack{frames: "g", values: []int64{2}, labels: labelled("y")},
		stack{frames: "h", values: []int64{4}}))
	insert(t, db, makeProfile(start, "n:count",
		stack{frames: "f", values: []int64{8}, labels: labelled("x")},
		stack{frames: "g", values: []int64{16}, labels: labelled("z")}), "who", "y")
	got, err := db.Range(ctx, view(t, db), cpuCount, Query{}, RangeOptions{Step: time.Hour, By: []string{"who"}})
	if err != nil {
		t.Fatal(err)
	}
	at := start - start%int64(time.Hour)
	want := []Line{
		{nil, []Point{{at, 4}}},
		{[]Label{{"who", "x"}}, []Point{{at, 1}}},
		{[]Label{{"who", "y"}}, []Point{{at, 2 + 8 + 16}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A stack that has a label value from its profile and from its sample is one stack of the
// group.
func TestMergeByLabelOfBoth(t *testing.T) {
	db := testDB(t, Options{})
	insert(t, db, makeProfile(start, "n:count",
		stack{frames: "f", values: []int64{1}, labels: map[string][]string{"who": {"x"}}},
		stack{frames: "g", values: []int64{2}, labels: map[string][]string{"who": {"x"}}}))
	insert(t, db, makeProfile(start, "n:count", stack{frames: "f", values: []int64{4}}, stack{frames: "g", values: []int64{-2}}), "who", "x")
	got, err := db.MergeBy(ctx, view(t, db), cpuCount, Query{}, "who", "who")
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	if s := got[0].Stacks; s.Len() != 1 || s.Total != 5 || s.Magnitude != 5 || stackSums(s)["f"] != 5 {
		t.Errorf("%+v", s)
	}
}

// The default type of a merge is that of the first profile that names one, as in pprof.
func TestMergedDefaultType(t *testing.T) {
	for _, named := range [][]string{{"", ""}, {"", "a"}, {"a", ""}, {"b", "a"}, {"", "c", "a"}, {"", "", "b", "a"}, {"none", "a"}} {
		db := testDB(t, Options{})
		var profiles []*pprof.Profile
		for i, name := range named {
			p := makeProfile(start+int64(i), "a:count b:count c:count", stack{frames: "f", values: []int64{1, 2, 3}})
			p.DefaultSampleType = name
			insert(t, db, p)
			profiles = append(profiles, p)
		}
		merged, err := pprof.Merge(profiles)
		if err != nil {
			t.Fatal(err)
		}
		index, err := merged.SampleIndexByName("")
		if err != nil {
			t.Fatal(err)
		}
		want := merged.SampleType[index].Type
		snap := view(t, db)
		for name, find := range map[string]func() (Type, error){
			"FindType":    func() (Type, error) { return db.FindType(ctx, snap, "") },
			"DefaultType": func() (Type, error) { return db.DefaultType(ctx, snap, Query{}) },
			"of Profile": func() (Type, error) {
				p, err := db.Profile(ctx, snap, Query{})
				if err != nil {
					return Type{}, err
				}
				index, err := p.SampleIndexByName("")
				return Type{Sample: p.SampleType[index].Type}, err
			},
		} {
			if got, err := find(); err != nil || got.Sample != want {
				t.Errorf("%q: %s %q, %v; want %q as in pprof", named, name, got.Sample, err, want)
			}
		}
	}
}
