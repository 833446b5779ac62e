package rules

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// begin is the start of an interval.
var begin = time.Date(2026, 11, 3, 9, 30, 0, 0, time.UTC)

// testProfile returns a profile of CPU time and one of the heap: functions f0 to f4 below main.
func testProfile(at time.Time, random *rand.Rand) []*pprof.Profile {
	types := [][]*pprof.ValueType{{{Type: "cpu", Unit: "nanoseconds"}}, {{Type: "inuse_space", Unit: "bytes"}}}
	var all []*pprof.Profile
	for _, t := range types {
		p := &pprof.Profile{TimeNanos: at.UnixNano(), DurationNanos: 1e9, Period: 1, PeriodType: t[0], SampleType: t}
		main := &pprof.Function{ID: 10, Name: "main"}
		root := &pprof.Location{ID: 10, Line: []pprof.Line{{Function: main}}}
		p.Function, p.Location = append(p.Function, main), append(p.Location, root)
		for i := range 5 {
			f := &pprof.Function{ID: uint64(i + 1), Name: fmt.Sprintf("f%d", i)}
			l := &pprof.Location{ID: f.ID, Line: []pprof.Line{{Function: f}}}
			p.Function, p.Location = append(p.Function, f), append(p.Location, l)
			if random.IntN(3) > 0 {
				p.Sample = append(p.Sample, &pprof.Sample{Location: []*pprof.Location{l, root}, Value: []int64{1 + random.Int64N(1e9)}, Label: map[string][]string{"route": {fmt.Sprintf("/%d", random.IntN(2))}}})
			}
		}
		all = append(all, p)
	}
	return all
}

type bench struct {
	db     *profile.DB
	random *rand.Rand
}

func newBench(t testing.TB, seed uint64) *bench {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{Manual: true, FutureLimit: -1, PastLimit: -1, GranuleRows: 64, FreshParts: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	db, err := profile.Open(store, profile.Options{Bucket: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{db, rand.New(rand.NewPCG(seed, 1))}
}

func (b *bench) insert(t testing.TB, at time.Time) {
	t.Helper()
	labels := map[string]string{"pod": fmt.Sprintf("p%d", b.random.IntN(3)), "job": fmt.Sprintf("j%d", b.random.IntN(2))}
	for _, p := range testProfile(at, b.random) {
		if _, err := b.db.Insert(t.Context(), p, profile.InsertOptions{Labels: labels}); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *bench) step(t testing.TB, s *Set, now time.Time) {
	t.Helper()
	err := b.db.Store().View(t.Context(), func(snap *columnstore.Snapshot) error { return s.Step(t.Context(), b.db, snap, now) })
	if err != nil {
		t.Fatal(err)
	}
}

const testRules = `
rules:
- {name: all_total, type: cpu}
- {name: pods_total, type: cpu, by: [pod]}
- {name: job_total, type: cpu, selector: '{job="j1"}', by: [pod, route]}
- {name: f1_total, type: cpu, function: ^f1$, by: [job]}
- {name: route_total, type: 'cpu:nanoseconds', selector: '{route=~"/1",pod!="p0"}', function: 'f[23]'}
- {name: none_total, type: cpu, selector: '{job="none"}'}
- {name: other_total, type: alloc_space}
- {name: heap, type: inuse_space, by: [pod]}
- {name: heap_f, type: inuse_space, function: f4}
`

func newTestSet(t testing.TB, text string, l Limits, now time.Time) *Set {
	t.Helper()
	list, err := Parse([]byte(text), 100)
	if err != nil {
		t.Fatal(err)
	}
	return NewSet(list, l, now, nil)
}

var roomy = Limits{Series: 100, Values: 1 << 20, Keep: 24 * time.Hour, QueryBytes: 1 << 30}

// textOf returns samples as text.
func textOf(s *Set) (lines map[string]float64) {
	lines = map[string]float64{}
	for _, one := range s.Samples() {
		lines[fmt.Sprint(one.Name, one.Labels)] = one.Value
	}
	return lines
}

// whole returns what textOf is to be: sums of a whole query over the intervals from `from` up to `to`, and gauges of the last one.
func (b *bench) whole(t testing.TB, s *Set, from, to time.Time) map[string]float64 {
	t.Helper()
	want := map[string]float64{}
	err := b.db.Store().View(t.Context(), func(snap *columnstore.Snapshot) error {
		for _, r := range s.rules {
			q := profile.Query{From: from.UnixNano(), To: to.UnixNano(), Selector: r.sum.Selector, Function: r.sum.Function}
			if r.isGauge {
				q.From = to.Add(-s.Interval()).UnixNano()
			}
			typ, err := b.db.FindType(t.Context(), snap, r.Type)
			if err != nil {
				continue // alloc_space
			}
			lines, err := b.db.Totals(t.Context(), snap, typ, q, r.By...)
			if err != nil {
				return err
			}
			for _, l := range lines {
				value := float64(l.Value)
				if typ.SampleUnit == "nanoseconds" {
					value = float64(l.Value) / 1e9
				}
				want[fmt.Sprint(r.Name, l.Labels)] = value
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return want
}

func equalValues(t *testing.T, what string, got, want map[string]float64) {
	t.Helper()
	for key, value := range want {
		if math.Abs(got[key]-value) > 1e-9 { // of an addition of two values
			t.Fatalf("%s: %s is %v, want %v", what, key, got[key], value)
		}
	}
	for key := range got {
		if _, has := want[key]; !has {
			t.Fatalf("%s: %s is %v, want none", what, key, got[key])
		}
	}
}

// TestSet inserts profiles at random times, late ones too, compacts, and compares each step with a whole query (R1, R2, R3).
func TestSet(t *testing.T) {
	for seed := range uint64(20) {
		b, random := newBench(t, seed), rand.New(rand.NewPCG(seed, 2))
		b.insert(t, begin.Add(-time.Hour)) // before the rules
		s := newTestSet(t, testRules, roomy, begin.Add(time.Second))
		now := begin
		for range 12 {
			now = now.Add(time.Minute)
			for range random.IntN(6) {
				switch random.IntN(4) {
				case 0: // late, perhaps before the beginning
					b.insert(t, begin.Add(-2*time.Minute+time.Duration(random.Int64N(int64(now.Sub(begin))+int64(2*time.Minute)))))
				case 1: // of the present interval, which has not ended
					b.insert(t, now.Add(time.Duration(random.Int64N(int64(10*time.Second)))))
				default:
					b.insert(t, now.Add(-time.Duration(random.Int64N(int64(time.Minute)))))
				}
			}
			if random.IntN(3) == 0 {
				if err := b.db.Store().Compact(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if random.IntN(5) == 0 {
				continue // a step is left out
			}
			b.step(t, s, now.Add(10*time.Second))
			equalValues(t, fmt.Sprintf("seed %d at %s", seed, now), textOf(s), b.whole(t, s, begin, now))
		}
		b.step(t, s, now.Add(11*time.Second))
		read := s.read
		b.step(t, s, now.Add(12*time.Second))
		b.step(t, s, now.Add(70*time.Second))
		if s.read > read+1 { // the interval that has ended meanwhile
			t.Errorf("seed %d: without new rows %d intervals were read", seed, s.read-read)
		}
	}
}

// TestSet_Deleted: a counter does not fall with its rows, and later rows count (R1).
func TestSet_Deleted(t *testing.T) {
	b := newBench(t, 1)
	s := newTestSet(t, "rules: [{name: x_total, type: cpu}]", roomy, begin)
	b.insert(t, begin.Add(time.Second))
	b.step(t, s, begin.Add(70*time.Second))
	before := textOf(s)
	if len(before) != 1 {
		t.Fatalf("%v", before)
	}
	if _, err := b.db.Delete(t.Context(), profile.Query{}); err != nil {
		t.Fatal(err)
	}
	b.step(t, s, begin.Add(80*time.Second))
	equalValues(t, "after a deletion", textOf(s), before)
	b.insert(t, begin.Add(65*time.Second))
	b.step(t, s, begin.Add(130*time.Second))
	later := b.whole(t, s, begin.Add(time.Minute), begin.Add(2*time.Minute))
	for key := range later {
		later[key] += before[key]
	}
	equalValues(t, "and then", textOf(s), later)
}

// TestSet_Limits: too many series are an error that ends with them, and old values go (R3, R4, R5).
func TestSet_Limits(t *testing.T) {
	b := newBench(t, 3)
	few := roomy
	few.Series = 2
	s := newTestSet(t, "rules:\n- {name: pods_total, type: cpu, by: [pod]}\n- {name: all_total, type: cpu}\n", few, begin)
	for range 20 {
		b.insert(t, begin.Add(time.Second))
	}
	b.step(t, s, begin.Add(70*time.Second))
	status := s.Status()
	if !strings.Contains(status.Rules[1].Error, "more than 2 series") || status.Rules[0].Error != "" || len(textOf(s)) != 1 {
		t.Errorf("%+v %v", status, textOf(s))
	}
	s.limits.Series = 3
	b.step(t, s, begin.Add(80*time.Second))
	equalValues(t, "with room", textOf(s), b.whole(t, s, begin, begin.Add(time.Minute)))

	s = newTestSet(t, "rules: [{name: pods_total, type: cpu, by: [pod]}]", Limits{Series: 10, Values: 5, Keep: 10 * time.Minute, QueryBytes: 1 << 30}, begin)
	now := begin
	for range 15 {
		now = now.Add(time.Minute)
		for range 9 {
			b.insert(t, now.Add(-time.Second))
		}
		b.step(t, s, now)
		s.forget(now.UnixNano())
		if s.kept > 5 {
			t.Fatalf("%d values are kept", s.kept)
		}
	}
	before := textOf(s)
	b.insert(t, begin.Add(2*time.Second)) // ten minutes too late
	b.step(t, s, now.Add(time.Second))
	equalValues(t, "after a late profile", textOf(s), before)
	if s.Status().TooLate == 0 {
		t.Errorf("%+v", s.Status())
	}
}

// TestSet_Memory: a query without memory is the error of its rules, and not the end of the others.
func TestSet_Memory(t *testing.T) {
	b := newBench(t, 4)
	s := newTestSet(t, testRules, Limits{Series: 100, Values: 1000, Keep: time.Hour, QueryBytes: 3000}, begin)
	for range 50 {
		b.insert(t, begin.Add(time.Second))
	}
	b.step(t, s, begin.Add(70*time.Second))
	if st := s.Status(); st.Rules[0].Error == "" {
		t.Errorf("%+v", st)
	}
	s.limits.QueryBytes = 1 << 30
	b.step(t, s, begin.Add(71*time.Second))
	equalValues(t, "with memory", textOf(s), b.whole(t, s, begin, begin.Add(time.Minute)))
}

// TestNewSet_Before: equal rules go on with their values, and others begin.
func TestNewSet_Before(t *testing.T) {
	b := newBench(t, 5)
	s := newTestSet(t, "rules: [{name: a_total, type: cpu}]", roomy, begin)
	b.insert(t, begin.Add(time.Second))
	b.step(t, s, begin.Add(70*time.Second))
	list, err := Parse([]byte("rules: [{name: a_total, type: cpu, help: of all}, {name: b_total, type: cpu}]"), 10)
	if err != nil {
		t.Fatal(err)
	}
	next := NewSet(list, roomy, begin.Add(80*time.Second), s)
	b.insert(t, begin.Add(2*time.Second)) // late
	b.insert(t, begin.Add(85*time.Second))
	b.step(t, next, begin.Add(130*time.Second))
	want := b.whole(t, next, begin, begin.Add(2*time.Minute))
	want["b_total[]"] = b.whole(t, next, begin.Add(time.Minute), begin.Add(2*time.Minute))["b_total[]"]
	equalValues(t, "after a change", textOf(next), want)
}

// TestSamples_Page: the address of a page fits an exemplar, whatever the labels are.
func TestSamples_Page(t *testing.T) {
	b := newBench(t, 6)
	long := strings.Repeat("x", 200)
	s := newTestSet(t, "rules:\n- {name: a_total, type: cpu, by: [pod], function: f}\n- {name: b_total, type: cpu, selector: '{pod!=\""+long+"\"}'}\n", roomy, begin)
	b.insert(t, begin.Add(time.Second))
	b.step(t, s, begin.Add(70*time.Second))
	for _, one := range s.Samples() {
		if len(one.Page) > 124 || !strings.Contains(one.Page, "t=cpu") || !strings.Contains(one.Page, fmt.Sprintf("from=%d&", begin.Unix())) || one.At != begin.Add(time.Minute) || one.Last != one.Value {
			t.Errorf("%+v", one)
		}
		if one.Name == "a_total" && !strings.Contains(one.Page, "pod") {
			t.Errorf("%+v", one)
		}
	}
}
