package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	pprof "github.com/google/pprof/profile"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/columnstore"
)

// totals returns the totals in an answer of GET /pprof, by type.
func (r *receiver) totals(query string) string {
	r.t.Helper()
	code, body := fetched(r.t, r.url+"/pprof?"+query)
	if code != http.StatusOK {
		return fmt.Sprint(code, " ", body)
	}
	p, err := pprof.ParseData([]byte(body))
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for i, typ := range p.SampleType {
		sum := int64(0)
		for _, s := range p.Sample {
			sum += s.Value[i]
		}
		out = append(out, fmt.Sprintf("%s:%s=%d", typ.Type, typ.Unit, sum))
	}
	return strings.Join(out, " ")
}

// TestTimesOfOtherUnits takes the time of a push for a profile in microseconds, as older SDKs write them, and asks for it in seconds.
func TestTimesOfOtherUnits(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	p, err := pprof.ParseData(small(t, 7))
	if err != nil {
		t.Fatal(err)
	}
	at := p.TimeNanos / 1e9
	p.TimeNanos = (at - 86_400) * 1e6
	r.want(http.StatusBadRequest, "it looks like microseconds", r.request(http.MethodPost, "/ingest?name=a", encoded(t, p)))
	r.want(http.StatusOK, "", r.request(http.MethodPost, fmt.Sprint("/ingest?name=a&format=pprof&from=", at), encoded(t, p)))
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, fmt.Sprint("/pprof?service_name=a&time=", at), encoded(t, p)))
	for bounds, want := range map[string]string{
		fmt.Sprintf("from=%d&until=%d", at, at+1):        "cpu:nanoseconds=14",
		fmt.Sprintf("from=%d&to=%d", at*1000, at*1000+1): "cpu:nanoseconds=14",
		fmt.Sprintf("from=%d&to=%d", at-90_000, at):      "404 no profile is selected by the selector and the times; over all, types are: cpu:nanoseconds, samples:count\n",
		"to=1&until=1": "400 invalid request: parameters to and until are one: give one\n",
	} {
		if got := r.totals("type=cpu&" + bounds); got != want {
			t.Errorf("%s: %q, want %q", bounds, got, want)
		}
	}
	r.want(http.StatusBadRequest, "not in the format pprof but in jfr: name that, or none", r.request(http.MethodPost, "/ingest?name=a&format=pprof", jfrRecording(t)))
}

// TestDottedNames asks for labels with dots by Prometheus' spelling of them, and lists them so unless a client takes any name.
func TestDottedNames(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	push := func(labels string, value int64) {
		r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof?"+labels, small(t, value)))
	}
	push("service_name=a&otel.scope.version=1", 100)
	push("service_name=b&otel.scope.version=2", 20)
	push("service_name=c&otel_scope_version=2", 3)
	push("service_name=d", 4000)
	for selector, want := range map[string]int64{
		`{otel_scope_version="1"}`: 100, `{otel_scope_version="2"}`: 23, `{otel_scope_version!="1"}`: 4023, `{otel_scope_version=~"1|2"}`: 123,
		`{otel_scope_version=""}`: 4000, `{"otel.scope.version"="2"}`: 20, `{"otel.scope.version"!=""}`: 120, `{otel_scope_version="1",service_name="b"}`: 0,
	} {
		got := r.totals("type=cpu&selector=" + url.QueryEscape(selector))
		if want == 0 && strings.HasPrefix(got, "404 no profile is selected") {
			continue
		}
		if got != fmt.Sprintf("cpu:nanoseconds=%d", want) {
			t.Errorf("%s: %s, want %d", selector, got, want)
		}
	}
	client := querierv1connect.NewQuerierServiceClient(r.http, r.url)
	for accept, want := range map[string]string{"": "otel_scope_version", "application/json; allow-utf8-labelnames=true": "otel.scope.version otel_scope_version"} {
		names := connect.NewRequest(&typesv1.LabelNamesRequest{})
		sets := connect.NewRequest(&querierv1.SeriesRequest{LabelNames: []string{"otel.scope.version", "otel_scope_version"}})
		if accept != "" {
			names.Header().Set("Accept", accept)
			sets.Header().Set("Accept", accept)
		}
		got, err := client.LabelNames(t.Context(), names)
		if err != nil {
			t.Fatal(err)
		}
		listed := slices.DeleteFunc(got.Msg.GetNames(), func(name string) bool { return !strings.HasPrefix(name, "otel") })
		if text := strings.Join(listed, " "); text != want {
			t.Errorf("names with Accept %q: %q, want %q", accept, text, want)
		}
		all, err := client.Series(t.Context(), sets)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, set := range all.Msg.GetLabelsSet() {
			for _, l := range set.GetLabels() {
				found[l.GetName()] = true
			}
		}
		if found["otel.scope.version"] != (accept != "") || !found["otel_scope_version"] {
			t.Errorf("series with Accept %q have %v", accept, found)
		}
	}
	values, err := client.LabelValues(t.Context(), connect.NewRequest(&typesv1.LabelValuesRequest{Name: "otel_scope_version"}))
	if err != nil || strings.Join(values.Msg.GetNames(), " ") != "1 2" {
		t.Errorf("values %v, %v", values, err)
	}
	lines, err := client.SelectSeries(t.Context(), connect.NewRequest(&querierv1.SelectSeriesRequest{
		ProfileTypeID: cpuID, LabelSelector: "{}", Start: 1, End: 1 << 42, Step: 1e6, GroupBy: []string{"otel_scope_version"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, line := range lines.Msg.GetSeries() {
		for _, l := range line.GetLabels() {
			for _, p := range line.GetPoints() {
				sums[l.GetValue()] += p.GetValue()
			}
		}
	}
	if sums["1"] != 100 || sums["2"] != 23 {
		t.Errorf("lines %v", sums)
	}
}

// TestClientTypes gives profiles the types that clients of Pyroscope ask for, and answers their other spellings.
func TestClientTypes(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	p, err := pprof.ParseData(small(t, 70))
	if err != nil {
		t.Fatal(err)
	}
	p.SampleType = []*pprof.ValueType{{Type: "inuse-objects", Unit: "count"}, {Type: "inuse-space", Unit: "bytes"}}
	r.want(http.StatusOK, "", r.request(http.MethodPost, "/ingest?name=net&spyName=dotnetspy&format=pprof", encoded(t, p)))
	r.want(http.StatusOK, "", r.request(http.MethodPost, "/ingest?name=cpu&format=pprof", small(t, 5)))
	wantLabels(t, r.labels(), `{__name__="memory", pyroscope_spy="dotnetspy", service_name="net"}`, `{__name__="process_cpu", service_name="cpu"}`)
	for id, want := range map[string]string{
		"memory:inuse_space:bytes:cpu:nanoseconds": "inuse_space:bytes=70", "memory:inuse-space:bytes:cpu:nanoseconds": "inuse_space:bytes=70",
		"inuse-space": "inuse_space:bytes=70", "inuse-space:bytes": "inuse_space:bytes=70", cpuID + ":delta": "cpu:nanoseconds=5",
	} {
		if got := r.totals("type=" + url.QueryEscape(id)); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	if got := r.totals("type=cpu&from=0&to=0"); !strings.HasPrefix(got, "400") {
		t.Errorf("an empty range of time: %s", got)
	}
	if got := r.totals("type=cpu&to=0"); !strings.HasPrefix(got, "404 no profile is selected") {
		t.Errorf("before 1970: %s", got)
	}
	client := querierv1connect.NewQuerierServiceClient(r.http, r.url)
	unlimited := int64(-1)
	graph, err := client.SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID + ":delta", LabelSelector: "{}", Start: 1, End: 1 << 42, MaxNodes: &unlimited}))
	if err != nil || graph.Msg.GetFlamegraph().GetTotal() != 5 {
		t.Errorf("%v, %v", graph, err)
	}
}

// TestProfileIDs finds the samples of a span by the label that Pyroscope's SDKs write.
func TestProfileIDs(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	const a, b = "00f067aa0ba902b7", "10f067aa0ba902b7"
	for label, id := range map[string]string{"profile_id": a, "span_id": b} {
		p, err := pprof.ParseData(small(t, 7))
		if err != nil {
			t.Fatal(err)
		}
		p.Sample[0].Label = map[string][]string{label: {id}}
		r.want(http.StatusOK, "", r.request(http.MethodPost, "/pprof?service_name="+label, encoded(t, p)))
	}
	client := querierv1connect.NewQuerierServiceClient(r.http, r.url)
	for _, spans := range [][]string{{a}, {b}, {strings.ToUpper(b)}, {a, b}} {
		got, err := client.SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{
			ProfileTypeID: cpuID, LabelSelector: "{}", Start: 1, End: 1 << 42, SpanSelector: spans,
		}))
		if err != nil || got.Msg.GetFlamegraph().GetTotal() != 7*int64(len(spans)) {
			t.Errorf("%v: %v, %v", spans, got, err)
		}
	}
	for _, selector := range []string{`{profile_id="` + a + `"}`, `{profile_id="` + b + `"}`, `{span_id="` + a + `"}`} {
		if got := r.totals("type=cpu&selector=" + url.QueryEscape(selector)); got != "cpu:nanoseconds=7" {
			t.Errorf("%s: %s", selector, got)
		}
	}
}

// TestLabelNames_OfService lists the labels of one service's samples, and not those of another.
func TestLabelNames_OfService(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	for _, name := range []string{"a", "b"} {
		p, err := pprof.ParseData(small(t, 7))
		if err != nil {
			t.Fatal(err)
		}
		p.Sample[0].Label = map[string][]string{"thread_" + name: {"1"}}
		r.want(http.StatusOK, "", r.request(http.MethodPost, "/pprof?service_name="+name+"&pod_"+name+"=1", encoded(t, p)))
	}
	client := querierv1connect.NewQuerierServiceClient(r.http, r.url)
	got, err := client.LabelNames(t.Context(), connect.NewRequest(&typesv1.LabelNamesRequest{Matchers: []string{`{service_name="a"}`}}))
	if err != nil {
		t.Fatal(err)
	}
	if names := got.Msg.GetNames(); !slices.Contains(names, "thread_a") || !slices.Contains(names, "pod_a") || slices.Contains(names, "thread_b") || slices.Contains(names, "pod_b") {
		t.Errorf("names %v", names)
	}
}
