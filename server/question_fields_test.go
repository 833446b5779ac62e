package server

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/flametest"
	"github.com/granarydb/granary/server/internal/question"
)

// wantError checks the code of an error of Connect, and that its text is short and names what was wrong.
func wantError(t *testing.T, what string, err error, code connect.Code, text string) {
	t.Helper()
	if err == nil || connect.CodeOf(err) != code || !strings.Contains(err.Error(), text) || len(err.Error()) > 1050 {
		t.Errorf("%s: %.2000v, want code %v: %s", what, err, code, text)
	}
}

// TestHostileFields asks with fields that the error must name, by each protocol.
func TestHostileFields(t *testing.T) {
	a := newAsker(t, Options{})
	a.insertMade()
	type merge = querierv1.SelectMergeStacktracesRequest
	ids := make([]string, 1001)
	for i := range ids {
		ids[i] = fmt.Sprintf("%016x", i)
	}
	long := strings.Repeat("x", 1<<17)
	invalid, exhausted, unimplemented := connect.CodeInvalidArgument, connect.CodeResourceExhausted, connect.CodeUnimplemented
	all := clients(t, a.url)
	for _, test := range []struct {
		m    *merge
		code connect.Code
		text string
	}{
		{&merge{ProfileTypeID: strings.Repeat(":", 1<<19)}, invalid, "profile_typeID"},
		{&merge{ProfileTypeID: long}, connect.CodeNotFound, "profile_typeID"},
		{&merge{LabelSelector: "{"}, invalid, "label_selector"},
		{&merge{LabelSelector: `{a=~"` + strings.Repeat("(", 5000) + `"}`}, invalid, "label_selector"},
		{&merge{LabelSelector: `{a=~"((b{1000}){1000}){1000}"}`}, invalid, "label_selector"},
		{&merge{LabelSelector: `{` + strings.Repeat(`a!="b",`, 2000) + `}`}, invalid, "label_selector"},
		{&merge{LabelSelector: strings.Repeat(" ", 1<<19) + "{a}"}, invalid, "label_selector"},
		{&merge{LabelSelector: `{a="` + long + long + `"}`}, invalid, "label_selector"},
		{&merge{LabelSelector: `a:b:c:d:e{a}`}, invalid, "label_selector"},
		{&merge{LabelSelector: `{__profile_type__=~"("}`}, invalid, "label_selector"},
		{&merge{SpanSelector: ids}, exhausted, "span_id: 1001 ids, at most 1000"},
		{&merge{TraceIdSelector: []string{"|.*"}}, invalid, "trace_id"},
		{&merge{TraceIdSelector: []string{long}}, invalid, "trace_id"},
		{&merge{MaxNodes: proto.Int64(100_001)}, exhausted, "max_nodes of 100001, at most 100000"},
		{&merge{Format: 99}, unimplemented, "format: 99"},
		{&merge{StackTraceSelector: &typesv1.StackTraceSelector{GoPgo: &typesv1.GoPGO{}}}, unimplemented, "stack_trace_selector: go_pgo"},
	} {
		if test.m.ProfileTypeID == "" {
			test.m.ProfileTypeID = cpuID
		}
		for name, c := range all {
			_, err := c.SelectMergeStacktraces(t.Context(), connect.NewRequest(test.m))
			wantError(t, name, err, test.code, test.text)
		}
		if test.m.Format == 0 {
			_, err := a.c.Diff(t.Context(), connect.NewRequest(&querierv1.DiffRequest{Left: &merge{ProfileTypeID: cpuID}, Right: test.m}))
			text := test.text
			if !strings.HasPrefix(text, "max_nodes") {
				text = "right: "
			}
			wantError(t, "Diff "+test.text, err, test.code, text)
		}
	}
	_, err := a.c.Diff(t.Context(), connect.NewRequest(&querierv1.DiffRequest{}))
	wantError(t, "no sides", err, invalid, "left: invalid request: profile_typeID")
	_, err = a.c.Diff(t.Context(), connect.NewRequest(&querierv1.DiffRequest{Left: &merge{ProfileTypeID: cpuID}, Right: &merge{ProfileTypeID: "memory:alloc_space:bytes:space:bytes"}}))
	wantError(t, "two types", err, invalid, "alloc_space:bytes")
}

// TestHostileJSON asks with a value that is no number.
func TestHostileJSON(t *testing.T) {
	s := newServer(t, Options{})
	r := httptest.NewRequest(http.MethodPost, "/querier.v1.QuerierService/SelectSeries", strings.NewReader(`{"start":"`+strings.Repeat("x", 1<<19)+`"}`))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if body := w.Body.String(); w.Code != http.StatusBadRequest || !strings.Contains(body, "field start") || len(body) > 1100 {
		t.Errorf("%d, %d bytes: %.300s", w.Code, len(body), body)
	}
}

// TestHostileLines asks for values over time, and for labels, with fields that the error must name.
func TestHostileLines(t *testing.T) {
	a := newAsker(t, Options{})
	a.insertMade()
	type series = querierv1.SelectSeriesRequest
	names := make([]string, 65)
	for i := range names {
		names[i] = fmt.Sprint("l", i)
	}
	invalid, exhausted, unimplemented := connect.CodeInvalidArgument, connect.CodeResourceExhausted, connect.CodeUnimplemented
	for _, test := range []struct {
		m    *series
		code connect.Code
		text string
	}{
		{&series{}, invalid, "step"},
		{&series{Step: math.NaN()}, invalid, "step"},
		{&series{Step: math.Inf(1)}, invalid, "step"},
		{&series{Step: 0.0009}, invalid, "step"},
		{&series{Step: 1, Limit: proto.Int64(-1)}, invalid, "limit"},
		{&series{Step: 1, GroupBy: []string{""}}, invalid, "group_by"},
		{&series{Step: 1, GroupBy: names}, exhausted, "group_by: 65 labels, at most 64"},
		{&series{Step: 1, LabelSelector: "{{"}, invalid, "label_selector"},
		{&series{Step: 1, Aggregation: typesv1.TimeSeriesAggregationType(-9).Enum()}, unimplemented, "aggregation: -9"},
		{&series{Step: 1, ExemplarType: typesv1.ExemplarType_EXEMPLAR_TYPE_SPAN, StackTraceSelector: site("main")}, unimplemented, "exemplar_type"},
		{&series{Step: 1, StackTraceSelector: &typesv1.StackTraceSelector{GoPgo: &typesv1.GoPGO{}}}, unimplemented, "go_pgo"},
	} {
		test.m.ProfileTypeID = cpuID
		_, err := a.c.SelectSeries(t.Context(), connect.NewRequest(test.m))
		wantError(t, test.text, err, test.code, test.text)
	}
	type heatmap = querierv1.SelectHeatmapRequest
	for text, m := range map[string]*heatmap{
		"step": {}, "limit": {Step: 1, Limit: proto.Int64(-1)}, "label_selector": {Step: 1, LabelSelector: "{{"}, "end": {Step: 1, End: -1},
		"exemplar_type": {Step: 1, ExemplarType: typesv1.ExemplarType_EXEMPLAR_TYPE_SPAN}, "query_type": {Step: 1, QueryType: 9},
	} {
		m.ProfileTypeID = cpuID
		_, err := a.c.SelectHeatmap(t.Context(), connect.NewRequest(m))
		wantError(t, text, err, map[bool]connect.Code{true: unimplemented, false: invalid}[text == "query_type"], text)
	}
	ctx := t.Context()
	_, err := a.c.LabelNames(ctx, connect.NewRequest(&typesv1.LabelNamesRequest{Matchers: []string{"{}", "{"}}))
	wantError(t, "names", err, invalid, "matchers")
	_, err = a.c.Series(ctx, connect.NewRequest(&querierv1.SeriesRequest{Matchers: make([]string, 101)}))
	wantError(t, "series", err, exhausted, "matchers: 101 selectors, at most 100")
	_, err = a.c.LabelValues(ctx, connect.NewRequest(&typesv1.LabelValuesRequest{Name: "job", Start: 2, End: 1}))
	wantError(t, "values", err, invalid, "start and end")
	_, err = a.c.ProfileTypes(ctx, connect.NewRequest(&querierv1.ProfileTypesRequest{End: -1}))
	wantError(t, "types", err, invalid, "end")
	//nolint:staticcheck // Grafana's data source asks it
	_, err = a.c.SelectMergeSpanProfile(ctx, connect.NewRequest(&querierv1.SelectMergeSpanProfileRequest{ProfileTypeID: cpuID, Format: querierv1.ProfileFormat_PROFILE_FORMAT_PPROF}))
	wantError(t, "spans", err, unimplemented, "format")
}

// TestHostileParameters asks with parameters that the answer must name, in one line that is not long.
func TestHostileParameters(t *testing.T) {
	a := newAsker(t, Options{})
	a.insertMade()
	long := strings.Repeat("x", 1<<16)
	for _, test := range []struct {
		query  string
		status int
		text   string
	}{
		{long + "=1", 400, `xxx"...`},
		{"a;b", 400, "query: "},
		{"type=" + long, 404, "unknown sample type"},
		{"type=a:b:c:d:e", 404, "b:c:d:e"},
		{"type=" + long + ":b:c:d:" + long, 404, "unknown sample type"},
		{"selector=" + url.QueryEscape(`{pod=~"((a{1000}){1000}){1000}"}`), 400, "selector: "},
		{"selector=" + url.QueryEscape(`{`+strings.Repeat(`a!="b",`, 2000)+`}`), 400, "selector: "},
		{"selector=%00%ff", 400, "selector: "},
		{"selector=" + url.QueryEscape("{a=\"b\",\n"+long), 400, "selector: "},
		{"selector=" + url.QueryEscape(`{__profile_type__="`+cpuID+`"}`), 400, "selector: a type is chosen by the parameter type"},
		{"selector=" + url.QueryEscape(cpuID+`{}`), 400, "selector: "},
		{"from=--1h", 400, "from"},
		{"to=92233720368547758070", 400, "to"},
		{"to=" + long, 400, "to"},
		{"from=2026-01-31T09:00:00." + strings.Repeat("0", 1<<16) + "Z&to=2026-01-31T09:00:00Z", 400, "from and to"},
	} {
		for _, path := range []string{"/pprof?", "/arrow?"} {
			code, body := fetched(t, a.url+path+test.query)
			if code != test.status || !strings.Contains(body, test.text) || len(body) > 1010 || strings.Count(body, "\n") != 1 {
				t.Errorf("%s%.100s: %d, %d bytes: %.300q, want %d: %s", path, test.query, code, len(body), body, test.status, test.text)
			}
		}
	}
}

// TestPprofParameters compares the sums of answers with the known sums.
func TestPprofParameters(t *testing.T) {
	now := madeAt.Add(3 * time.Minute)
	a := newAsker(t, Options{Now: func() time.Time { return now }})
	a.insertMade()
	a.insert(madeAt, cpuType, map[string]string{"job": "unnamed"}, made{stack: "main", value: 5})
	minute := func(i int) string { return madeAt.Add(time.Duration(i) * time.Minute).Format(time.RFC3339) }
	millis := func(i int) string { return fmt.Sprint(madeAt.Add(time.Duration(i) * time.Minute).UnixMilli()) }
	const all = 11 * (80*(0+1+2) + 3*26)
	of := func(i int) int64 { return 11 * (80*int64(i) + 26) }
	for _, test := range []struct {
		query string
		want  int64
	}{
		{"type=" + cpuID, all},
		{"type=" + question.TypeID("", cpuType), 5},
		{"selector=" + url.QueryEscape(`{pod="pod-1"}`) + "&type=", all/2 + 11*3},
		{"selector=" + url.QueryEscape(`process_cpu{job="made"}`) + "&type=cpu", all},
		{"type=" + cpuID + "&from=" + minute(1), of(1) + of(2)},
		{"type=" + cpuID + "&to=" + minute(1), of(0)},
		{"type=" + cpuID + "&from=" + millis(1) + "&to=" + minute(2), of(1)},
		{"type=" + cpuID + "&from=-1m", of(2)},
		{"type=" + cpuID + "&from=1m", of(2)},
		{"type=" + cpuID + "&from=now-1m", of(2)},
		{"type=" + cpuID + "&from=latest-31s", of(2)}, // the newest is a millisecond after the half minute
		{"type=" + cpuID + "&from=latest-31s&to=latest", of(2) - 11*52},
		{"type=" + cpuID + "&from=-2m&to=-1m", of(1)},
		{"type=" + cpuID + "&to=-1h", 0},
		{"type=" + cpuID + "&from=" + url.QueryEscape(madeAt.In(time.FixedZone("", 3600)).Add(time.Minute).Format(time.RFC3339)), of(1) + of(2)},
	} {
		code, body := fetched(t, a.url+"/pprof?"+test.query)
		if code == http.StatusNotFound && test.want == 0 {
			continue
		}
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", test.query, code, body)
		}
		if got := valuesOf(fileOf(t, body)); got != test.want {
			t.Errorf("%s: %d, want %d", test.query, got, test.want)
		}
	}
}

// TestGraphs_Memory asks for flame graphs of deep stacks, which take far more than the stacks. The same
// limit has room for what one call site calls, and for the profile.
func TestGraphs_Memory(t *testing.T) {
	a := newAsker(t, Options{Limits: Limits{QueryBytes: 1 << 20}})
	labels := map[string]string{profile.NameLabel: "process_cpu"}
	if _, err := a.db.Insert(t.Context(), flametest.DeepProfile(100, 200), profile.InsertOptions{Labels: labels}); err != nil {
		t.Fatal(err)
	}
	a.insert(madeAt, cpuType, labels, made{stack: "leaf alone", value: 7})
	m := &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID}
	alone := &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID, StackTraceSelector: site("alone\nleaf")}
	const text = "limit: the memory of a query, at most 1048576 bytes"
	for name, c := range clients(t, a.url) {
		_, err := c.SelectMergeStacktraces(t.Context(), connect.NewRequest(m))
		wantError(t, name, err, connect.CodeResourceExhausted, text)
	}
	_, err := a.c.Diff(t.Context(), connect.NewRequest(&querierv1.DiffRequest{Left: alone, Right: m}))
	wantError(t, "Diff", err, connect.CodeResourceExhausted, text+": right: ")
	if got := a.totalOf(alone); got != 7 {
		t.Errorf("a call site of %d", got)
	}
	m.StackTraceSelector = site("main.f1")
	if got := a.totalOf(m); got == 0 {
		t.Error("a call site without values")
	}
	m.Format, m.StackTraceSelector = querierv1.ProfileFormat_PROFILE_FORMAT_PPROF, nil
	if _, err := a.c.SelectMergeStacktraces(t.Context(), connect.NewRequest(m)); err != nil {
		t.Errorf("as pprof: %v", err)
	}
}

// TestNodes_Limit holds the default number of functions to the limit.
func TestNodes_Limit(t *testing.T) {
	a := newAsker(t, Options{Limits: Limits{Nodes: 2}})
	a.insertMade()
	resp, err := a.c.SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID}))
	if err != nil {
		t.Fatal(err)
	}
	g := resp.Msg.GetFlamegraph()
	if got := flametest.Decode(t, g.GetNames(), g.GetLevels(), 1); len(got) > 1+2+3 || got["total"].Total[0] != 11*(80*3+78) {
		t.Errorf("%d nodes: %v", len(got), got)
	}
}

// TestCutStream reads a stream that ends at the limit: the client sees an error and not an end.
func TestCutStream(t *testing.T) {
	const most = 200 << 10
	a := newAsker(t, Options{Limits: Limits{ResultBytes: most}})
	for batch := range 40 {
		var samples []made
		for i := range 500 {
			n := batch*500 + i
			samples = append(samples, made{stack: fmt.Sprintf("f%d g%d main", n, n*7%1000), value: int64(n + 1), labels: []string{"n", fmt.Sprintf("%x", uint64(n+1)*0x9e3779b97f4a7c15)}})
		}
		a.insert(madeAt.Add(time.Duration(batch)*time.Hour), cpuType, nil, samples...)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.url+"/arrow?form=plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil || resp.StatusCode != http.StatusOK || len(body) == 0 || len(body) > most {
		t.Errorf("status %d, %d bytes: %v, want an error behind some of %d", resp.StatusCode, len(body), err, most)
	}
	if _, body := fetched(t, a.url+"/metrics"); !strings.Contains(body, `granary_http_failures_total{cause="limit",handler="arrow"} 1`) {
		t.Error("metrics do not count the cut answer")
	}
}

// TestQuestion_Bomb sends a small request that is large when it is decompressed.
func TestQuestion_Bomb(t *testing.T) {
	a := newAsker(t, Options{})
	a.insertMade()
	c := querierv1connect.NewQuerierServiceClient(http.DefaultClient, a.url, connect.WithSendGzip())
	defer http.DefaultClient.CloseIdleConnections()
	_, err := c.SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID, LabelSelector: strings.Repeat(" ", 2<<20)}))
	wantError(t, "a bomb", err, connect.CodeResourceExhausted, "")
}

// TestQuestions_Failures counts the errors of questions, and of the protocols that carry them.
func TestQuestions_Failures(t *testing.T) {
	a := newAsker(t, Options{})
	for _, c := range clients(t, a.url) {
		_, _ = c.SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{}))
		_, _ = c.SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID, Async: &querierv1.AsyncQueryRequest{}}))
	}
	fetched(t, a.url+"/pprof?x=1")
	_, body := fetched(t, a.url+"/metrics")
	for _, want := range []string{`{cause="invalid",handler="querier"} 4`, `{cause="unimplemented",handler="querier"} 4`, `{cause="invalid",handler="pprof"} 1`} {
		if !strings.Contains(body, "granary_http_failures_total"+want+"\n") {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
}

// TestQuestions_Tokens asks by each protocol with a token to read, with one to write, and without.
func TestQuestions_Tokens(t *testing.T) {
	a := newAsker(t, Options{Tokens: Tokens{Read: []string{"reader"}, Write: []string{"writer"}}})
	for name, c := range clients(t, a.url) {
		for token, isRead := range map[string]bool{"reader": true, "writer": false, "": false} {
			req := connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID})
			if token != "" {
				req.Header().Set("Authorization", "Bearer "+token)
			}
			if _, err := c.SelectMergeStacktraces(t.Context(), req); (err == nil) != isRead || err != nil && connect.CodeOf(err) != connect.CodeUnauthenticated {
				t.Errorf("%s with %q: %v", name, token, err)
			}
		}
	}
}
