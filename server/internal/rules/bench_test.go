package rules

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// fleet is 40 services of 10 pods, each of which sends 100 rows of CPU time a second: 40,000 rows/s. A service has 4,000 stacks of 5 to 30
// functions out of 1,500; a few of them are in most profiles, as in programs.
type fleet struct {
	db       *profile.DB
	profiles [2][][][]byte // of the heap and of CPU time, by service; encoded, because garbage collections would visit others
	random   *rand.Rand
}

const fleetServices, fleetPods, fleetProfiles, fleetStacks, fleetFunctions = 40, 10, 150, 4000, 1500

func newFleet(b *testing.B) *fleet {
	b.Helper()
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1, PastLimit: -1, Manual: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		b.Fatal(err)
	}
	f := &fleet{db: db, random: rand.New(rand.NewPCG(1, 2))}
	for service := range fleetServices {
		stacks := make([][]int, fleetStacks)
		for i := range stacks {
			stacks[i] = make([]int, 5+f.random.IntN(26))
			for k := range stacks[i] {
				stacks[i][k] = f.random.IntN(fleetFunctions)
			}
		}
		for kind, t := range []*pprof.ValueType{{Type: "inuse_space", Unit: "bytes"}, {Type: "cpu", Unit: "nanoseconds"}} {
			var own [][]byte
			for range fleetProfiles {
				var data bytes.Buffer
				if err := f.profile(service, t, stacks).WriteUncompressed(&data); err != nil {
					b.Fatal(err)
				}
				own = append(own, data.Bytes())
			}
			f.profiles[kind] = append(f.profiles[kind], own)
		}
	}
	return f
}

// profile returns a profile of 100 samples of distinct stacks.
func (f *fleet) profile(service int, t *pprof.ValueType, stacks [][]int) *pprof.Profile {
	p := &pprof.Profile{DurationNanos: 1e9, Period: 1, PeriodType: t, SampleType: []*pprof.ValueType{t}}
	locations, used := map[int]*pprof.Location{}, map[int]bool{}
	for len(p.Sample) < 100 {
		at := int(float64(len(stacks)) * math.Pow(f.random.Float64(), 3))
		if used[at] {
			continue
		}
		used[at] = true
		s := &pprof.Sample{Value: []int64{10_000_000 * (1 + f.random.Int64N(3))}}
		for _, n := range stacks[at] {
			l := locations[n]
			if l == nil {
				fn := &pprof.Function{ID: uint64(n + 1), Name: fmt.Sprintf("example.com/service%d/package%d.(*Type).method%d", service, n%40, n)}
				l = &pprof.Location{ID: fn.ID, Address: fn.ID, Line: []pprof.Line{{Function: fn, Line: int64(n)}}}
				locations[n] = l
				p.Function, p.Location = append(p.Function, fn), append(p.Location, l)
			}
			s.Location = append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// insert inserts a minute of profiles: of the heap in its first second, and then of CPU time.
func (f *fleet) insert(b *testing.B, from time.Time) {
	b.Helper()
	for second := range 60 {
		for service := range fleetServices {
			for pod := range fleetPods {
				data := f.profiles[min(second, 1)][service][f.random.IntN(fleetProfiles)]
				labels := map[string]string{"service_name": fmt.Sprintf("service%d", service), "pod": fmt.Sprintf("service%d-%d", service, pod), "region": "eu"}
				if _, err := f.db.InsertEncoded(b.Context(), data, profile.InsertOptions{Labels: labels, Time: from.Add(time.Duration(second) * time.Second)}); err != nil {
					b.Fatal(err)
				}
			}
		}
		if err := f.db.Store().Maintain(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// hundred are 100 rules: totals and functions of each service by pod, functions and totals over all services, heaps.
func hundred() string {
	var text strings.Builder
	text.WriteString("rules:\n")
	add := func(format string, args ...any) { fmt.Fprintf(&text, "- "+format+"\n", args...) }
	for i := range 40 {
		add(`{name: total%d_total, type: cpu, selector: '{service_name="service%d"}', by: [pod]}`, i, i)
		add(`{name: function%d_total, type: cpu, selector: '{service_name="service%d"}', by: [pod], function: 'package%d\.'}`, i, i, i)
	}
	for i := range 10 {
		add(`{name: everywhere%d_total, type: cpu, by: [service_name], function: 'method%d$'}`, i, i)
	}
	for i := range 5 {
		add(`{name: all%d_total, type: cpu, by: [service_name]}`, i)
		add(`{name: heap%d, type: inuse_space, selector: '{service_name="service%d"}', by: [pod]}`, i, i)
	}
	return text.String()
}

// cpuTime returns the CPU time of the process so far.
func cpuTime() time.Duration {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use)
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// BenchmarkStep reads a minute of 40,000 rows/s by 100 rules. cpu-% is the share of one processor in the cheapest of all
// minutes, because other work on a machine makes the same step dearer.
func BenchmarkStep(b *testing.B) {
	f := newFleet(b)
	s := newTestSet(b, hundred(), Limits{Series: 1000, Values: 1 << 20, Keep: 24 * time.Hour, QueryBytes: 256 << 20}, begin)
	now := begin
	used := time.Duration(math.MaxInt64)
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		f.insert(b, now)
		now = now.Add(time.Minute)
		b.StartTimer()
		err := f.db.Store().View(b.Context(), func(snap *columnstore.Snapshot) error {
			runtime.GC() // of what the inserts left
			start := cpuTime()
			err := s.Step(b.Context(), f.db, snap, now)
			used = min(used, cpuTime()-start)
			return err
		})
		if st := s.Status(); err != nil || st.Read == 0 || st.Rules[0].Error != "" || st.Rules[0].Series == 0 {
			b.Fatal(err, st.Rules[0])
		}
	}
	b.ReportMetric(100*used.Seconds()/60, "cpu-%")
}
