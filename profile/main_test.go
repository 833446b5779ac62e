package profile

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"go.uber.org/goleak"

	"github.com/granarydb/granary/columnstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is the time of the first profile of a test. It is not a multiple of a bucket width.
const start = 1_700_000_123_456_789_000

// fataler is *testing.T, *testing.F or *rapid.T.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// openDB opens a store that runs maintenance only on request. The caller closes it, since a
// rapid check opens a store in each run.
func openDB(t fataler, opts Options) *DB {
	t.Helper()
	return openDBIn(t, columnstore.Options{Manual: true, FutureLimit: -1, PastLimit: -1, GranuleRows: 16, FreshParts: 2}, opts)
}

// openDBIn opens a store with its options. The caller closes it.
func openDBIn(t fataler, of columnstore.Options, opts Options) *DB {
	t.Helper()
	store, err := columnstore.Open(of)
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(store, opts)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// testDB is openDB for a test, at whose end the store is closed.
func testDB(t testing.TB, opts Options) *DB {
	t.Helper()
	db := openDB(t, opts)
	t.Cleanup(func() { _ = db.store.Close() })
	return db
}

// view returns a snapshot that is closed at the test's end.
func view(t testing.TB, db *DB) *columnstore.Snapshot {
	t.Helper()
	snap, err := db.store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(snap.Close)
	return snap
}

func insert(t fataler, db *DB, p *pprof.Profile, labels ...string) int {
	t.Helper()
	opts := InsertOptions{Labels: map[string]string{}}
	for i := 0; i < len(labels); i += 2 {
		opts.Labels[labels[i]] = labels[i+1]
	}
	if at := p.TimeNanos; at < leastTime { // accepted by option only
		opts.Time, p.TimeNanos = time.Unix(0, at), 0
		defer func() { p.TimeNanos = at }()
	}
	rows, err := db.Insert(context.Background(), p, opts)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// stack is one sample of a hand-made profile: functions, leaf first, and values. A function is
// inlined into the next one if that has a "+".
type stack struct {
	frames string // "inlined +caller root"
	values []int64
	labels map[string][]string
	nums   map[string][]int64
	units  map[string][]string
}

// makeProfile returns a profile with the given types, separated by spaces, such as
// "cpu:nanoseconds". The functions "?" and "??" have no name.
func makeProfile(at int64, types string, stacks ...stack) *pprof.Profile {
	p := &pprof.Profile{TimeNanos: at, DurationNanos: int64(10 * time.Second), Period: 10, PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}}
	for t := range strings.FieldsSeq(types) {
		name, unit, _ := strings.Cut(t, ":")
		p.SampleType = append(p.SampleType, &pprof.ValueType{Type: name, Unit: unit})
	}
	m := &pprof.Mapping{ID: 1, File: "/usr/bin/app", Start: 0x1000, Limit: 0x9000}
	p.Mapping = append(p.Mapping, m)
	functions := map[string]*pprof.Function{}
	locations := map[string]*pprof.Location{}
	for _, s := range stacks {
		sample := &pprof.Sample{Value: s.values, Label: s.labels, NumLabel: s.nums, NumUnit: s.units}
		for group := range strings.FieldsSeq(strings.ReplaceAll(s.frames, " +", "+")) {
			group = strings.TrimPrefix(group, "+")
			l := locations[group]
			if l == nil {
				l = &pprof.Location{ID: uint64(len(p.Location) + 1), Mapping: m, Address: m.Start + uint64(len(p.Location))}
				for i, name := range strings.Split(group, "+") {
					f := functions[name]
					if f == nil {
						f = &pprof.Function{ID: uint64(len(p.Function) + 1), Name: strings.Trim(name, "?"), Filename: name + ".go"}
						functions[name] = f
						p.Function = append(p.Function, f)
					}
					l.Line = append(l.Line, pprof.Line{Function: f, Line: int64(i + 1)})
				}
				locations[group] = l
				p.Location = append(p.Location, l)
			}
			sample.Location = append(sample.Location, l)
		}
		p.Sample = append(p.Sample, sample)
	}
	return p
}

// answer is a profile without ids and order, for the comparisons of P1.
type answer struct {
	Types, PeriodType      string
	Period, Time, Duration int64
	Samples                map[string][]int64 // without samples whose values are all zero
}

func answerOf(p *pprof.Profile) answer {
	a := answer{Period: p.Period, Time: p.TimeNanos, Duration: p.DurationNanos, Samples: map[string][]int64{}}
	for _, t := range p.SampleType {
		a.Types += t.Type + ":" + t.Unit + " "
	}
	if p.PeriodType != nil {
		a.PeriodType = p.PeriodType.Type + ":" + p.PeriodType.Unit
	}
	for _, s := range p.Sample {
		key := stackKey(s) + " " + labelKey(s)
		if a.Samples[key] == nil {
			a.Samples[key] = make([]int64, len(s.Value))
		}
		for i, v := range s.Value {
			a.Samples[key][i] += v
		}
	}
	maps.DeleteFunc(a.Samples, func(_ string, values []int64) bool {
		return !slices.ContainsFunc(values, func(v int64) bool { return v != 0 })
	})
	return a
}

func stackKey(s *pprof.Sample) string {
	var b strings.Builder
	for _, l := range s.Location {
		b.WriteString("\n ")
		if m := l.Mapping; m != nil {
			// The code's offset in the file, which a symboliser looks up.
			fmt.Fprintf(&b, " %s+%x", cmpOr(m.BuildID, m.File), l.Address-m.Start+m.Offset)
		} else {
			fmt.Fprintf(&b, " %x", l.Address)
		}
		fmt.Fprintf(&b, " %t", l.IsFolded)
		for i, ln := range l.Line {
			fmt.Fprintf(&b, " (%s %s %s:%d %d:%d %t)", ln.Function.Name, ln.Function.SystemName, ln.Function.Filename,
				ln.Function.StartLine, ln.Line, ln.Column, i < len(l.Line)-1)
		}
	}
	return b.String()
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func labelKey(s *pprof.Sample) string {
	units := map[string][]string{}
	for name, u := range s.NumUnit {
		if slices.ContainsFunc(u, func(u string) bool { return u != "" }) {
			units[name] = u
		}
	}
	return fmt.Sprintf("%q %v %q", s.Label, s.NumLabel, units)
}

// searched returns the stacks with a function whose name matches.
func searched(t fataler, s *Stacks, re *regexp.Regexp) *Stacks {
	t.Helper()
	found, err := s.Search(context.Background(), re)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
