package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	pprof "github.com/google/pprof/profile"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
)

// ofServices are profiles of services in several languages: the sample types, the period, and the name that each is pushed with.
var ofServices = map[string]struct {
	types  string
	period string
	name   string
	cpu    int64
}{
	"go":     {"samples:count cpu:nanoseconds", "cpu", "", 1},
	"python": {"cpu:nanoseconds", "cpu", "", 20},
	"node":   {"samples:count wall:nanoseconds cpu:nanoseconds", "wall", "", 300},
	"java":   {"cpu:nanoseconds", "", "process_cpu", 4000},
	"block":  {"contentions:count delay:nanoseconds", "contentions", "block", 0},
	"mutex":  {"delay:nanoseconds", "contentions", "mutex", 0},
}

// pushServices pushes a profile of each service, to one server after the other.
func pushServices(t *testing.T, to ...*receiver) {
	t.Helper()
	i := 0
	for service, of := range ofServices {
		p, err := pprof.ParseData(small(t, 7))
		if err != nil {
			t.Fatal(err)
		}
		p.SampleType, p.Sample[0].Value, p.PeriodType = nil, nil, nil
		for text := range strings.FieldsSeq(of.types) {
			sample, unit, _ := strings.Cut(text, ":")
			p.SampleType, p.Sample[0].Value = append(p.SampleType, &pprof.ValueType{Type: sample, Unit: unit}), append(p.Sample[0].Value, 50_000)
			if sample == "cpu" {
				p.Sample[0].Value[len(p.SampleType)-1] = of.cpu
			}
		}
		if of.period != "" {
			p.PeriodType = &pprof.ValueType{Type: of.period, Unit: "nanoseconds"}
		}
		r := to[i%len(to)]
		i++
		r.want(http.StatusOK, "", r.request(http.MethodPost, "/pprof?service_name="+service+"&__name__="+of.name+"&__delta__=false", encoded(t, p)))
	}
}

// waysToAsk return the sum of a type in the answer of each method of the API, whose types may have short names.
func waysToAsk(t *testing.T, at string) map[string]func(name, selector string) (int64, error) {
	t.Helper()
	c := querierv1connect.NewQuerierServiceClient(http.DefaultClient, at)
	from, until := time.Now().Add(-time.Hour).UnixMilli(), time.Now().Add(time.Hour).UnixMilli()
	stacks := func(name, selector string) *querierv1.SelectMergeStacktracesRequest {
		return &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: name, LabelSelector: selector, Start: from, End: until}
	}
	fetchedJSON := func(path string, out any) error {
		code, body := fetched(t, at+path)
		if code != http.StatusOK {
			return errors.New(body)
		}
		return json.Unmarshal([]byte(body), out)
	}
	onPage := func(question string) func(name, selector string) (int64, error) {
		return func(name, selector string) (int64, error) {
			var out struct{ Total []int64 }
			err := fetchedJSON("/api/v1/"+question+"?t="+url.QueryEscape(name)+"&q="+url.QueryEscape(selector), &out)
			return append(out.Total, 0)[0], err
		}
	}
	rendered := func(path string) func(name, selector string) (int64, error) {
		return func(name, selector string) (int64, error) {
			var out struct{ Flamebearer struct{ NumTicks int64 } }
			query := url.QueryEscape(name + selector)
			err := fetchedJSON(strings.ReplaceAll(path, "QUERY", query), &out)
			return out.Flamebearer.NumTicks, err
		}
	}
	return map[string]func(name, selector string) (int64, error){
		"/pprof": func(name, selector string) (sum int64, err error) {
			code, body := fetched(t, at+"/pprof?type="+url.QueryEscape(name)+"&selector="+url.QueryEscape(selector))
			if code != http.StatusOK {
				return 0, errors.New(body)
			}
			p, err := pprof.ParseData([]byte(body))
			if err == nil && len(p.SampleType) != 1 {
				err = fmt.Errorf("%d types", len(p.SampleType))
			}
			for _, s := range p.Sample {
				sum += s.Value[0]
			}
			return sum, err
		},
		"SelectMergeStacktraces": func(name, selector string) (int64, error) {
			r, err := c.SelectMergeStacktraces(t.Context(), connect.NewRequest(stacks(name, selector)))
			if err != nil {
				return 0, err
			}
			return r.Msg.GetFlamegraph().GetTotal(), nil
		},
		"SelectMergeProfile": func(name, selector string) (sum int64, err error) {
			//nolint:staticcheck // clients ask it
			r, err := c.SelectMergeProfile(t.Context(), connect.NewRequest(&querierv1.SelectMergeProfileRequest{ProfileTypeID: name, LabelSelector: selector, Start: from, End: until}))
			if err != nil {
				return 0, err
			}
			for _, s := range r.Msg.GetSample() {
				sum += s.GetValue()[0]
			}
			return sum, nil
		},
		"SelectMergeSpanProfile": func(name, selector string) (int64, error) {
			//nolint:staticcheck // clients ask it
			r, err := c.SelectMergeSpanProfile(t.Context(), connect.NewRequest(&querierv1.SelectMergeSpanProfileRequest{ProfileTypeID: name, LabelSelector: selector, Start: from, End: until}))
			if err != nil {
				return 0, err
			}
			return r.Msg.GetFlamegraph().GetTotal(), nil
		},
		"SelectSeries": func(name, selector string) (sum int64, err error) {
			r, err := c.SelectSeries(t.Context(), connect.NewRequest(&querierv1.SelectSeriesRequest{ProfileTypeID: name, LabelSelector: selector, Start: from, End: until, Step: 15, ExemplarType: typesv1.ExemplarType_EXEMPLAR_TYPE_INDIVIDUAL}))
			if err != nil {
				return 0, err
			}
			for _, s := range r.Msg.GetSeries() {
				for _, p := range s.GetPoints() {
					sum += int64(p.GetValue())
				}
			}
			return sum, nil
		},
		"SelectHeatmap": func(name, selector string) (sum int64, err error) {
			r, err := c.SelectHeatmap(t.Context(), connect.NewRequest(&querierv1.SelectHeatmapRequest{
				ProfileTypeID: name, LabelSelector: selector, Start: from, End: until, Step: 15, GroupBy: []string{"service_name"}, ExemplarType: typesv1.ExemplarType_EXEMPLAR_TYPE_INDIVIDUAL,
			}))
			if err != nil {
				return 0, err
			}
			for _, s := range r.Msg.GetSeries() {
				for _, slot := range s.GetSlots() {
					for _, e := range slot.GetExemplars() {
						sum += e.GetValue()
					}
				}
			}
			return sum, nil
		},
		"Diff": func(name, selector string) (int64, error) {
			r, err := c.Diff(t.Context(), connect.NewRequest(&querierv1.DiffRequest{Left: stacks(name, selector), Right: stacks("cpu", `{service_name="node"}`)}))
			if err != nil {
				return 0, err
			}
			if right := r.Msg.GetFlamegraph().GetRightTicks(); right != ofServices["node"].cpu {
				t.Errorf("the right side has %d", right)
			}
			return r.Msg.GetFlamegraph().GetLeftTicks(), nil
		},
		"/render":                rendered("/pyroscope/render?from=now-1h&query=QUERY"),
		"/render-diff":           rendered("/pyroscope/render-diff?leftFrom=now-1h&leftQuery=QUERY&rightFrom=now-1h&rightQuery=cpu{service_name=%22none%22}"),
		"/api/v1/flame":          onPage("flame"),
		"/api/v1/top":            onPage("top"),
		"/api/v1/flame, a blank": func(name, selector string) (int64, error) { return onPage("flame")(name+" ", selector) },
	}
}

// TestShortNames asks for CPU time by its short name: of each service, whose profilers list other types and take samples by other
// clocks, and of all. The full id has one type alone. A name of two quantities is refused with selectors that tell them apart.
// A front with a node for each service answers alike.
func TestShortNames(t *testing.T) {
	effort.Slow(t)
	effort.Alone(t)
	whole := newReceiver(t, Options{}, columnstore.Options{})
	pushServices(t, whole)
	var nodes []*receiver
	var urls []string
	for range ofServices {
		nodes = append(nodes, newReceiver(t, Options{}, columnstore.Options{}))
		urls = append(urls, nodes[len(nodes)-1].url)
	}
	pushServices(t, nodes...)
	_, front := newFront(t, Nodes{URLs: urls}, Options{})

	const node = "process_cpu:cpu:nanoseconds:wall:nanoseconds"
	for server, at := range map[string]string{"one server": whole.url, "a front": front} {
		for way, ask := range waysToAsk(t, at) {
			all := int64(0)
			for service, of := range ofServices {
				if of.cpu == 0 {
					continue
				}
				all += of.cpu
				for _, name := range []string{"cpu", "cpu:nanoseconds"} {
					if got, err := ask(name, fmt.Sprintf("{service_name=%q}", service)); err != nil || got != of.cpu {
						t.Errorf("%s, %s: %s of %s: %d, %v, want %d", server, way, name, service, got, err, of.cpu)
					}
				}
			}
			for name, want := range map[string]int64{"cpu": all, "cpu:nanoseconds": all, node: ofServices["node"].cpu, node + " ": ofServices["node"].cpu} {
				if got, err := ask(name, "{}"); err != nil || got != want {
					t.Errorf("%s, %s: %q: %d, %v, want %d", server, way, name, got, err, want)
				}
			}
			if way == "Diff" || way == "/render-diff" || way == "SelectHeatmap" {
				continue // both sides are of one type, and a heat map adds nothing up
			}
			if _, err := ask("delay", `{}`); err == nil || !strings.Contains(err.Error(), `choose one by the selector {__name__="block"} or {__name__="mutex"}`) {
				t.Errorf("%s, %s: two delays: %v", server, way, err)
			}
			if got, err := ask("delay", `{service_name="mutex"}`); err != nil || got != 50_000 {
				t.Errorf("%s, %s: one delay: %d, %v", server, way, got, err)
			}
		}
	}
}

// TestShortNames_Units asks for a short name of two units: of one service it is clear, and of both the refusal has selectors.
func TestShortNames_Units(t *testing.T) {
	var urls []string
	for i, unit := range []string{"nanoseconds", "count"} {
		r := newReceiver(t, Options{}, columnstore.Options{})
		p, err := pprof.ParseData(small(t, 7))
		if err != nil {
			t.Fatal(err)
		}
		p.SampleType[1].Unit = unit
		r.want(http.StatusOK, "", r.request(http.MethodPost, fmt.Sprintf("/pprof?service_name=%d", i), encoded(t, p)))
		urls = append(urls, r.url)
	}
	_, front := newFront(t, Nodes{URLs: urls}, Options{})
	for way, ask := range waysToAsk(t, front) {
		if way == "Diff" || way == "/render-diff" {
			continue // their other side has other services
		}
		for i := range urls {
			if got, err := ask("cpu", fmt.Sprintf(`{service_name="%d"}`, i)); err != nil || got != 7 {
				t.Errorf("%s: service %d: %d, %v", way, i, got, err)
			}
		}
		if _, err := ask("cpu", "{}"); err == nil || !strings.Contains(err.Error(), `or one by the selector {service_name="0"} or {service_name="1"}`) {
			t.Errorf("%s: both: %v", way, err)
		}
	}
}

// TestPprof_Missing tells which types there are, where a question selects no profile: of a front too, whose nodes have some each.
func TestPprof_Missing(t *testing.T) {
	whole, first, second := newReceiver(t, Options{}, columnstore.Options{}), newReceiver(t, Options{}, columnstore.Options{}), newReceiver(t, Options{}, columnstore.Options{})
	empty := newReceiver(t, Options{}, columnstore.Options{})
	pushServices(t, whole)
	pushServices(t, first, second)
	_, front := newFront(t, Nodes{URLs: []string{first.url, second.url, empty.url}}, Options{})
	_, without := newFront(t, Nodes{URLs: []string{empty.url}}, Options{})
	ask := func(at, typ, rest string) (int, string) { return fetched(t, at+"/pprof?type="+typ+rest) }
	for _, at := range []string{whole.url, front} {
		for question, want := range map[string]string{
			"cpu&selector={service_name=%22mutex%22}":         "no selected profile has the type \"cpu\", they have: delay:nanoseconds\n",
			"cpu&from=now-2h&to=now-1h":                       "no profile is selected by the selector and the times; over all, types are: ",
			"cpu&selector={service_name=%22none%22}":          "no profile is selected by the selector and the times; over all, types are: ",
			"&selector={service_name=%22none%22}":             "no profile is selected by the selector and the times; over all, types are: ",
			"none":                                            "parameter type: unknown sample type",
			"mutex:contentions:count:contentions:nanoseconds": "no selected profile has the type",
		} {
			code, body := ask(at, question, "")
			if code != http.StatusNotFound || !strings.HasPrefix(body, want) {
				t.Errorf("%s: %d %s, want 404 %s", question, code, body, want)
			}
		}
	}
	for _, at := range []string{empty.url, without} {
		if code, body := ask(at, "", ""); code != http.StatusNotFound || !strings.HasSuffix(body, "types are: none\n") {
			t.Errorf("no profiles: %d %s", code, body)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, whole.url+"/pprof?type=cpu&selector={service_name=%22mutex%22}", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Granary-Empty", "1")
	resp, err := whole.http.Do(request)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("for a front: %v, %v", resp, err)
	}
	_ = resp.Body.Close()
}

// TestSecondsForMillis refuses seconds in querier.v1, where times are in milliseconds.
func TestSecondsForMillis(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	pushServices(t, r)
	c := querierv1connect.NewQuerierServiceClient(r.http, r.url)
	now := time.Now()
	for _, times := range [][2]int64{{now.Add(-time.Hour).Unix(), now.Add(time.Hour).Unix()}, {0, now.Unix()}, {now.Unix(), 0}} {
		_, err := c.SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: "cpu", LabelSelector: "{}", Start: times[0], End: times[1]}))
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "want Unix milliseconds, not seconds") {
			t.Errorf("%v: %v", times, err)
		}
		if _, err = c.LabelNames(t.Context(), connect.NewRequest(&typesv1.LabelNamesRequest{Start: times[0], End: times[1]})); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%v: names: %v", times, err)
		}
	}
}

// TestIngest_Counts pushes folded stacks, whose samples are CPU time if the sender says its rate, and pprof, which has types of
// its own.
func TestIngest_Counts(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	folded := []byte("main;f 3\nmain;g 4\n")
	for service, query := range map[string]string{"a": "&sampleRate=100", "b": "&sampleRate=1000&units=samples&format=folded", "c": "", "d": "&units=bytes&sampleRate=100"} {
		r.want(http.StatusOK, "", r.request(http.MethodPost, "/ingest?name="+service+query, folded))
	}
	r.want(http.StatusOK, "", r.request(http.MethodPost, "/ingest?name=e&format=pprof&sampleRate=100&units=bytes", small(t, 5)))
	r.want(http.StatusBadRequest, "parameter sampleRate", r.request(http.MethodPost, "/ingest?name=f&sampleRate=x", folded))
	r.want(http.StatusBadRequest, "parameter sampleRate", r.request(http.MethodPost, "/ingest?name=f&sampleRate=-1", folded))
	for service, want := range map[string]string{"a": "cpu:nanoseconds=70000000", "b": "cpu:nanoseconds=7000000", "c": "samples:count=7", "d": "bytes:bytes=7", "e": "samples:count=1 cpu:nanoseconds=5"} {
		if got := r.totals("selector=" + url.QueryEscape(fmt.Sprintf("{service_name=%q}", service))); got != want {
			t.Errorf("%s: %s, want %s", service, got, want)
		}
	}
	if got := r.totals("type=cpu"); got != "cpu:nanoseconds=77000005" {
		t.Errorf("all: %s", got)
	}
}
