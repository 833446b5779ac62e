package patch

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// TestCost measures the binary on FrostDB and on Granary, in memory and in files, one after the other: loading by
// WriteRaw, and reports over gRPC, medians of 5 after one that is not counted, and the process's greatest memory. It is
// a measurement, so it must be asked for:
//
//	GRANARY_PARCA_COST=50000 go test ./patch -run TestCost -v -timeout 30m -parca.binary PATH
//
// with the number of rows. The profiles are those of 50 pods with 30,000 stacks of 8 to 40 frames.
func TestCost(t *testing.T) {
	var rows int
	if _, err := fmt.Sscan(os.Getenv("GRANARY_PARCA_COST"), &rows); err != nil || *binary == "" {
		t.Skip("GRANARY_PARCA_COST is not a number of rows, or no -parca.binary: a measurement, not a check")
	}
	for _, c := range []struct {
		name, backend string
		args          []string
	}{
		{"FrostDB", "frostdb", nil},
		{"Granary", "granary", nil},
		{"Granary in files", "granary", []string{"--enable-persistence"}},
		{"FrostDB with its log", "frostdb", []string{"--enable-persistence", "--storage-enable-wal"}},
	} {
		s := start(t, c.backend, t.TempDir(), append(c.args, "--storage-active-memory=4294967296")...)
		wall, cpu := time.Now(), s.processor(t)
		n := s.load(t, rows)
		t.Logf("%-20s load %d rows: %.1f s, %.1f s of processor time", c.name, n, time.Since(wall).Seconds(), (s.processor(t) - cpu).Seconds())
		for _, q := range costs() {
			wall, cpu := s.median(t, q.req)
			t.Logf("%-20s %-28s %6.0f ms, %6.0f ms of processor time", c.name, q.name, ms(wall), ms(cpu))
		}
		s.stop(t)
		t.Logf("%-20s most memory %d MiB", c.name, s.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss>>10)
	}
}

type cost struct {
	name string
	req  *querypb.QueryRequest
}

// costs returns questions of Parca's page: a flame graph, and the labels and binaries beside it.
func costs() (qs []cost) {
	for _, selector := range []string{`{}`, `{job="job-1"}`, `{pod="pod-7"}`} {
		for name, report := range map[string]querypb.QueryRequest_ReportType{
			"flame graph": querypb.QueryRequest_REPORT_TYPE_FLAMEGRAPH_ARROW, "metadata": querypb.QueryRequest_REPORT_TYPE_PROFILE_METADATA,
		} {
			qs = append(qs, cost{name + " of " + selector, &querypb.QueryRequest{
				Mode: querypb.QueryRequest_MODE_MERGE, ReportType: report, GroupBy: &querypb.GroupBy{Fields: []string{"function_name"}},
				Options: &querypb.QueryRequest_Merge{Merge: &querypb.MergeProfile{
					Query: "p:samples:count:cpu:nanoseconds:delta" + selector, Start: timestamppb.New(from), End: timestamppb.New(to),
				}},
			}})
		}
	}
	slices.SortFunc(qs, func(a, b cost) int { return strings.Compare(a.name, b.name) })
	return qs
}

// load writes profiles until the rows are there.
func (s *server) load(t *testing.T, rows int) (n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	p := fleetProfile()
	stacks := make([][]*pprof.Location, 30_000)
	for i := range stacks {
		for depth := 8 + r.IntN(33); depth > 0; depth-- {
			stacks[i] = append(stacks[i], p.Location[r.IntN(1+min(3999, 10<<min(8, depth)))])
		}
	}
	for i := 0; n < rows; i++ {
		p.TimeNanos, p.Sample = base.Add(time.Duration(i)*100*time.Millisecond).UnixNano(), p.Sample[:0]
		first := r.IntN(len(stacks))
		for j := range 200 + r.IntN(600) {
			p.Sample = append(p.Sample, &pprof.Sample{Location: stacks[(first+j*7)%len(stacks)], Value: []int64{1 + r.Int64N(9)}})
		}
		n += len(p.Sample)
		s.write(t, encode(t, p), fmt.Sprint("job-", i%5), "pod", fmt.Sprint("pod-", i%50))
	}
	return n
}

// fleetProfile returns a profile with 4,000 functions and no samples.
func fleetProfile() *pprof.Profile {
	p := &pprof.Profile{
		PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000, DurationNanos: int64(10 * time.Second),
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}},
		Mapping:    []*pprof.Mapping{{ID: 1, Start: 1 << 20, Limit: 1 << 30, File: "/bin/server", BuildID: "b"}},
	}
	for i := range 4000 {
		f := &pprof.Function{
			ID: uint64(i + 1), Name: fmt.Sprintf("example.com/server/part%d.(*Type%d).Method%d", i%40, i%300, i),
			SystemName: fmt.Sprintf("m%d", i), Filename: fmt.Sprintf("part%d/file%d.go", i%40, i%300),
		}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &pprof.Location{
			ID: uint64(i + 1), Mapping: p.Mapping[0], Address: uint64(1<<20 + i*64), Line: []pprof.Line{{Function: f, Line: int64(i % 500)}},
		})
	}
	return p
}

// median returns the medians of 5 answers: time, and processor time of the process.
func (s *server) median(t *testing.T, req *querypb.QueryRequest) (wall, cpu time.Duration) {
	t.Helper()
	var walls, cpus []time.Duration
	for i := range 6 {
		w, c := time.Now(), s.processor(t)
		if _, err := s.asks().Query(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			walls, cpus = append(walls, time.Since(w)), append(cpus, s.processor(t)-c)
		}
	}
	slices.Sort(walls)
	slices.Sort(cpus)
	return walls[2], cpus[2]
}

// processor returns the process's time on processors, in steps of 10 ms.
func (s *server) processor(t *testing.T) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // behind the name
	var user, system int64
	fields := strings.Fields(rest)
	if _, err := fmt.Sscan(fields[11], &user); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(fields[12], &system); err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }
