package server

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/internal/change"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/page"
)

// pages are the parameters of a difference: between an hour from madeAt, and the hour before.
func betweenHours(more ...string) []string {
	hour := func(n int) string { return madeAt.Add(time.Duration(n) * time.Hour).Format(time.RFC3339) }
	return append([]string{"t", "cpu", "from", hour(0), "to", hour(1), "bfrom", hour(-1), "bto", hour(0)}, more...)
}

// TestPage_Rates compares sides whose profiles are of unequally long times.
func TestPage_Rates(t *testing.T) {
	a := newAsker(t, Options{})
	labels := map[string]string{"service_name": "shop", "pod": "a"}
	heap := profile.Type{Sample: "inuse_space", SampleUnit: "bytes", Period: "space", PeriodUnit: "bytes"}
	for i := range 60 {
		at := madeAt.Add(-time.Hour + time.Duration(i)*10*time.Second)
		a.insert(at, cpuType, labels, made{stack: "leaf main", value: 100}, made{stack: "old main", value: 10})
		a.insert(at, heap, labels, made{stack: "leaf main", value: 1000})
	}
	for i := range 6 {
		at := madeAt.Add(time.Duration(i) * 10 * time.Second)
		a.insert(at, cpuType, labels, made{stack: "leaf main", value: 120}, made{stack: "new main", value: 10})
		a.insert(at, heap, labels, made{stack: "leaf main", value: 1500})
	}
	minute := int64(time.Minute)
	if got := a.top(betweenHours()...); got.Total[0] != 6600 || got.Total[1] != 780 || got.Covered != nil || got.Scaled != 0 {
		t.Errorf("totals: %+v", got.Type)
	}
	got := a.top(betweenHours("rate", "1", "spread", "1")...)
	if got.Total[0] != 660 || got.Total[1] != 780 || !slices.Equal(got.Covered, []int64{10 * minute, minute}) || !slices.Equal(got.Profiles, []int{60, 6}) || got.Scaled != 0.1 {
		t.Errorf("rates: %+v", got.Type)
	}
	if want := "The selection costs 18.2 % more CPU, mostly in leaf (+18.2 % of all); 1 function is new, 1 is gone."; got.Says != want || !slices.Equal(got.Parts, []int{16, 6}) {
		t.Errorf("%q, %v, want %q", got.Says, got.Parts, want)
	}
	for _, f := range got.Functions {
		if len(f.P) != 2 || f.P[1] > 1e-6 {
			t.Errorf("%+v: no noise is in it", f)
		}
	}
	if got := a.top(betweenHours("q", `{service_name="shop"}`, "spread", "1", "norm", "1")...); !strings.HasPrefix(got.Says, "Scaled to the same total, ") {
		t.Errorf("scaled: %q", got.Says)
	}
	if got := a.top(betweenHours("q", `{service_name="shop"}`, "spread", "1", "rate", "1")...); !strings.HasPrefix(got.Says, "shop costs ") {
		t.Errorf("of a service: %q", got.Says)
	}
	if got := a.top(betweenHours("t", "inuse_space", "rate", "1", "spread", "1")...); got.Total[0] != 1000 || got.Total[1] != 1500 || got.Scaled != 0 || got.Says != "The selection has 50 % more memory in use, mostly in leaf (+50 % of all)." {
		t.Errorf("gauges: %+v, %q", got.Type, got.Says)
	}
	empty := betweenHours("bfrom", madeAt.Add(-9*time.Hour).Format(time.RFC3339), "bto", madeAt.Add(-8*time.Hour).Format(time.RFC3339), "rate", "1")
	if got := a.top(append(empty, "spread", "1")...); !slices.Equal(got.Covered, []int64{0, minute}) || !strings.HasPrefix(got.Says, "The side before has no profiles") {
		t.Errorf("nothing before: %+v, %q", got.Type, got.Says)
	}
	if got := a.flame(empty...); !slices.Equal(got.Profiles, []int{0, 6}) {
		t.Errorf("nothing before: %+v", got.Type)
	}
	var command page.CommandAnswer
	if a.page("command", &command, betweenHours("rate", "1")...); !strings.Contains(command.Command, "granary diff --scale=10 ") {
		t.Errorf("command %q", command.Command)
	}
	for text, parameters := range map[string][]string{
		"there is no side before":    {"t", "cpu", "spread", "1"},
		"not with a choice by state": betweenHours("spread", "1", "h", "x", "p", "y", "state", "z"),
		"want 1 or 0":                betweenHours("spread", "yes"),
	} {
		if status, got, _ := a.page("top", nil, parameters...); status/100 != 4 || !strings.Contains(got, text) && !strings.Contains(got, "no such history") {
			t.Errorf("%q: status %d: %s", parameters, status, got)
		}
	}
}

// TestPage_SpreadOfFront: a front compares totals, and tells no noise.
func TestPage_SpreadOfFront(t *testing.T) {
	for name, url := range everywhere(t) {
		a := &asker{t: t, url: url}
		sides := []string{"t", cpuID, "from", "2026-01-31T09:01:00Z", "bfrom", "2026-01-31T09:00:00Z", "bto", "2026-01-31T09:01:00Z"}
		status, text, _ := a.page("top", nil, append(sides, "spread", "1")...)
		got := a.top(append(sides, "rate", "1")...)
		if isFront := name == "a front"; isFront != (status == http.StatusNotImplemented) || isFront != (got.Scaled == 0) || isFront && !strings.Contains(text, "without spread") {
			t.Errorf("%s: status %d: %s, %+v", name, status, text, got.Type)
		}
	}
}

// insertDrawn stores an hour of profiles, each drawn anew from the samples of a real one: of a sample with n counts a number
// with the mean n times weight. Load is the spread of a factor of a whole profile.
func (a *asker) insertDrawn(rng *rand.Rand, recorded *pprof.Profile, from time.Time, n int, load float64, weight func(*pprof.Sample) float64) {
	a.t.Helper()
	for i := range n {
		p := recorded.Copy()
		factor := math.Exp(load * rng.NormFloat64())
		p.Sample = slices.DeleteFunc(p.Sample, func(s *pprof.Sample) bool {
			count := poisson(rng, float64(s.Value[0])*factor*weight(s))
			s.Value = []int64{count, count * p.Period}
			return count == 0
		})
		p.TimeNanos = from.Add(time.Duration(i) * time.Hour / time.Duration(n)).UnixNano()
		if _, err := a.db.Insert(a.t.Context(), p, profile.InsertOptions{Labels: map[string]string{"job": "drawn"}}); err != nil {
			a.t.Fatal(err)
		}
	}
}

// poisson draws from a Poisson distribution with a mean of some hundred at most.
func poisson(rng *rand.Rand, mean float64) (n int64) {
	p, u := math.Exp(-mean), rng.Float64()
	for sum := p; u > sum && p > 0; sum += p {
		n++
		p *= mean / float64(n)
	}
	return n
}

// TestPage_Noise measures, of profiles that are drawn from a real one, how many functions of equal sides change beyond noise,
// and how often a function whose cost grew by 5 % does. Decision 0055 has the figures of -v.
func TestPage_Noise(t *testing.T) {
	if !effort.Full {
		t.Skip("GRANARY_FULL asks the hundred questions of which the shares are known")
	}
	recorded, err := pprof.Parse(bytes.NewReader(file(t, "etcd/cpu-3.pb.gz")))
	if err != nil {
		t.Fatal(err)
	}
	const rounds, profiles = 6, 60
	all := func(*pprof.Sample) float64 { return 1 }
	for _, load := range []float64{0, 0.1} {
		a := newAsker(t, Options{})
		rng := rand.New(rand.NewPCG(7, uint64(100*load)))
		for i := range 2 * rounds {
			a.insertDrawn(rng, recorded, madeAt.Add(time.Duration(i)*time.Hour), profiles, load, all)
		}
		wrong, of, changed := 0, 0, 0
		for i := range rounds {
			got := a.drawn(2 * i)
			for _, f := range got.Functions {
				of++
				if f.P[0] < change.Noise || f.P[1] < change.Noise {
					wrong++
				}
			}
			if !strings.HasPrefix(got.Says[strings.Index(got.Says, "noise)"):], "noise), and no function changed beyond ") {
				changed++
			}
		}
		share := float64(wrong) / float64(of)
		t.Logf("load varies by %v: %d of %d functions of equal sides change beyond noise, %.2f %%; %d of %d sentences tell of some", load, wrong, of, 100*share, changed, rounds)
		if share > 2*change.Noise || changed > 1 {
			t.Errorf("%.2f %% of equal functions", 100*share)
		}
	}
	testPlanted(t, recorded, profiles, rounds)
}

// drawn returns the functions of a difference between an hour and the next.
func (a *asker) drawn(hour int) *page.TopAnswer {
	a.t.Helper()
	at := func(n int) string { return madeAt.Add(time.Duration(hour+n) * time.Hour).Format(time.RFC3339) }
	return a.top("t", "cpu", "q", `{job="drawn"}`, "from", at(1), "to", at(2), "bfrom", at(0), "bto", at(1), "spread", "1", "rate", "1", "rows", "5000")
}

// testPlanted makes functions with large and small shares 5 % more costly, and looks for them.
func testPlanted(t *testing.T, recorded *pprof.Profile, profiles, rounds int) {
	counts := map[string]int64{}
	leaf := func(s *pprof.Sample) string { return s.Location[0].Line[0].Function.Name }
	for _, s := range recorded.Sample {
		counts[leaf(s)] += s.Value[0]
	}
	names := slices.SortedFunc(func(yield func(string) bool) {
		for name := range counts {
			if !yield(name) {
				return
			}
		}
	}, func(x, y string) int { return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x, y)) })
	most := names[0]
	rng := rand.New(rand.NewPCG(9, 9))
	for _, scale := range []float64{1, 8} { // one process, eight of them
		a := newAsker(t, Options{})
		for i := range 2 * rounds {
			a.insertDrawn(rng, recorded, madeAt.Add(time.Duration(i)*time.Hour), profiles, 0, func(s *pprof.Sample) float64 {
				if i%2 == 1 && leaf(s) == most {
					return 1.05 * scale
				}
				return scale
			})
		}
		found, named := 0, 0
		for i := range rounds {
			got := a.drawn(2 * i)
			for _, f := range got.Functions {
				if f.Name == most && f.P[0] < change.Noise && f.Flat[1] > f.Flat[0] {
					found++
				}
			}
			if strings.Contains(got.Says, most[strings.LastIndexByte(most, '/')+1:]+" (+") {
				named++
			}
		}
		samples := scale * float64(counts[most]) * float64(profiles)
		t.Logf("%s, %.0f samples a side, grew by 5 %%: found in %d of %d, named in %d", most, samples, found, rounds, named)
		if scale > 1 && found < rounds-1 {
			t.Errorf("5 %% more of %s are found in %d of %d", most, found, rounds)
		}
	}
}
