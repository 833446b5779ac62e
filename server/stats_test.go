package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
)

// TestProfileStats tells an empty store from one with profiles, and from one whose profiles were dropped.
func TestProfileStats(t *testing.T) {
	ask := func(name string, c querierv1connect.QuerierServiceClient, ingested bool, oldest, newest int64) {
		t.Helper()
		resp, err := c.GetProfileStats(t.Context(), connect.NewRequest(&typesv1.GetProfileStatsRequest{}))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m := resp.Msg; m.GetDataIngested() != ingested || m.GetOldestProfileTime() != oldest || m.GetNewestProfileTime() != newest {
			t.Errorf("%s: %v, want %v, %d, %d", name, m, ingested, oldest, newest)
		}
	}
	for name, c := range queriers(t) {
		ask(name, c, true, madeAt.UnixMilli(), madeAt.Add(150*time.Second+time.Millisecond).UnixMilli())
	}
	a := newAsker(t, Options{})
	ask("no profiles", a.c, false, 0, 0)
	_, front := newFront(t, Nodes{URLs: []string{a.url}}, Options{})
	ask("nodes without profiles", clients(t, front)["connect"], false, 0, 0)
	a.insertMade()
	a.insert(madeAt.Add(100*time.Hour), cpuType, map[string]string{"__name__": "process_cpu"}, made{stack: "f", value: 1})
	ask("a hundred hours", a.c, true, madeAt.UnixMilli(), madeAt.Add(100*time.Hour).UnixMilli())
	if _, err := a.db.Table().DropBefore(t.Context(), madeAt.Add(200*time.Hour).UnixNano()); err != nil {
		t.Fatal(err)
	}
	ask("dropped", a.c, true, 0, 0)
}

// TestAnalyzeQuery counts what a query would read.
func TestAnalyzeQuery(t *testing.T) {
	for name, c := range queriers(t) {
		for query, series := range map[string]uint64{cpuID + `{job="made"}`: 2, cpuID: 2, `{pod="pod-1"}`: 1, `memory:a:b:c:d{}`: 0} {
			resp, err := c.AnalyzeQuery(t.Context(), connect.NewRequest(&querierv1.AnalyzeQueryRequest{Query: query, Start: madeAt.UnixMilli(), End: madeAt.Add(time.Hour).UnixMilli()}))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			of, all := resp.Msg.GetQueryImpact(), resp.Msg.GetQueryScopes()
			if len(all) != 1 || of.GetTotalQueriedSeries() != series || all[0].GetSeriesCount() != series || all[0].GetSampleCount() != 48 || of.GetTotalBytesInTimeRange() == 0 {
				t.Errorf("%s: %s: %v", name, query, resp.Msg)
			}
		}
		resp, err := c.AnalyzeQuery(t.Context(), connect.NewRequest(&querierv1.AnalyzeQueryRequest{Query: "{}", Start: madeAt.Add(24 * time.Hour).UnixMilli()}))
		if err != nil || resp.Msg.GetQueryScopes()[0].GetSampleCount() != 0 || resp.Msg.GetQueryImpact().GetTotalBytesInTimeRange() != 0 {
			t.Errorf("%s: a day later: %v, %v", name, resp.Msg, err)
		}
		for text, m := range map[string]*querierv1.AnalyzeQueryRequest{"query": {Query: "{"}, "start and end": {Start: 2, End: 1}} {
			_, err := c.AnalyzeQuery(t.Context(), connect.NewRequest(m))
			wantError(t, name, err, connect.CodeInvalidArgument, text)
		}
	}
}

// TestReady_Probe answers probes of Pyroscope.
func TestReady_Probe(t *testing.T) {
	s, url := filled(t, Options{Tokens: Tokens{Read: []string{"x"}}})
	if status, text := fetched(t, url+"/ready"); status != http.StatusOK || text != "ok\n" {
		t.Errorf("status %d: %s", status, text)
	}
	for _, path := range []string{"/api/v1/status/buildinfo", "/pyroscope/render", "/pyroscope/labels"} {
		if status, text := fetched(t, url+path); status != http.StatusUnauthorized || !strings.Contains(text, "token") {
			t.Errorf("%s: status %d: %s", path, status, text)
		}
	}
	s.Drain()
	if status, _ := fetched(t, url+"/ready"); status != http.StatusServiceUnavailable {
		t.Errorf("draining: status %d", status)
	}
}
