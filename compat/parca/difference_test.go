package parca_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	profilestorepb "github.com/parca-dev/parca/gen/proto/go/parca/profilestore/v1alpha1"
	"github.com/parca-dev/parca/pkg/profile"
	"github.com/parca-dev/parca/pkg/query"

	"github.com/granarydb/granary/columnstore"
)

// The tests of this file are the differences from Parca v0.28.0 on FrostDB. Each asserts both answers, so
// that a fix on either side is seen.

// clock is the clock of stores with random profiles.
func clock() time.Time { return base.Add(time.Hour) }

// sampleOf returns an encoded profile of processor time at a time, with one sample of one function.
func sampleOf(at time.Time, function string, value int64) []byte {
	f := &pprof.Function{ID: 1, Name: function}
	l := &pprof.Location{ID: 1, Address: 64, Line: []pprof.Line{{Function: f, Line: 7}}}
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period: 1, TimeNanos: at.UnixNano(), DurationNanos: int64(time.Second),
		Function: []*pprof.Function{f}, Location: []*pprof.Location{l},
		Sample: []*pprof.Sample{{Location: []*pprof.Location{l}, Value: []int64{value}}},
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// sumOf returns the sum of the values that a query merges.
func sumOf(t *testing.T, q query.Querier, selector string) (sum int64) {
	t.Helper()
	p, err := q.QueryMerge(context.Background(), "p:cpu:nanoseconds:cpu:nanoseconds:delta"+selector, farFrom, farTo, nil, false, "")
	if err != nil {
		t.Fatal(selector, err)
	}
	defer release(p)
	r, err := profile.NewReader(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range r.RecordReaders {
		for _, v := range rec.Value.Int64Values() {
			sum += v
		}
	}
	return sum
}

// TestDifference_MissingLabel: rows without a label, in one request with rows that have it, are in FrostDB
// nulls that no negative matcher and no pattern matches. They equal the empty text here, on both ways.
func TestDifference_MissingLabel(t *testing.T) {
	s := openStores(t, columnstore.Options{Now: clock})
	_, err := s.write.WriteRaw(context.Background(), &profilestorepb.WriteRawRequest{Series: []*profilestorepb.RawProfileSeries{
		series(sampleOf(base, "f", 1), "__name__", "p", "zone", "a"), series(sampleOf(base, "f", 10), "__name__", "p", "zone", "b"),
		series(sampleOf(base, "f", 100), "__name__", "p"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		selector    string
		frost, want int64
	}{
		{`{}`, 111, 111},
		{`{zone="a"}`, 1, 1},
		{`{zone=~"a|b"}`, 11, 11},
		{`{zone=""}`, 100, 100},
		{`{zone!=""}`, 11, 11},
		{`{zone!="a"}`, 10, 110},
		{`{zone!~"a"}`, 10, 110},
		{`{zone=~".*"}`, 11, 111},
		{`{zone=~"a|^$"}`, 1, 101},
	} {
		for name, q := range map[string]query.Querier{"engine": s.engine, "native": s.native} {
			if got := sumOf(t, q, c.selector); got != c.want {
				t.Errorf("%s: %s has %d, want %d", c.selector, name, got, c.want)
			}
		}
		if got := sumOf(t, s.want, c.selector); got != c.frost {
			t.Errorf("%s: FrostDB has %d, it had %d", c.selector, got, c.frost)
		}
	}
}

// TestDifference_EmptyType: the engine of FrostDB panics over types that are the empty text, on any store.
func TestDifference_EmptyType(t *testing.T) {
	s := openStores(t, columnstore.Options{Now: clock})
	p, err := pprof.ParseData(sampleOf(base, "f", 1))
	if err != nil {
		t.Fatal(err)
	}
	p.SampleType[0] = &pprof.ValueType{}
	var encoded bytes.Buffer
	if err := p.Write(&encoded); err != nil {
		t.Fatal(err)
	}
	s.insert(t, encoded.Bytes(), "__name__", "p")
	if got, want := typesOf(t, s.native, farFrom, farTo), []string{"p:::cpu:nanoseconds:delta"}; !slices.Equal(got, want) {
		t.Errorf("types are %q, want %q", got, want)
	}
	for name, q := range map[string]query.Querier{"FrostDB": s.want, "engine": s.engine} {
		if _, err := q.ProfileTypes(context.Background(), farFrom, farTo); err == nil {
			t.Errorf("%s answers, it did not", name)
		}
	}
}

// TestDifference_Function: Parca gives a stack without the function two places in its answer, so that
// later stacks stand beside values of others. Here each value keeps its stack.
func TestDifference_Function(t *testing.T) {
	s := openStores(t, columnstore.Options{Now: clock})
	r := rand.New(rand.NewPCG(3, 3))
	for range 20 {
		s.insert(t, randomProfile(r), "__name__", "p")
	}
	const q, function = "p:cpu:nanoseconds:cpu:nanoseconds:delta{}", "main.f3"
	for _, inverted := range []bool{false, true} {
		whole, err := s.want.QueryMerge(context.Background(), q, farFrom, farTo, nil, inverted, "")
		if err != nil {
			t.Fatal(err)
		}
		want := upTo(textOfProfile(t, whole), function)
		got := func(q2 query.Querier) []string {
			p, err := q2.QueryMerge(context.Background(), q, farFrom, farTo, nil, inverted, function)
			if err != nil {
				t.Fatal(err)
			}
			return textOfProfile(t, p)
		}
		if native := got(s.native); !reflect.DeepEqual(native, want) {
			i := slices.IndexFunc(want, func(row string) bool { return !slices.Contains(native, row) })
			j := slices.IndexFunc(native, func(row string) bool { return !slices.Contains(want, row) })
			t.Errorf("inverted %t: %d and %d rows:\n got %s\nwant %s", inverted, len(native), len(want), native[max(j, 0)], want[max(i, 0)])
		}
		if frost := got(s.want); reflect.DeepEqual(frost, want) {
			t.Errorf("inverted %t: Parca is right, it was not", inverted)
		}
	}
}

// upTo cuts stacks, as textOfProfile writes them, behind the first location whose first line is of a
// function. Rows without it have no stack.
func upTo(rows []string, function string) []string {
	out := []string{}
	for _, row := range rows {
		head, stack, _ := strings.Cut(strings.TrimSuffix(row, " none"), " | ")
		locations := strings.Split(stack, " | ")
		at := slices.IndexFunc(locations, func(l string) bool {
			_, lines, ok := strings.Cut(l, " ; ")
			first, _, _ := strings.Cut(lines, " ; ")
			return ok && strings.Contains(first+" ", " "+function+" ")
		})
		if at < 0 {
			out = append(out, head+" none")
			continue
		}
		out = append(out, head+" | "+strings.Join(locations[:at+1], " | "))
	}
	slices.Sort(out)
	return out
}

// TestDifference_StepOfStates: of several profiles without a duration in one step, FrostDB's is the one
// that its aggregation returns first, and here it is the earliest. Both count them.
func TestDifference_StepOfStates(t *testing.T) {
	s := openStores(t, columnstore.Options{Now: clock})
	for i := range 50 {
		p, err := pprof.ParseData(sampleOf(base.Add(time.Duration(i)*time.Second), "f", int64(i+1)))
		if err != nil {
			t.Fatal(err)
		}
		p.DurationNanos = 0
		var encoded bytes.Buffer
		if err := p.Write(&encoded); err != nil {
			t.Fatal(err)
		}
		s.insert(t, encoded.Bytes(), "__name__", "p")
	}
	for name, q := range map[string]query.Querier{"FrostDB": s.want, "native": s.native} {
		lines, err := q.QueryRange(context.Background(), "p:cpu:nanoseconds:cpu:nanoseconds{}", farFrom, farTo, time.Minute, 0, nil)
		if err != nil || len(lines) != 1 || len(lines[0].Samples) != 1 {
			t.Fatalf("%s: %d lines, error %v", name, len(lines), err)
		}
		got := lines[0].Samples[0]
		if got.Count != 50 {
			t.Errorf("%s counts %d, want 50", name, got.Count)
		}
		if name == "native" && got.Value != 1 {
			t.Errorf("the step has value %d, want that of its earliest profile", got.Value)
		}
	}
}

// TestDifference_OldTimes: a store refuses times before 1980, mostly of another unit, unless its options
// allow them. FrostDB takes any.
func TestDifference_OldTimes(t *testing.T) {
	s := openStores(t, columnstore.Options{Now: clock})
	_, err := s.write.WriteRaw(context.Background(), &profilestorepb.WriteRawRequest{Series: []*profilestorepb.RawProfileSeries{
		series(sampleOf(time.Unix(1000, 0), "f", 1), "__name__", "p"),
	}})
	if err == nil || !strings.Contains(err.Error(), "store 1") || strings.Contains(err.Error(), "store 0") {
		t.Errorf("error %v, want one of Granary alone", err)
	}
}

// TestDifference_Step: without a step, a range of profiles with a duration has a point for each time. FrostDB
// divides by a step of 0 and answers with a point in 1970.
func TestDifference_Step(t *testing.T) {
	s := openStores(t, columnstore.Options{Now: clock})
	for i := range int64(3) {
		s.insert(t, sampleOf(base.Add(time.Duration(i)*time.Second), "f", i+1), "__name__", "p")
	}
	const q = "p:cpu:nanoseconds:cpu:nanoseconds:delta{}"
	native, err := s.native.QueryRange(context.Background(), q, farFrom, farTo, 0, 0, nil)
	if err != nil || len(native) != 1 || len(native[0].Samples) != 3 {
		t.Fatalf("%v, error %v; want one line of three points", native, err)
	}
	for i, p := range native[0].Samples {
		if at := base.Add(time.Duration(i) * time.Second); !p.Timestamp.AsTime().Equal(at) || p.Value != int64(i+1) || p.ValuePerSecond != float64(i+1)/1e9 {
			t.Errorf("point %d is %v", i, p)
		}
	}
	frost, err := s.want.QueryRange(context.Background(), q, farFrom, farTo, 0, 0, nil)
	if err != nil || len(frost) != 1 || len(frost[0].Samples) != 1 || frost[0].Samples[0].Timestamp.AsTime().Unix() != 0 {
		t.Errorf("FrostDB: %v, error %v; it was one point in 1970", frost, err)
	}
}
