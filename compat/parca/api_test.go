package parca_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/go-kit/log"
	pprof "github.com/google/pprof/profile"
	pb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/parca-dev/parca/pkg/kv"
	"github.com/parca-dev/parca/pkg/parcacol"
	"github.com/parca-dev/parca/pkg/query"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/granarydb/granary/columnstore"
)

// apiOf returns Parca's API over a querier.
func apiOf(q query.Querier) *query.ColumnQueryAPI {
	tracer := noop.NewTracerProvider().Tracer("")
	return query.NewColumnQueryAPI(log.NewNopLogger(), tracer, nil, q, memory.DefaultAllocator,
		parcacol.NewArrowToProfileConverter(tracer, kv.NewKeyMaker()), nil)
}

// TestAPI compares the answers of Parca's API, which filters, subtracts and draws what queriers return.
func TestAPI(t *testing.T) {
	s := openStores(t, columnstore.Options{Now: clock})
	r := rand.New(rand.NewPCG(5, 5))
	for i := range 40 {
		s.insert(t, randomProfile(r), "__name__", "p", "job", fmt.Sprintf("job-%d", i%3))
	}
	want, apis := apiOf(s.want), map[string]*query.ColumnQueryAPI{"engine": apiOf(s.engine), "native": apiOf(s.native)}
	answers := 0
	for name, req := range requests() {
		a := answerOf(t, want, req)
		for which, api := range apis {
			if b := answerOf(t, api, req); !reflect.DeepEqual(a, b) {
				t.Errorf("%s: %s:\n got %s\nwant %s", name, which, short(b), short(a))
			}
		}
		if len(a) == 0 {
			t.Errorf("%s has no answer", name)
		}
		answers++
	}
	t.Logf("%d requests compared", answers)
}

// requests returns queries of each mode, with and without filters, for two reports.
func requests() map[string]*pb.QueryRequest {
	const typ = "p:cpu:nanoseconds:cpu:nanoseconds:delta"
	merge := func(selector string) *pb.MergeProfile {
		return &pb.MergeProfile{Query: typ + selector, Start: timestamppb.New(farFrom), End: timestamppb.New(base.Add(time.Hour))}
	}
	side := func(selector string) *pb.ProfileDiffSelection {
		return &pb.ProfileDiffSelection{
			Mode: pb.ProfileDiffSelection_MODE_MERGE, Options: &pb.ProfileDiffSelection_Merge{Merge: merge(selector)},
		}
	}
	contains := func(text string) *pb.StringCondition {
		return &pb.StringCondition{Condition: &pb.StringCondition_Contains{Contains: text}}
	}
	filters := map[string][]*pb.Filter{
		"": nil,
		" of stacks": {{Filter: &pb.Filter_StackFilter{StackFilter: &pb.StackFilter{
			Filter: &pb.StackFilter_Criteria{Criteria: &pb.FilterCriteria{FunctionName: contains("f3")}},
		}}}},
		" of frames": {{Filter: &pb.Filter_FrameFilter{FrameFilter: &pb.FrameFilter{
			Filter: &pb.FrameFilter_Criteria{Criteria: &pb.FilterCriteria{FunctionName: contains("f1")}},
		}}}},
	}
	out := map[string]*pb.QueryRequest{}
	for what, f := range filters {
		for _, report := range []pb.QueryRequest_ReportType{pb.QueryRequest_REPORT_TYPE_PPROF, pb.QueryRequest_REPORT_TYPE_TOP} {
			out[fmt.Sprint("merge ", report, what)] = &pb.QueryRequest{
				Mode: pb.QueryRequest_MODE_MERGE, ReportType: report, Filter: f, Options: &pb.QueryRequest_Merge{Merge: merge(`{job=~"job-[01]"}`)},
			}
			out[fmt.Sprint("diff ", report, what)] = &pb.QueryRequest{
				Mode: pb.QueryRequest_MODE_DIFF, ReportType: report, Filter: f,
				Options: &pb.QueryRequest_Diff{Diff: &pb.DiffProfile{A: side(`{job="job-0"}`), B: side(`{job="job-1"}`)}},
			}
		}
	}
	return out
}

// answerOf returns a report as texts, sorted; nil if there is an error. It omits what in Parca's reports
// depends on the order of rows, which no store promises: the mapping of a function, and the address of a
// location that has neither a mapping nor lines.
func answerOf(t *testing.T, api *query.ColumnQueryAPI, req *pb.QueryRequest) (out []string) {
	t.Helper()
	res, err := api.Query(context.Background(), req)
	if err != nil {
		t.Log(err)
		return nil
	}
	if top := res.GetTop(); top != nil {
		for _, n := range top.List {
			out = append(out, fmt.Sprint(n.Meta.GetFunction().GetName(), " ", n.Meta.GetLocation().GetAddress(), " ", n.Flat, n.Cumulative, n.Diff))
		}
		out = append(out, fmt.Sprint("total ", res.Total, " filtered ", res.Filtered))
	} else if encoded := res.GetPprof(); encoded != nil {
		p, err := pprof.ParseData(encoded)
		if err != nil {
			t.Fatal(err)
		}
		for _, sample := range p.Sample {
			text := fmt.Sprint(sample.Value, sample.Label)
			for _, l := range sample.Location {
				text += " |"
				for _, line := range l.Line {
					text += fmt.Sprintf(" %s:%d", line.Function.Name, line.Line)
				}
			}
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}
