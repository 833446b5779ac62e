package patch

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Times around all profiles.
var from, to = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// TestBinary asks one binary on FrostDB and on Granary the same, over the same profiles: every method and
// every report. Granary's process is then stopped and started, and answers the same from its files.
func TestBinary(t *testing.T) {
	if *binary == "" {
		t.Skip("no -parca.binary: patch.run builds it")
	}
	dir := t.TempDir()
	frost, granary := start(t, "frostdb", t.TempDir()), start(t, "granary", dir, "--enable-persistence")
	pushed := 0
	push := func(encoded []byte) {
		job := fmt.Sprint("job-", pushed%3)
		frost.write(t, encoded, job)
		granary.write(t, encoded, job)
		pushed++
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 30 {
		push(encode(t, randomProfile(r, i)))
	}
	for _, encoded := range realProfiles(t) {
		push(encoded)
	}
	types := typesOf(t, frost)
	want := answers(t, frost, types)
	compare(t, want, answers(t, granary, types))
	granary.stop(t)
	granary = start(t, "granary", dir, "--enable-persistence")
	compare(t, want, answers(t, granary, types))
	t.Logf("%d profiles of %d types: %d answers compared, twice", pushed, len(types), len(want))
}

// TestOneProcessor asks on one processor, as in a container with a processor: FrostDB's engine then fails when it
// merges, and Granary answers.
func TestOneProcessor(t *testing.T) {
	if *binary == "" {
		t.Skip("no -parca.binary: patch.run builds it")
	}
	frost, granary := startOn(t, 1, "frostdb", t.TempDir()), startOn(t, 1, "granary", t.TempDir())
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 5 {
		encoded := encode(t, randomProfile(r, i))
		frost.write(t, encoded, "a")
		granary.write(t, encoded, "a")
	}
	req := requests("p:cpu:nanoseconds:cpu:nanoseconds:delta{}")["REPORT_TYPE_TOP"]
	if lines := answer(t, granary, req); len(lines) < 10 {
		t.Errorf("Granary: %q", lines)
	}
	if lines := answer(t, frost, req); len(lines) != 1 || !strings.Contains(lines[0], "aggregate field(s) not found") {
		t.Errorf("FrostDB answers, it did not: %.500q", lines)
	}
}

func compare(t *testing.T, want, got map[string][]string) {
	t.Helper()
	for name, w := range want {
		if g := got[name]; !slices.Equal(g, w) {
			t.Errorf("%s:\n got %d lines %.600q\nwant %d lines %.600q", name, len(g), diffOf(g, w), len(w), diffOf(w, g))
		}
	}
}

// diffOf returns the lines of one answer that another does not have.
func diffOf(a, b []string) (only []string) {
	for _, line := range a {
		if !slices.Contains(b, line) {
			only = append(only, line)
		}
	}
	return only
}

// typesOf returns the types of profiles, as queries name them.
func typesOf(t *testing.T, s *server) (types []string) {
	t.Helper()
	res, err := s.asks().ProfileTypes(context.Background(), &querypb.ProfileTypesRequest{})
	if err != nil || len(res.Types) == 0 {
		t.Fatalf("types %v, error %v", res, err)
	}
	for _, p := range res.Types {
		name := strings.Join([]string{p.Name, p.SampleType, p.SampleUnit, p.PeriodType, p.PeriodUnit}, ":")
		if p.Delta {
			name += ":delta"
		}
		types = append(types, name)
	}
	slices.Sort(types)
	return types
}

// answers returns the answers to all questions, by question.
func answers(t *testing.T, s *server, types []string) map[string][]string {
	t.Helper()
	ctx, out := context.Background(), map[string][]string{"types": typesOf(t, s)}
	labels, err := s.asks().Labels(ctx, &querypb.LabelsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	values, err := s.asks().Values(ctx, &querypb.ValuesRequest{LabelName: "job"})
	if err != nil {
		t.Fatal(err)
	}
	data, err := s.asks().HasProfileData(ctx, &querypb.HasProfileDataRequest{})
	if err != nil {
		t.Fatal(err)
	}
	out["labels"], out["values"], out["data"] = labels.LabelNames, values.LabelValues, []string{fmt.Sprint(data.HasData)}
	for _, typ := range types {
		for _, selector := range []string{`{}`, `{job="job-1"}`, `{job!~"1|2"}`} {
			for name, req := range requests(typ + selector) {
				out[typ+selector+" "+name] = answer(t, s, req)
			}
		}
		out[typ+" range"] = rangeOf(t, s, typ)
	}
	return out
}

// rangeOf returns the lines of a type over time, in steps so short that none has two profiles.
func rangeOf(t *testing.T, s *server, typ string) (lines []string) {
	t.Helper()
	res, err := s.asks().QueryRange(context.Background(), &querypb.QueryRangeRequest{
		Query: typ + "{}", Start: timestamppb.New(from), End: timestamppb.New(to), Step: durationpb.New(time.Nanosecond), SumBy: []string{"job"},
	})
	if err != nil {
		return []string{err.Error()}
	}
	for _, series := range res.Series {
		slices.SortFunc(series.Samples, func(a, b *querypb.MetricsSample) int { return a.Timestamp.AsTime().Compare(b.Timestamp.AsTime()) })
		text, err := protojson.Marshal(series)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.ReplaceAll(string(text), " ", "")) // protojson varies its spaces on purpose
	}
	slices.Sort(lines)
	return lines
}

// requests returns a question for each report, with and without groups and filters.
func requests(query string) map[string]*querypb.QueryRequest {
	out := map[string]*querypb.QueryRequest{}
	merge := func() *querypb.MergeProfile {
		return &querypb.MergeProfile{Query: query, Start: timestamppb.New(from), End: timestamppb.New(to)}
	}
	add := func(name string, report querypb.QueryRequest_ReportType, change func(*querypb.QueryRequest)) {
		req := &querypb.QueryRequest{
			Mode: querypb.QueryRequest_MODE_MERGE, ReportType: report, Options: &querypb.QueryRequest_Merge{Merge: merge()},
		}
		if change != nil {
			change(req)
		}
		out[name] = req
	}
	for name, n := range querypb.QueryRequest_ReportType_value {
		report := querypb.QueryRequest_ReportType(n)
		if report == querypb.QueryRequest_REPORT_TYPE_CALLGRAPH {
			continue
		}
		if report == querypb.QueryRequest_REPORT_TYPE_SOURCE {
			add(name, report, func(req *querypb.QueryRequest) {
				req.SourceReference = &querypb.SourceReference{Filename: "f1.go"} // and no source was uploaded
			})
			continue
		}
		add(name, report, nil)
	}
	groups := func(fields ...string) func(*querypb.QueryRequest) {
		return func(req *querypb.QueryRequest) { req.GroupBy = &querypb.GroupBy{Fields: fields} }
	}
	const arrow = querypb.QueryRequest_REPORT_TYPE_FLAMEGRAPH_ARROW
	add("by function", arrow, groups("function_name"))
	add("by file and job", arrow, groups("function_file_name", "labels.job"))
	add("inverted", arrow, func(req *querypb.QueryRequest) { inverted := true; req.InvertCallStack = &inverted })
	filtered := func(req *querypb.QueryRequest) {
		req.Filter = []*querypb.Filter{{Filter: &querypb.Filter_StackFilter{StackFilter: &querypb.StackFilter{
			Filter: &querypb.StackFilter_Criteria{Criteria: &querypb.FilterCriteria{FunctionName: &querypb.StringCondition{
				Condition: &querypb.StringCondition_Contains{Contains: "main.f3"},
			}}},
		}}}}
	}
	add("filtered", arrow, filtered)
	add("call graph", querypb.QueryRequest_REPORT_TYPE_CALLGRAPH, filtered) // of large profiles it takes minutes and 12 GiB
	add("difference", arrow, func(req *querypb.QueryRequest) {
		side := func() *querypb.ProfileDiffSelection {
			return &querypb.ProfileDiffSelection{
				Mode: querypb.ProfileDiffSelection_MODE_MERGE, Options: &querypb.ProfileDiffSelection_Merge{Merge: merge()},
			}
		}
		a := side()
		a.GetMerge().End = timestamppb.New(base.Add(150 * time.Second))
		req.Mode, req.Options = querypb.QueryRequest_MODE_DIFF, &querypb.QueryRequest_Diff{Diff: &querypb.DiffProfile{A: a, B: side()}}
	})
	add("single", querypb.QueryRequest_REPORT_TYPE_PPROF, func(req *querypb.QueryRequest) {
		req.Mode = querypb.QueryRequest_MODE_SINGLE_UNSPECIFIED
		req.Options = &querypb.QueryRequest_Single{Single: &querypb.SingleProfile{Query: query, Time: timestamppb.New(base)}}
	})
	return out
}

// base is the time of the first random profile.
var base = time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)

// randomProfile returns a profile of processor time, or each third time of a heap.
func randomProfile(r *rand.Rand, i int) *pprof.Profile {
	cpu := &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}
	p := &pprof.Profile{
		PeriodType: cpu, Period: 10_000_000, SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, cpu},
		DurationNanos: int64(10 * time.Second), TimeNanos: base.Add(time.Duration(i) * 10 * time.Second).UnixNano(),
		Mapping: []*pprof.Mapping{{ID: 1, Start: 1 << 20, Limit: 1 << 30, File: "/bin/server", BuildID: "b"}},
	}
	if i%3 == 2 {
		p.PeriodType, p.DurationNanos = &pprof.ValueType{Type: "space", Unit: "bytes"}, 0
		p.SampleType = []*pprof.ValueType{{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}}
	}
	for id := range uint64(20) {
		f := &pprof.Function{ID: id + 1, Name: fmt.Sprintf("main.f%d", id), Filename: fmt.Sprintf("f%d.go", id%4)}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &pprof.Location{
			ID: id + 1, Mapping: p.Mapping[0], Address: 1<<20 + id*64, Line: []pprof.Line{{Function: f, Line: int64(id)}},
		})
	}
	for range 40 {
		sample := &pprof.Sample{Value: []int64{1 + r.Int64N(5), 1 + r.Int64N(1<<30)}}
		for range 1 + r.IntN(8) {
			sample.Location = append(sample.Location, p.Location[r.IntN(len(p.Location))])
		}
		p.Sample = append(p.Sample, sample)
	}
	return p
}

func encode(t *testing.T, p *pprof.Profile) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// realProfiles returns profiles outside of the repository, if they are there, of which Parca v0.28.0 can make every
// report. It panics over a location without a mapping or a function.
func realProfiles(t *testing.T) (encoded [][]byte) {
	t.Helper()
	const root = "../../../../shared/data/pprof"
	if _, err := os.Stat(root); err != nil && os.Getenv("GRANARY_NEED_SHARED") != "1" {
		return nil
	}
	err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".pb.gz") || strings.HasSuffix(name, "agent-profile.pb.gz") {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		p, err := pprof.ParseData(data)
		if err != nil {
			return err
		}
		bad := slices.ContainsFunc(p.Location, func(l *pprof.Location) bool {
			return l.Mapping == nil || len(l.Line) == 0 || slices.ContainsFunc(l.Line, func(l pprof.Line) bool { return l.Function == nil })
		})
		if !bad && p.PeriodType != nil && p.PeriodType.Type != "" && p.TimeNanos > 0 && len(p.Sample) < 200 {
			encoded = append(encoded, encode(t, p))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}
