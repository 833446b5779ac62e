package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/ipc"
	pprof "github.com/google/pprof/profile"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/flametest"
)

const (
	cpuID   = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
	queryAt = int64(1_790_000_000_000) // Unix milliseconds of the first profile of filled
)

// filled returns a server with six profiles of two jobs, 10 seconds apart, and its URL. It speaks HTTP/2
// without TLS too.
func filled(t *testing.T, opts Options) (*Server, string) {
	t.Helper()
	s := newServer(t, opts)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 6 {
		labels := map[string]string{profile.NameLabel: "process_cpu", "job": []string{"api", "db"}[i%2], "pod": fmt.Sprint(i)}
		if _, err := s.db().Insert(t.Context(), flametest.RandomProfile(rng, queryAt+int64(i)*10_000), profile.InsertOptions{Labels: labels}); err != nil {
			t.Fatal(err)
		}
	}
	web := httptest.NewUnstartedServer(s)
	web.Config.Protocols = new(http.Protocols)
	web.Config.Protocols.SetHTTP1(true)
	web.Config.Protocols.SetUnencryptedHTTP2(true)
	web.Start()
	t.Cleanup(web.Close)
	return s, web.URL
}

// clients returns a client of each protocol.
func clients(t testing.TB, url string) map[string]querierv1connect.QuerierServiceClient {
	t.Helper()
	h2 := &http.Transport{Protocols: new(http.Protocols)}
	h2.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(h2.CloseIdleConnections)
	h1 := &http.Transport{}
	t.Cleanup(h1.CloseIdleConnections)
	return map[string]querierv1connect.QuerierServiceClient{
		"connect":  querierv1connect.NewQuerierServiceClient(&http.Client{Transport: h1}, url),
		"json":     querierv1connect.NewQuerierServiceClient(&http.Client{Transport: h1}, url, connect.WithProtoJSON()),
		"grpc":     querierv1connect.NewQuerierServiceClient(&http.Client{Transport: h2}, url, connect.WithGRPC()),
		"grpc-web": querierv1connect.NewQuerierServiceClient(&http.Client{Transport: h1}, url, connect.WithGRPCWeb()),
	}
}

// merged returns the answer of the table of profiles.
func merged(t testing.TB, s *Server, selector string) *profile.Stacks {
	t.Helper()
	sel, err := profile.ParseSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	var stacks *profile.Stacks
	err = s.db().Store().View(t.Context(), func(snap *columnstore.Snapshot) (err error) {
		stacks, err = s.db().Merge(t.Context(), snap, profile.Type{Sample: "cpu", SampleUnit: "nanoseconds", Period: "cpu", PeriodUnit: "nanoseconds"}, profile.Query{Selector: sel})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return stacks
}

// TestQuerier asks each method by each protocol, and compares the answers with the table's.
func TestQuerier(t *testing.T) {
	s, url := filled(t, Options{})
	for name, c := range clients(t, url) {
		t.Run(name, func(t *testing.T) { testQuerier(t, s, c) })
	}
}

func testQuerier(t *testing.T, s *Server, c querierv1connect.QuerierServiceClient) {
	ctx := t.Context()
	types, err := c.ProfileTypes(ctx, connect.NewRequest(&querierv1.ProfileTypesRequest{Start: queryAt, End: queryAt + 60_000}))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, p := range types.Msg.GetProfileTypes() {
		ids = append(ids, p.GetID())
	}
	if want := []string{cpuID, "process_cpu:samples:count:cpu:nanoseconds"}; !slices.Equal(ids, want) {
		t.Errorf("types %q, want %q", ids, want)
	}
	labels, err := c.LabelNames(ctx, connect.NewRequest(&typesv1.LabelNamesRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"__name__", "__period_type__", "__period_unit__", "__profile_type__", "__type__", "__unit__", "job", "pod", "span_id"}; !slices.Equal(labels.Msg.GetNames(), want) {
		t.Errorf("labels %q, want %q", labels.Msg.GetNames(), want)
	}
	values, err := c.LabelValues(ctx, connect.NewRequest(&typesv1.LabelValuesRequest{Name: "pod", Matchers: []string{`{job="api"}`}}))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"0", "2", "4"}; !slices.Equal(values.Msg.GetNames(), want) {
		t.Errorf("values %q, want %q", values.Msg.GetNames(), want)
	}
	series, err := c.Series(ctx, connect.NewRequest(&querierv1.SeriesRequest{LabelNames: []string{"job", "__profile_type__"}}))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(series.Msg.GetLabelsSet()); n != 4 { // two jobs, two types
		t.Errorf("%d series, want 4: %v", n, series.Msg)
	}
	testStacks(t, s, c)
	testSeries(t, s, c)
	testMergedProfile(t, s, c)
}

// testStacks compares flame graphs.
func testStacks(t *testing.T, s *Server, c querierv1connect.QuerierServiceClient) {
	ctx := t.Context()
	graph, err := c.SelectMergeStacktraces(ctx, connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID, LabelSelector: `{job="api"}`}))
	if err != nil {
		t.Fatal(err)
	}
	want := merged(t, s, `{job="api"}`).FlameGraph(profile.FlameGraphOptions{})
	equalGraphs(t, graph.Msg.GetFlamegraph(), want)

	few, err := c.SelectMergeStacktraces(ctx, connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID, MaxNodes: proto.Int64(5)}))
	if err != nil {
		t.Fatal(err)
	}
	equalGraphs(t, few.Msg.GetFlamegraph(), merged(t, s, `{}`).FlameGraph(profile.FlameGraphOptions{MaxNodes: 5}))

	//nolint:staticcheck // Grafana's data source asks it
	span, err := c.SelectMergeSpanProfile(ctx, connect.NewRequest(&querierv1.SelectMergeSpanProfileRequest{ProfileTypeID: cpuID, SpanSelector: []string{"000000000000abc0"}}))
	if err != nil {
		t.Fatal(err)
	}
	equalGraphs(t, span.Msg.GetFlamegraph(), merged(t, s, `{span_id="000000000000abc0"}`).FlameGraph(profile.FlameGraphOptions{}))
	both, err := c.SelectMergeStacktraces(ctx, connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID, SpanSelector: []string{"000000000000abc0", "000000000000ABC1"}}))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := both.Msg.GetFlamegraph().GetTotal(), merged(t, s, `{span_id=~".+"}`).Total; got != want || got == 0 {
		t.Errorf("both spans: %d, want %d", got, want)
	}

	site := &typesv1.StackTraceSelector{CallSite: []*typesv1.Location{{Name: "main.f0"}, {Name: "main.f3"}}}
	part, err := c.SelectMergeStacktraces(ctx, connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID, StackTraceSelector: site}))
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for frames, value := range merged(t, s, `{}`).All() { // leaf first
		if n := len(frames); n >= 2 && frames[n-1].Function == "main.f0" && frames[n-2].Function == "main.f3" {
			total += value
		}
	}
	if got := part.Msg.GetFlamegraph().GetTotal(); got != total || got == 0 {
		t.Errorf("below a call site: %d, want %d", got, total)
	}

	diff, err := c.Diff(ctx, connect.NewRequest(&querierv1.DiffRequest{
		Left:  &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID, LabelSelector: `{job="api"}`},
		Right: &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID, LabelSelector: `{job="db"}`},
	}))
	if err != nil {
		t.Fatal(err)
	}
	d := diff.Msg.GetFlamegraph()
	if left, right := merged(t, s, `{job="api"}`).Total, merged(t, s, `{job="db"}`).Total; d.GetLeftTicks() != left || d.GetRightTicks() != right || d.GetTotal() != left+right {
		t.Errorf("a difference of %d and %d, %d in all, want %d and %d", d.GetLeftTicks(), d.GetRightTicks(), d.GetTotal(), left, right)
	}
}

// testSeries compares sums over time.
func testSeries(t *testing.T, s *Server, c querierv1connect.QuerierServiceClient) {
	all, err := c.SelectSeries(t.Context(), connect.NewRequest(&querierv1.SelectSeriesRequest{
		ProfileTypeID: cpuID, Start: queryAt, End: queryAt + 29_999, Step: 10, GroupBy: []string{"job"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, line := range all.Msg.GetSeries() {
		for _, p := range line.GetPoints() {
			sums[line.GetLabels()[0].GetValue()] += p.GetValue()
		}
	}
	for job, pods := range map[string]string{"api": "0|2", "db": "1"} { // the first three profiles
		if want := merged(t, s, fmt.Sprintf(`{job=%q,pod=~%q}`, job, pods)).Total; sums[job] != float64(want) {
			t.Errorf("job %s: %v, want %d", job, sums[job], want)
		}
	}
	top, err := c.SelectSeries(t.Context(), connect.NewRequest(&querierv1.SelectSeriesRequest{ProfileTypeID: cpuID, Step: 60, GroupBy: []string{"pod"}, Limit: proto.Int64(2)}))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(top.Msg.GetSeries()); n != 2 {
		t.Errorf("%d lines of two", n)
	}
}

// testMergedProfile compares profiles as pprof.
func testMergedProfile(t *testing.T, s *Server, c querierv1connect.QuerierServiceClient) {
	//nolint:staticcheck // clients ask it
	got, err := c.SelectMergeProfile(t.Context(), connect.NewRequest(&querierv1.SelectMergeProfileRequest{ProfileTypeID: cpuID, LabelSelector: `{job="db"}`}))
	if err != nil {
		t.Fatal(err)
	}
	same, err := c.SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{
		ProfileTypeID: cpuID, LabelSelector: `{job="db"}`, Format: querierv1.ProfileFormat_PROFILE_FORMAT_PPROF,
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []proto.Message{got.Msg, same.Msg.GetPprof().GetProfile()} {
		data, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		p, err := pprof.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		for _, sample := range p.Sample {
			total += sample.Value[0]
		}
		if want := merged(t, s, `{job="db"}`).Total; total != want || len(p.SampleType) != 1 {
			t.Errorf("a profile of %d types and %d, want %d", len(p.SampleType), total, want)
		}
	}
}

// treeOf decodes a flame graph as Grafana does.
func treeOf(t *testing.T, g *querierv1.FlameGraph) *profile.FlameNode {
	t.Helper()
	type placed struct {
		node *profile.FlameNode
		x    int64
	}
	var above []placed
	var root *profile.FlameNode
	for depth, level := range g.GetLevels() {
		var now []placed
		x := int64(0)
		for v := level.GetValues(); len(v) > 0; v = v[4:] {
			x += v[0]
			n := &profile.FlameNode{Name: g.GetNames()[v[3]], Total: v[1], Self: v[2]}
			now = append(now, placed{n, x})
			if depth == 0 {
				root = n
			} else {
				i := slices.IndexFunc(above, func(p placed) bool { return x >= p.x && x+n.Total <= p.x+p.node.Total && p.node.Total > 0 })
				if i < 0 {
					t.Fatalf("level %d: %s has no caller", depth, n.Name)
				}
				above[i].node.Children = append(above[i].node.Children, n)
			}
			x += n.Total
		}
		above = now
	}
	return root
}

// equalGraphs compares a flame graph with the tree that it was made of.
func equalGraphs(t *testing.T, g *querierv1.FlameGraph, want *profile.FlameNode) {
	t.Helper()
	var text func(n *profile.FlameNode, depth int) string
	text = func(n *profile.FlameNode, depth int) string {
		out := fmt.Sprintf("%*s%s %d %d\n", depth, "", n.Name, n.Self, n.Total)
		for _, c := range n.Children {
			out += text(c, depth+1)
		}
		return out
	}
	want.Name = "total"
	got := treeOf(t, g)
	if got.Total == 0 || g.GetTotal() != want.Total {
		t.Errorf("a graph of %d, want %d", g.GetTotal(), want.Total)
	}
	if text(got, 0) != text(want, 0) {
		t.Errorf("a graph:\n%swant:\n%s", text(got, 0), text(want, 0))
	}
}

// TestQuerier_Refuses answers hostile questions with a code and the part that is wrong.
func TestQuerier_Refuses(t *testing.T) {
	_, url := filled(t, Options{Limits: Limits{Nodes: 100, ResultBytes: 3000}})
	c := clients(t, url)["grpc"]
	ask := func(change func(*querierv1.SelectMergeStacktracesRequest)) error {
		m := &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID, MaxNodes: proto.Int64(5)}
		change(m)
		_, err := c.SelectMergeStacktraces(t.Context(), connect.NewRequest(m))
		return err
	}
	line := func(change func(*querierv1.SelectSeriesRequest)) error {
		m := &querierv1.SelectSeriesRequest{ProfileTypeID: cpuID, Step: 10}
		change(m)
		_, err := c.SelectSeries(t.Context(), connect.NewRequest(m))
		return err
	}
	type stacks = querierv1.SelectMergeStacktracesRequest
	type series = querierv1.SelectSeriesRequest
	for i, test := range []struct {
		err  error
		code connect.Code
		want string
	}{
		{ask(func(m *stacks) { m.ProfileTypeID = "" }), connect.CodeInvalidArgument, "profile_typeID"},
		{ask(func(m *stacks) { m.ProfileTypeID = "none" }), connect.CodeNotFound, "profile_typeID"},
		{ask(func(m *stacks) { m.ProfileTypeID = "::::" }), connect.CodeInvalidArgument, "profile_typeID"},
		{ask(func(m *stacks) { m.LabelSelector = `{job=` }), connect.CodeInvalidArgument, "label_selector"},
		{ask(func(m *stacks) { m.LabelSelector = `{job=~"("}` }), connect.CodeInvalidArgument, "label_selector"},
		{ask(func(m *stacks) { m.Start = -1 }), connect.CodeInvalidArgument, "start"},
		{ask(func(m *stacks) { m.Start, m.End = 5, 4 }), connect.CodeInvalidArgument, "start and end"},
		{ask(func(m *stacks) { m.End = 1 << 62 }), connect.CodeInvalidArgument, "end"},
		{ask(func(m *stacks) { m.MaxNodes = proto.Int64(-2) }), connect.CodeResourceExhausted, "max_nodes"},
		{ask(func(m *stacks) { m.MaxNodes = proto.Int64(101) }), connect.CodeResourceExhausted, "max_nodes"},
		{ask(func(m *stacks) { m.SpanSelector = []string{"xyz"} }), connect.CodeInvalidArgument, "span_id"},
		{ask(func(m *stacks) { m.TraceIdSelector = []string{`a"}b`} }), connect.CodeInvalidArgument, "trace_id"},
		{ask(func(m *stacks) { m.ProfileIdSelector = []string{"x"} }), connect.CodeInvalidArgument, "profile_id_selector"},
		{ask(func(m *stacks) { m.ProfileIdSelector = []string{"x", "y"} }), connect.CodeUnimplemented, "one profile at a time"},
		{ask(func(m *stacks) { m.Format = 5 }), connect.CodeUnimplemented, "format"},
		{ask(func(m *stacks) { m.Async = &querierv1.AsyncQueryRequest{} }), connect.CodeUnimplemented, "async"},
		{ask(func(m *stacks) { m.Format = querierv1.ProfileFormat_PROFILE_FORMAT_PPROF }), connect.CodeResourceExhausted, "an answer of"},
		{ask(func(m *stacks) { m.LabelSelector = strings.Repeat("x", 2<<20) }), connect.CodeResourceExhausted, ""},
		{line(func(m *series) { m.Step = 0 }), connect.CodeInvalidArgument, "step"},
		{line(func(m *series) { m.Step = -1e300 }), connect.CodeInvalidArgument, "step"},
		{line(func(m *series) { m.GroupBy = []string{""} }), connect.CodeInvalidArgument, ""},
		{line(func(m *series) { m.Aggregation = typesv1.TimeSeriesAggregationType(9).Enum() }), connect.CodeUnimplemented, "aggregation: 9"},
	} {
		if connect.CodeOf(test.err) != test.code || !strings.Contains(fmt.Sprint(test.err), test.want) {
			t.Errorf("question %d: %v, want %v: %s", i, test.err, test.code, test.want)
		}
	}
	if _, err := c.LabelValues(t.Context(), connect.NewRequest(&typesv1.LabelValuesRequest{})); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("values of no label: %v", err)
	}
	if err := ask(func(*stacks) {}); err != nil {
		t.Errorf("a good question after them: %v", err)
	}
}

// fetched gets a path of a server.
func fetched(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url) //nolint:noctx // of this test's server
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestQuerier_Kinds adds up profiles of one name whose agents list other types.
func TestQuerier_Kinds(t *testing.T) {
	s, url := filled(t, Options{})
	want := merged(t, s, `{}`).Total
	p := flametest.RandomProfile(rand.New(rand.NewPCG(5, 6)), queryAt)
	p.SampleType = append(p.SampleType, &pprof.ValueType{Type: "wall", Unit: "nanoseconds"})
	for _, sample := range p.Sample {
		want += sample.Value[1]
		sample.Value = append(sample.Value, 1)
	}
	if _, err := s.db().Insert(t.Context(), p, profile.InsertOptions{Labels: map[string]string{profile.NameLabel: "process_cpu", "job": "node"}}); err != nil {
		t.Fatal(err)
	}
	graph, err := clients(t, url)["connect"].SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID}))
	if err != nil || graph.Msg.GetFlamegraph().GetTotal() != want {
		t.Errorf("%v, %v, want %d", graph, err, want)
	}
}

// TestParameters refuses parameters that mean nothing, by name.
func TestParameters(t *testing.T) {
	_, at := filled(t, Options{})
	for query, want := range map[string]string{
		"sellector={}": "sellector", "type=cpu&type=samples": "type", "type=none": "type", "selector=%7B": "selector",
		"from=yesterday": "from", "to=1x": "to", "to=latest+1h": "to", "from=9223372036854775807": "from", "from=1769850002000&to=1769850001000": "from and to", "from=-1": "from", "%zz": "query",
		"form=parquet": "form", "to=9999-01-01T00:00:00Z": "to",
	} {
		for _, path := range []string{"/pprof?", "/arrow?"} {
			code, body := fetched(t, at+path+query)
			if code != http.StatusBadRequest && code != http.StatusNotFound || !strings.Contains(body, want) {
				t.Errorf("%s%s: %d %s, want 400 and %s", path, query, code, body, want)
			}
		}
	}
	for _, path := range []string{"/pprof?type=cpu&seconds=5&debug=0", "/arrow?stacks=ids&form=plain", "/pprof?from=2020-01-01T00:00:00Z&to=9000000000000"} {
		if code, body := fetched(t, at+path); code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

// TestArrow reads the streams of all forms back: rows and sums are the table's.
func TestArrow(t *testing.T) {
	s, at := filled(t, Options{})
	for _, form := range []string{"native", "dictionary", "plain"} {
		code, body := fetched(t, at+"/arrow?type=cpu&form="+form+"&selector="+url.QueryEscape(`{job="api"}`))
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", form, code, body)
		}
		r, err := ipc.NewReader(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		for r.Next() {
			rec := r.Record()
			values := rec.Column(rec.Schema().FieldIndices(profile.ColumnValue)[0]).(*array.Int64)
			for _, v := range values.Int64Values() {
				total += v
			}
		}
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		r.Release()
		if want := merged(t, s, `{job="api"}`).Total; total != want {
			t.Errorf("form %s: %d, want %d", form, total, want)
		}
	}
}

// TestArrow_After reads what is behind a unit: each row is in one of the units up to it, or in the answer. Units that are
// gone are an error, and not a smaller answer.
func TestArrow_After(t *testing.T) {
	a := newAsker(t, Options{})
	ask := func(after string) (values []int64, code int, text string) {
		code, body := fetched(t, a.url+"/arrow?type=cpu&form=plain"+after)
		if code != http.StatusOK {
			return nil, code, body
		}
		r, err := ipc.NewReader(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Release()
		for r.Next() {
			values = append(values, r.Record().Column(r.Record().Schema().FieldIndices(profile.ColumnValue)[0]).(*array.Int64).Int64Values()...)
		}
		slices.Sort(values)
		return values, code, ""
	}
	table, hour, n := a.db.Table(), func(i int) time.Time { return madeAt.Add(time.Duration(i) * time.Hour) }, int64(0)
	insert := func(at time.Time) {
		n++
		a.insert(at, cpuType, nil, made{stack: "f main", value: n})
	}
	seal := func(before time.Time, want ...uint64) {
		t.Helper()
		units, err := table.Seal(t.Context(), before.UnixNano())
		ids := make([]uint64, 0, len(units))
		for _, u := range units {
			ids = append(ids, u.ID)
		}
		if err != nil || !slices.Equal(ids, want) {
			t.Fatalf("sealed %v, want %v: %v", ids, want, err)
		}
	}
	expect := func(after string, want ...int64) {
		t.Helper()
		if got, code, text := ask(after); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v: %d %s", after, got, want, code, text)
		}
	}
	insert(hour(0))
	insert(hour(1))
	insert(hour(2))
	expect("&after=0", 1, 2, 3)
	seal(hour(2), 1, 2)
	insert(hour(0)) // late: of the next unit
	expect("", 1, 2, 3, 4)
	expect("&after=0", 1, 2, 3, 4)
	expect("&after=1", 2, 3, 4)
	expect("&after=2", 3, 4)
	expect("&after=2&from="+hour(2).Format(time.RFC3339), 3)
	seal(hour(1), 3)
	expect("&after=3", 3)
	if _, err := table.Drop(t.Context(), []uint64{1, 3}); err != nil {
		t.Fatal(err)
	}
	expect("", 2, 3)
	expect("&after=3", 3)
	for after, want := range map[string]string{"&after=0": "2 of the units 1 to 3", "&after=1": "1 of the units 2 to 3", "&after=2": "1 of the units 3 to 3"} {
		if _, code, text := ask(after); code != http.StatusGone || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want 410 and %q", after, code, text, want)
		}
	}
	if _, code, text := ask("&after=4"); code != http.StatusBadRequest || !strings.Contains(text, "was never here, the newest is 3") {
		t.Errorf("a unit that never was: %d %s", code, text)
	}
}

// TestAnswers_Limits cuts answers that are too large, refuses queries beyond their number, time and
// memory, and answers the next.
func TestAnswers_Limits(t *testing.T) {
	t.Parallel() // it waits
	_, at := filled(t, Options{Limits: Limits{ResultBytes: 100}})
	for _, path := range []string{"/pprof", "/arrow"} {
		if code, body := fetched(t, at+path); code != http.StatusUnprocessableEntity || !strings.Contains(body, "at most 100 bytes") && !strings.Contains(body, "more than 100 bytes") {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	_, at = filled(t, Options{Limits: Limits{QueryBytes: 1}})
	if code, body := fetched(t, at+"/pprof?type=cpu"); code != http.StatusUnprocessableEntity || !strings.Contains(body, "memory of a query") {
		t.Errorf("memory: %d %s", code, body)
	}
	_, at = filled(t, Options{Limits: Limits{QueryTime: 1}})
	if code, body := fetched(t, at+"/pprof?type=cpu"); code != http.StatusTooManyRequests && code != http.StatusUnprocessableEntity || !strings.Contains(body, "limit") {
		t.Errorf("time: %d %s", code, body)
	}
	s, at := filled(t, Options{Limits: Limits{Queries: 1, QueryTime: time.Second}})
	held, refused := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		done <- s.gate.InTime(context.Background(), func(context.Context) error {
			close(held)
			<-refused
			return nil
		})
	}()
	<-held
	if code, body := fetched(t, at+"/pprof?type=cpu"); code != http.StatusTooManyRequests || !strings.Contains(body, "1 queries at once") {
		t.Errorf("queries: %d %s", code, body)
	}
	close(refused)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if code, body := fetched(t, at+"/pprof?type=cpu"); code != http.StatusOK {
		t.Errorf("after them: %d %s", code, body)
	}
}

// TestAnswers_Unread ends a query whose client does not read the answer, and gives its place to the next.
func TestAnswers_Unread(t *testing.T) {
	s, _ := filled(t, Options{Limits: Limits{Queries: 1, QueryTime: 200 * time.Millisecond, ReadTime: 100 * time.Millisecond}})
	here, there := net.Pipe() // has no buffer
	defer func() { _ = here.Close() }()
	l := &oneListener{conn: there, done: make(chan struct{})}
	web := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() {
		_ = web.Serve(l)
		close(served)
	}()
	if _, err := io.WriteString(here, "GET /arrow HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for ; ; time.Sleep(5 * time.Millisecond) {
		if w := answer(s, http.MethodGet, "/pprof?type=cpu", "", ""); w.Code == http.StatusOK && time.Since(start) > 250*time.Millisecond {
			break
		}
		if time.Since(start) > effort.Patience {
			t.Fatal("the query still has its place")
		}
	}
	_ = web.Close()
	<-served
	if err := s.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// oneListener is a listener with one connection.
type oneListener struct {
	conn net.Conn
	done chan struct{}
	once sync.Once
}

func (l *oneListener) Accept() (conn net.Conn, err error) {
	if conn, l.conn = l.conn, nil; conn != nil {
		return conn, nil
	}
	<-l.done
	return nil, net.ErrClosed
}

func (l *oneListener) Close() error { l.once.Do(func() { close(l.done) }); return nil }

func (l *oneListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// TestToolPprof runs go tool pprof on the server's URLs: its totals are the table's.
func TestToolPprof(t *testing.T) {
	effort.Long(t)
	s, at := filled(t, Options{})
	api, db := at+"/pprof?type=cpu&selector="+url.QueryEscape(`{job="api"}`), at+"/pprof?type=cpu&selector="+url.QueryEscape(`{job="db"}`)
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"tool", "pprof", "-symbolize=none"}, args...)...)
		cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
		var out, log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &log
		if err := cmd.Run(); err != nil {
			t.Fatalf("go tool pprof %s: %v\n%s", args, err, log.String())
		}
		return out.String()
	}
	total := func(text string) int64 {
		p, err := pprof.ParseData([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for _, sample := range p.Sample {
			sum += sample.Value[0]
		}
		return sum
	}
	file := filepath.Join(t.TempDir(), "out.pb.gz")
	proto := func(args ...string) int64 {
		run(append([]string{"-proto", "-output=" + file}, args...)...)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return total(string(data))
	}
	left, right := merged(t, s, `{job="api"}`).Total, merged(t, s, `{job="db"}`).Total
	if got := proto(api); got != left {
		t.Errorf("-proto: %d, want %d", got, left)
	}
	if got := proto("-diff_base", db, api); got != left-right {
		t.Errorf("-diff_base: %d, want %d", got, left-right)
	}
	want := fmt.Sprintf("%.2fs total", float64(left)/1e9)
	if got := run("-top", "-unit=s", api); !strings.Contains(got, "main.f0") || !strings.Contains(got, want) {
		t.Errorf("-top: %s, want main.f0 and %s", got, want)
	}
}
