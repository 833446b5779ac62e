package parca_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	pb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/parca-dev/parca/pkg/query"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/granarydb/granary/columnstore"
)

// TestMergeCost measures merges of Parca's querier on FrostDB and of Querier, in one process over the same
// profiles: medians of 5, after one that is not counted. It is a measurement, so it must be asked for:
//
//	GRANARY_PARCA_COST=1000000 go test -run TestMergeCost -v -timeout 30m
//
// with the number of rows. The profiles are those of 50 pods with 30,000 stacks of 8 to 40 frames.
func TestMergeCost(t *testing.T) {
	var rows int
	if _, err := fmt.Sscan(os.Getenv("GRANARY_PARCA_COST"), &rows); err != nil {
		t.Skip("GRANARY_PARCA_COST is not a number of rows: a measurement, not a check")
	}
	s := openStores(t, columnstore.Options{Now: clock})
	f, n := newFleet(), 0
	start := time.Now()
	for i := 0; n < rows; i++ {
		encoded, samples := f.profile(i)
		s.insert(t, encoded, "__name__", "p", "job", fmt.Sprintf("job-%d", i%5), "pod", fmt.Sprintf("pod-%d", i%50))
		n += samples
	}
	t.Logf("%d rows inserted into both in %v", n, time.Since(start))
	if err := s.frost.EnsureCompaction(); err != nil {
		t.Fatal(err)
	}
	if err := s.store.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.logMerges(t)
	s.logFlameGraph(t)
}

// logMerges measures QueryMerge.
func (s *stores) logMerges(t *testing.T) {
	const typ = "p:samples:count:cpu:nanoseconds:delta"
	for _, selector := range []string{`{}`, `{job="job-1"}`, `{pod="pod-7"}`} {
		ask := func(q query.Querier) {
			p, err := q.QueryMerge(context.Background(), typ+selector, farFrom, farTo, nil, false, "")
			if err != nil {
				t.Fatal(err)
			}
			release(p)
		}
		frostCPU, frostWall := medianOf(func() { ask(s.want) })
		engineCPU, engineWall := medianOf(func() { ask(s.engine) })
		nativeCPU, nativeWall := medianOf(func() { ask(s.native) })
		t.Logf("merge %-16s FrostDB %6.0f ms CPU %6.0f wall; engine on Granary %6.0f %6.0f; Querier %6.1f %6.1f; FrostDB / Querier %.1f CPU %.1f wall",
			selector, ms(frostCPU), ms(frostWall), ms(engineCPU), ms(engineWall), ms(nativeCPU), ms(nativeWall),
			float64(frostCPU)/float64(nativeCPU), float64(frostWall)/float64(nativeWall))
	}
}

// logFlameGraph measures the whole answer to Parca's page: a merge, and Parca's flame graph of it.
func (s *stores) logFlameGraph(t *testing.T) {
	req := &pb.QueryRequest{
		Mode: pb.QueryRequest_MODE_MERGE, ReportType: pb.QueryRequest_REPORT_TYPE_FLAMEGRAPH_ARROW,
		Options: &pb.QueryRequest_Merge{Merge: &pb.MergeProfile{
			Query: "p:samples:count:cpu:nanoseconds:delta{}", Start: timestamppb.New(farFrom), End: timestamppb.New(base.Add(time.Hour)),
		}},
	}
	ask := func(api *query.ColumnQueryAPI) func() {
		return func() {
			if _, err := api.Query(context.Background(), req); err != nil {
				t.Fatal(err)
			}
		}
	}
	frostCPU, frostWall := medianOf(ask(apiOf(s.want)))
	nativeCPU, nativeWall := medianOf(ask(apiOf(s.native)))
	t.Logf("flame graph {}: FrostDB %.0f ms CPU %.0f wall; Querier %.0f %.0f; FrostDB / Querier %.1f CPU %.1f wall",
		ms(frostCPU), ms(frostWall), ms(nativeCPU), ms(nativeWall), float64(frostCPU)/float64(nativeCPU), float64(frostWall)/float64(nativeWall))
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// medianOf returns the medians of 5 calls: processor time of the process, and time.
func medianOf(f func()) (cpu, wall time.Duration) {
	f()
	var cpus, walls []time.Duration
	for range 5 {
		c, w := processorTime(), time.Now()
		f()
		cpus, walls = append(cpus, processorTime()-c), append(walls, time.Since(w))
	}
	slices.Sort(cpus)
	slices.Sort(walls)
	return cpus[2], walls[2]
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// fleet makes profiles of programs that share code.
type fleet struct {
	base   *pprof.Profile
	stacks [][]*pprof.Location
	r      *rand.Rand
}

func newFleet() *fleet {
	f := &fleet{r: rand.New(rand.NewPCG(1, 1)), base: &pprof.Profile{
		PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000,
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}}, DurationNanos: int64(10 * time.Second),
		Mapping: []*pprof.Mapping{{ID: 1, Start: 1 << 20, Limit: 1 << 30, File: "/bin/server", BuildID: "b"}},
	}}
	for i := range 4000 {
		fn := &pprof.Function{ID: uint64(i + 1), Name: fmt.Sprintf("example.com/server/part%d.(*Type%d).Method%d", i%40, i%300, i), SystemName: fmt.Sprintf("m%d", i), Filename: fmt.Sprintf("part%d/file%d.go", i%40, i%300)}
		f.base.Function = append(f.base.Function, fn)
		f.base.Location = append(f.base.Location, &pprof.Location{ID: uint64(i + 1), Mapping: f.base.Mapping[0], Address: uint64(1<<20 + i*64), Line: []pprof.Line{{Function: fn, Line: int64(i % 500)}}})
	}
	for range 30_000 {
		stack := make([]*pprof.Location, 8+f.r.IntN(33))
		for i := range stack {
			stack[i] = f.base.Location[f.r.IntN(1+min(3999, 10<<min(8, len(stack)-i)))]
		}
		f.stacks = append(f.stacks, stack)
	}
	return f
}

// profile returns an encoded profile and the number of its samples, of distinct stacks.
func (f *fleet) profile(i int) ([]byte, int) {
	p := &pprof.Profile{
		PeriodType: f.base.PeriodType, Period: f.base.Period, SampleType: f.base.SampleType, DurationNanos: f.base.DurationNanos,
		Mapping: f.base.Mapping, Function: f.base.Function, Location: f.base.Location,
		TimeNanos: base.Add(time.Duration(i) * 100 * time.Millisecond).UnixNano(),
	}
	first, n := f.r.IntN(len(f.stacks)), 200+f.r.IntN(600)
	for j := range n {
		p.Sample = append(p.Sample, &pprof.Sample{Location: f.stacks[(first+j*7)%len(f.stacks)], Value: []int64{1 + f.r.Int64N(9)}})
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		panic(err)
	}
	return out.Bytes(), n
}
