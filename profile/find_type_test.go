package profile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"pgregory.net/rapid"
)

// A short name means the types of all periods, and the type of the profiles that a query selects beside one of another unit.
func TestFindTypeIn(t *testing.T) {
	db := testDB(t, Options{})
	insert := func(at int64, types string, job string) {
		t.Helper()
		p := makeProfile(at, types, stack{frames: "main", values: []int64{1, 2}})
		if _, err := db.Insert(t.Context(), p, InsertOptions{Labels: map[string]string{"job": job}}); err != nil {
			t.Fatal(err)
		}
	}
	insert(start, "samples:count cpu:nanoseconds", "a")
	insert(start, "cpu:count wall:nanoseconds", "b")
	insert(start+int64(time.Hour), "samples:count cpu:nanoseconds", "b")
	snap := view(t, db)
	nanos, count := Type{"cpu", "nanoseconds", "cpu", "nanoseconds"}, Type{"cpu", "count", "cpu", "nanoseconds"}
	for _, tc := range []struct {
		name, selector string
		from, to       int64
		want           Type
		ambiguous      string
	}{
		{"cpu", `{job="a"}`, 0, 0, nanos, ""},
		{" cpu ", `{job="a"}`, 0, 0, nanos, ""},
		{"cpu:nanoseconds", `{job="a"}`, 0, 0, nanos, ""},
		{"cpu", `{job="b"}`, 0, start + 1, count, ""},
		{"cpu", `{job="b"}`, start + 1, 0, nanos, ""},
		{"cpu", `{job="b"}`, 0, 0, Type{}, "choose one of: cpu:nanoseconds:cpu:nanoseconds, cpu:count:cpu:nanoseconds"},
		{"cpu", `{}`, 0, start + 1, Type{}, `, or one by the selector {job="a"} or {job="b"}`},
		{"cpu", `{job="c"}`, 0, 0, nanos, ""}, // the first
		{"wall", `{job="a"}`, 0, 0, Type{"wall", "nanoseconds", "cpu", "nanoseconds"}, ""},
		{count.String(), `{}`, 0, 0, count, ""},
	} {
		selector := selectorFor(t, tc.selector)
		got, err := db.FindTypeIn(t.Context(), snap, Query{Selector: selector, From: tc.from, To: tc.to}, tc.name)
		if tc.ambiguous != "" {
			if !errors.Is(err, ErrAmbiguousType) || !strings.HasSuffix(err.Error(), tc.ambiguous) {
				t.Errorf("%s of %s: %v, want %s", tc.name, tc.selector, err, tc.ambiguous)
			}
			continue
		}
		if got != tc.want || err != nil {
			t.Errorf("%s of %s from %d to %d: %v, %v; want %v", tc.name, tc.selector, tc.from, tc.to, got, err, tc.want)
		}
	}
}

// periodFact is a profile of one stack, with a value of each type.
type periodFact struct {
	types  []Type
	values []int64
	job    string
	name   string
	at     int64
}

// Answers to a short name equal a sum over the profiles one by one: of all types with the sample type and unit, whatever their
// period. The form of Type.String means one type alone. Profiles of different names are not added up.
func TestShortNamesEqualOracle(t *testing.T) {
	periods := []pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}, {Type: "wall", Unit: "nanoseconds"}, {}}
	lists := []string{"cpu:nanoseconds", "samples:count cpu:nanoseconds", "wall:nanoseconds cpu:nanoseconds"}
	rapid.Check(t, func(t *rapid.T) {
		db := openDB(t, Options{})
		defer db.store.Close()
		var facts []periodFact
		for i := range rapid.IntRange(1, 8).Draw(t, "profiles") {
			f := periodFact{
				job: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "job"), at: start + int64(i)*60e9,
				name: rapid.SampledFrom([]string{"", "", "", "process_cpu"}).Draw(t, "name"),
			}
			period := rapid.SampledFrom(periods).Draw(t, "period")
			list := rapid.SampledFrom(lists).Draw(t, "types")
			for j, text := range strings.Fields(list) {
				sample, unit, _ := strings.Cut(text, ":")
				f.types, f.values = append(f.types, Type{sample, unit, period.Type, period.Unit}), append(f.values, int64(1)<<(2*i+j))
			}
			p := makeProfile(f.at, list, stack{frames: "main", values: f.values})
			p.PeriodType = &period
			if _, err := db.Insert(ctx, p, InsertOptions{Labels: map[string]string{"job": f.job, NameLabel: f.name}}); err != nil {
				t.Fatal(err)
			}
			facts = append(facts, f)
		}
		snap, err := db.store.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer snap.Close()
		q := Query{From: rapid.SampledFrom([]int64{0, start + 1}).Draw(t, "from")}
		job := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "asked job")
		if job != "" {
			q.Selector = selectorFor(t, fmt.Sprintf("{job=%q}", job))
		}
		asked := rapid.SampledFrom(rapid.SampledFrom(facts).Draw(t, "fact").types).Draw(t, "asked type")
		name := rapid.SampledFrom([]string{asked.Sample, asked.Sample + ":" + asked.SampleUnit, asked.String()}).Draw(t, "name")

		var want int64
		names := map[string]bool{}
		for _, f := range facts {
			for i, of := range f.types {
				same := of == asked || name != asked.String() && of.Sample == asked.Sample && of.SampleUnit == asked.SampleUnit
				if same && (job == "" || f.job == job) && f.at >= q.From {
					want += f.values[i]
					names[f.name] = true
				}
			}
		}
		typ, err := db.FindTypeIn(ctx, snap, q, name)
		if err != nil {
			t.Fatal(err)
		}
		merged, err := db.Merge(ctx, snap, typ, q)
		p, errProfile := db.Profile(ctx, snap, q, typ)
		lines, errRange := db.Range(ctx, snap, typ, q, RangeOptions{Step: 24 * time.Hour})
		if asked.isClear() { // a list of samples can make another kind
			if several := len(names) > 1; several != errors.Is(err, ErrMixed) || several != errors.Is(errProfile, ErrMixed) || several != errors.Is(errRange, ErrMixed) {
				t.Fatalf("%s over names %v: %v, %v, %v", name, names, err, errProfile, errRange)
			}
		}
		if err != nil {
			return
		}
		var inProfile, inLines int64
		for _, s := range p.Sample {
			inProfile += s.Value[0]
		}
		for _, l := range lines {
			for _, at := range l.Points {
				inLines += at.Value
			}
		}
		if merged.Total != want || inProfile != want || inLines != want {
			t.Fatalf("%s is %v: %d merged, %d in a profile, %d in lines, want %d", name, typ, merged.Total, inProfile, inLines, want)
		}
		if err := p.CheckValid(); err != nil || len(p.SampleType) != 1 || p.SampleType[0].Type != asked.Sample || p.PeriodType.Type == AnyPeriod {
			t.Fatalf("profile %v: %v", p, err)
		}
	})
}
