package check

import (
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/granarydb/granary/internal/effort"
)

// TestRelabel goes over each way to choose runs once, and begins with the real one.
func TestRelabel(t *testing.T) {
	for _, tc := range []struct{ m, n, want int }{{1, 1, 2}, {3, 3, 20}, {5, 2, 21}, {2, 5, 21}, {5, 5, 252}, {6, 6, 924}} {
		seen, first := map[string]bool{}, ""
		relabel(tc.m, tc.n, mostWays, func(chosen []bool) {
			word, n := "", 0
			for _, c := range chosen {
				if c {
					word, n = word+"1", n+1
				} else {
					word += "0"
				}
			}
			if n != tc.n || seen[word] {
				t.Errorf("%d and %d runs: %s is there twice, or has %d chosen runs", tc.m, tc.n, word, n)
			}
			if seen[word] = true; first == "" {
				first = word
			}
		})
		if len(seen) != tc.want || ways(tc.m, tc.n, math.Inf(1)) != float64(tc.want) || first[0] != '0' || first[len(first)-1] != '1' {
			t.Errorf("%d and %d runs: %d ways, %v by their number, want %d; first %s", tc.m, tc.n, len(seen), ways(tc.m, tc.n, math.Inf(1)), tc.want, first)
		}
	}
	n := 0
	relabel(20, 20, mostWays, func([]bool) { n++ })
	if n != mostWays {
		t.Errorf("%d ways of 20 and 20 runs, want a sample of %d", n, mostWays)
	}
}

// TestCanTest: five runs of each side are enough for 1 %, and four for 5 %.
func TestCanTest(t *testing.T) {
	for _, tc := range []struct {
		m, n  int
		alpha float64
		want  bool
	}{{5, 5, 0.01, true}, {4, 4, 0.01, false}, {4, 4, 0.05, true}, {1, 200, 0.01, false}, {3, 8, 0.01, true}, {1000, 1000, 0.01, true}} {
		if got := canTest(tc.m, tc.n, tc.alpha); got != tc.want {
			t.Errorf("%d and %d runs with %v: %v", tc.m, tc.n, tc.alpha, got)
		}
	}
}

// TestEqualSides holds C1: of comparisons of sides that differ by chance alone, at most the share alpha finds a regression, and nearly
// as many, or the test would be blind. Every function counts, and every growth.
func TestEqualSides(t *testing.T) {
	trials := effort.Less(effort.Part(2000, 8), 4)
	random := rand.New(rand.NewPCG(3, 4))
	p := newProgram(40)
	o := Options{By: PerOperation, Alpha: 0.05}
	for _, noise := range []float64{0, 0.05} {
		found := 0
		for range trials {
			report, err := Compare(cpu(p.runs(random, 5, 200, noise), p.runs(random, 5, 200, noise)), o)
			if err != nil {
				t.Fatal(err)
			}
			if report.Types[0].Method != ByRuns {
				t.Fatalf("method %s", report.Types[0].Method)
			}
			if report.IsRegressed {
				found++
			}
		}
		rate, deviation := float64(found)/float64(trials), math.Sqrt(0.05*0.95/float64(trials))
		t.Logf("noise %v: a regression in %d of %d comparisons of equal sides", noise, found, trials)
		if rate > 0.05+3*deviation || rate < 0.01 {
			t.Errorf("noise %v: a rate of %.3f, want at most 0.05", noise, rate)
		}
	}
}

// TestFewEqualSides holds the same for two runs, which differ as samples do: there the numbers of samples decide.
func TestFewEqualSides(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	p, found, trials := newProgram(40), 0, 500
	for range trials {
		report, err := Compare(cpu(p.runs(random, 1, 1000, 0), p.runs(random, 1, 1000, 0)), Options{By: PerOperation, Alpha: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		if report.Types[0].Method != BySamples {
			t.Fatalf("method %s", report.Types[0].Method)
		}
		if report.IsRegressed {
			found++
		}
	}
	t.Logf("a regression in %d of %d comparisons of equal runs", found, trials)
	if found > 40 || found == 0 {
		t.Errorf("a regression in %d of %d comparisons of equal runs", found, trials)
	}
}

// TestPower says how many seconds of CPU time, at Go's 100 samples a second, find a function with half of the cost that costs more.
// Samples scatter as Poisson's distribution says, which is more than those of a timer do.
func TestPower(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	p := newProgram(40)
	trials := effort.Less(effort.Part(200, 4), 2)
	for _, tc := range []struct {
		growth  float64
		seconds int
		least   float64 // share of comparisons
		most    float64
	}{{0.05, 100, 0, 0.3}, {0.05, 1000, 0.9, 1}, {0.10, 100, 0.1, 0.9}, {0.10, 250, 0.8, 1}, {0.20, 30, 0.2, 0.95}, {0.20, 100, 0.95, 1}} {
		const runs = 6
		found, others := 0, 0
		for range trials {
			measure := func(p program) Side { return p.runs(random, runs, 100*tc.seconds/runs, 0.005) }
			report, err := Compare(cpu(measure(p), measure(p.with("f0", 1+tc.growth))), DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range report.Types[0].Functions {
				switch {
				case f.Name == "f0" && f.Verdict == Worse:
					found++
				case f.Name != "main" && f.Verdict == Worse:
					others++
				}
			}
		}
		t.Logf("+%.0f%%, %d s of each side in %d runs: found in %d of %d, another function in %d", 100*tc.growth, tc.seconds, runs, found, trials, others)
		if rate := float64(found) / float64(trials); rate < tc.least || rate > tc.most || others > max(2, trials/20) {
			t.Errorf("+%.0f%%, %d s: found in a share of %.2f, want %.2f to %.2f; another function in %d", 100*tc.growth, tc.seconds, rate, tc.least, tc.most, others)
		}
	}
}

// TestExact finds a growth of a function with exact values, whatever samples scatter beside it, and leaves out what cannot matter.
func TestExact(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	side := func(parse float64) Side {
		var s Side
		for i := range 5 {
			functions := map[string]Cost{"parse": {parse, parse}, "rest": {9000, 9000}, "odd": {0, 0}}
			if i == 2 && parse > 1000 {
				functions["odd"] = Cost{60, 60}
			}
			s.Runs = append(s.Runs, Run{Total: 9000 + parse, Operations: 1, Functions: functions})
		}
		return s
	}
	p := newProgram(40)
	measured := append(cpu(p.runs(random, 5, 200, 0.02), p.runs(random, 5, 200, 0.02)),
		Measured{Sample: "alloc_space", Unit: "bytes", Sides: [2]Side{side(1000), side(1050)}})
	report, err := Compare(measured, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Types[1].Functions; len(got) != 1 || got[0].Name != "parse" || got[0].Verdict != Worse || math.Abs(got[0].Self.Growth-0.05) > 1e-9 {
		t.Errorf("functions %+v", got)
	}
	if report.Types[0].IsWorse() {
		t.Errorf("cpu is worse: %+v", report.Types[0].Functions)
	}
}

// TestManyRuns compares a thousand runs of many functions in seconds.
func TestManyRuns(t *testing.T) {
	effort.Long(t)
	side := func(cost float64) (s Side) {
		for range MaxRuns {
			r := Run{Operations: 1, Functions: map[string]Cost{}}
			for i := range 150 {
				r.Functions[strconv.Itoa(i)] = leaf(cost)
				r.Total += cost
			}
			s.Runs = append(s.Runs, r)
		}
		return s
	}
	report, err := Compare([]Measured{{Sample: "alloc_space", Sides: [2]Side{side(100), side(105)}}}, DefaultOptions())
	if err != nil || !report.IsRegressed || len(report.Types[0].Functions) != 150 || *report.Types[0].Total.P > 1.0/leastWays {
		t.Errorf("%v: %+v", err, report.Types[0].Total)
	}
	if _, err := Compare([]Measured{{Sides: [2]Side{{Runs: make([]Run, MaxRuns+1)}, side(1)}}}, DefaultOptions()); !errors.Is(err, ErrRuns) {
		t.Errorf("too many runs: %v", err)
	}
	if _, err := Compare([]Measured{{Sides: [2]Side{{}, side(1)}}}, DefaultOptions()); !errors.Is(err, ErrRuns) {
		t.Errorf("no runs: %v", err)
	}
}
