package main

import (
	"context"
	"strings"
	"testing"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// TestServe_Reports asks for the reports that want more than a merge: lines of a source that was not uploaded, without
// naming a source, and a flame chart, which has a place for one sample of a time.
func TestServe_Reports(t *testing.T) {
	now := time.Now().Add(-time.Minute)
	c := start(t)
	conn := c.dial(t)
	defer func() { _ = conn.Close() }()
	for i := range int64(3) {
		if err := write(conn, newProfile(now.Add(time.Duration(i)*time.Second), i+1), "a"); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(report querypb.QueryRequest_ReportType, ref *querypb.SourceReference) (*querypb.QueryResponse, error) {
		return querypb.NewQueryServiceClient(conn).Query(context.Background(), &querypb.QueryRequest{
			Mode: querypb.QueryRequest_MODE_MERGE, ReportType: report, SourceReference: ref,
			Options: &querypb.QueryRequest_Merge{Merge: &querypb.MergeProfile{
				Query: typ, Start: timestamppb.New(now.Add(-time.Hour)), End: timestamppb.New(now.Add(time.Hour)),
			}},
		})
	}
	const source, chart = querypb.QueryRequest_REPORT_TYPE_SOURCE, querypb.QueryRequest_REPORT_TYPE_FLAMECHART
	if res, err := ask(source, &querypb.SourceReference{Filename: "work.go"}); err != nil || res.Total != 6 || res.GetSource().GetSource() != "" {
		t.Errorf("the lines of a source that is not there: %v, error %v; want a total of 6", res, err)
	}
	if _, err := ask(source, nil); status.Code(err) != codes.InvalidArgument {
		t.Errorf("the lines of no source: error %v, want an invalid argument", err)
	}
	if res, err := ask(chart, nil); err != nil || res.Total != 6 {
		t.Errorf("a flame chart: total %d, error %v; want 6", res.GetTotal(), err)
	}
	second := newProfile(now, 1)
	second.Location[0].Line[0].Line = 8
	if err := write(conn, second, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(chart, nil); err == nil || !strings.Contains(err.Error(), "multiple samples for the same timestamp") {
		t.Errorf("a flame chart over two samples of a time: error %v, Parca's renderer had one", err)
	}
}
