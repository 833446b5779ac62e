package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow/array"
	"go.uber.org/goleak"

	"github.com/granarydb/granary/profile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, set string, n int) *source {
	t.Helper()
	s, err := newSource(set, n)
	if errors.Is(err, errNotRecorded) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each label has the share of sets and the number of values that the benchmark's description has.
func TestLabelSets(t *testing.T) {
	sets := makeLabelSets()
	for k, l := range labels {
		values, with := map[string]bool{}, 0
		for _, set := range sets {
			if text := set.text(k); text != "" {
				values[text] = true
				with++
			}
		}
		if len(values) != l.values || with != int(l.fill*labelSets) {
			t.Errorf("%s: %d values in %d of %d sets, want %d in a share of %g", l.name, len(values), with, len(sets), l.values, l.fill)
		}
	}
	if sets[0].text(2) == sets[len(sets)-1].text(2) {
		t.Error("the sets are in no order")
	}
}

// Times ascend by one step, stacks have the sizes of the benchmark, and the same rows come again.
func TestSource_Random(t *testing.T) {
	const n = 5000
	s := open(t, "random", n)
	var times []int64
	locations := 0
	err := s.each(func(r *rows) error {
		times = append(times, r.times...)
		for i, stack := range r.stacks {
			if len(stack) < 5 || len(stack) > 49 || r.values[i] != 1 {
				t.Errorf("a stack of %d locations with the value %d", len(stack), r.values[i])
			}
			locations += len(stack)
			for _, at := range stack {
				if lines := len(r.flat.LinesOf(at)); lines < 1 || lines > 4 {
					t.Errorf("a location of %d lines", lines)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range times {
		if at != int64(i)*leastSpan/n {
			t.Fatalf("row %d is at %d", i, at)
		}
	}
	if mean := float64(locations) / n; len(times) != n || mean < 26 || mean > 28 {
		t.Errorf("%d rows of %g locations", len(times), mean)
	}
	first, err := oracle(s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := oracle(open(t, "random", n))
	if err != nil || !maps.Equal(first, again) {
		t.Errorf("%v and then %v, %v", first, again, err)
	}
}

// The share of rows that a question selects does not depend on their number.
func TestOracle_Shares(t *testing.T) {
	answers, err := oracle(open(t, "random", 2000))
	if err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string]string{"Q0": "rows=201 ", "Q1": "rows=1001 ", "Q2": "rows=2 ", "Q4": "251:", "Q7": "423:", "Q8": "5:", "Q9": "1:"} {
		if !strings.HasPrefix(answers[question], want) {
			t.Errorf("%s: %s, want %s", question, answers[question], want)
		}
	}
	if answers["Q2"] != answers["Q3"] || answers["Q0"] == answers["Q1"] {
		t.Errorf("%v", answers)
	}
}

// This store, in memory and opened from its files, and Arrow by hand answer as the oracle does.
func TestGranary_AsOracle(t *testing.T) {
	for _, set := range dataSets {
		t.Run(set, func(t *testing.T) {
			s := open(t, set, 3000)
			want, err := measureOracle(s)
			if err != nil {
				t.Fatal(err)
			}
			of := setReport{Set: set, Engines: []*result{want}}
			for _, durable := range []bool{false, true} {
				r, err := measureGranary(s, 1, durable)
				if err != nil {
					t.Fatal(err)
				}
				of.Engines = append(of.Engines, r)
			}
			byHand, err := measureHand(s, 1)
			if err != nil {
				t.Fatal(err)
			}
			of.Engines = append(of.Engines, byHand)
			checkAll(t, &of)
		})
	}
}

// Rows with the ids of locations are as many as whole ones, with the same times and as many locations.
func TestGranary_IDs(t *testing.T) {
	s := open(t, "random", 2000)
	g, err := openGranary("")
	if err != nil {
		t.Fatal(err)
	}
	defer g.store.Close()
	if err := s.each((&inserter{g: g}).insert); err != nil {
		t.Fatal(err)
	}
	var want, got rowsDigest
	for _, of := range []struct {
		ids    bool
		digest *rowsDigest
	}{{false, &want}, {true, &got}} {
		g.ids = of.ids
		found, err := g.ask(&questions[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range found {
			times := rec.Column(rec.Schema().FieldIndices(profile.ColumnTimestamp)[0]).(*array.Int64)
			column := "locations"
			if of.ids {
				column = profile.ColumnStacktrace
			}
			stacks := rec.Column(rec.Schema().FieldIndices(column)[0]).(*array.Dictionary)
			for i := range int(rec.NumRows()) {
				from, to := stacks.Dictionary().(*array.List).ValueOffsets(stacks.GetValueIndex(i))
				of.digest.row(times.Value(i), 1, 1, "")
				of.digest.links += uint64(times.Value(i) * (to - from))
			}
		}
		release(found)
	}
	if got.String() != want.String() || want.rows != 1001 {
		t.Errorf("%s, want %s", &got, &want)
	}
}

// checkAll checks that all engines have all answers, and that these agree.
func checkAll(t *testing.T, of *setReport) {
	t.Helper()
	for _, r := range of.Engines {
		for _, q := range questions {
			if a := r.Answers[q.name]; r.Skipped != "" || a == nil || a.Error != "" || a.Digest == "" {
				t.Errorf("%s, %s: %s%+v", r.Engine, q.name, r.Skipped, a)
			}
		}
	}
	if err := of.check(); err != nil {
		t.Error(err)
	}
}

// The engines of Python answer as the oracle does. They are installed where the variable names a folder.
func TestPeers_AsOracle(t *testing.T) {
	folder := os.Getenv("GRANARY_POLARSIGNALS_PYTHON")
	if folder == "" {
		t.Skip("GRANARY_POLARSIGNALS_PYTHON does not name a folder for the Python packages")
	}
	for _, set := range dataSets {
		t.Run(set, func(t *testing.T) {
			s := open(t, set, 2000)
			p := &peers{folder: folder, dir: t.TempDir()}
			want, err := measureOracle(s)
			if err != nil {
				t.Fatal(err)
			}
			of := setReport{Set: set, Engines: []*result{want}}
			for _, e := range engines {
				if !e.python {
					continue
				}
				r, err := p.measure(context.Background(), s, p.dir+"/rows.parquet", e.name, 1)
				if err != nil {
					t.Fatalf("%s: %v", e.name, err)
				}
				of.Engines = append(of.Engines, r)
			}
			checkAll(t, &of)
		})
	}
}

// A single row with another value, or a location at another row, is another digest.
func TestRowsDigest_Differs(t *testing.T) {
	digest := func(times [2]int64, number int64, file string) string {
		var d rowsDigest
		for i, time := range times {
			d.row(time, 1, period, "")
			d.location(time, uint64(10+i))
			d.line(uint64(10+i), number, 5, 1, 2, len(file))
			d.text(textFile, file, 1)
		}
		return d.String()
	}
	all := []string{digest([2]int64{1, 2}, 3, "a"), digest([2]int64{2, 1}, 3, "a"), digest([2]int64{1, 2}, 4, "a"), digest([2]int64{1, 2}, 3, "b")}
	if slices.Sort(all); len(slices.Compact(all)) != 4 {
		t.Errorf("equal digests: %v", all)
	}
}

// Answers that differ are an error with the engines' names.
func TestReport_Check(t *testing.T) {
	r := report{Sets: []setReport{{Set: "random", Engines: []*result{
		{Engine: "a", Answers: map[string]*answer{"Q0": {Digest: "x"}}}, {Engine: "b", Answers: map[string]*answer{"Q0": {Digest: "y"}}},
	}}}}
	if err := r.check(); err == nil || !strings.Contains(err.Error(), "map[a:x b:y]") {
		t.Error(err)
	}
}

func TestChosen(t *testing.T) {
	if _, err := chosen("oracle,none", engineNames()); !errors.Is(err, errUsage) {
		t.Error(err)
	}
	if names, err := chosen("granary", engineNames()); err != nil || !slices.Equal(names, []string{"granary"}) {
		t.Error(names, err)
	}
}
