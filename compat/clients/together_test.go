package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	pprof "github.com/google/pprof/profile"
	"github.com/grafana/pyroscope-go"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"
)

// goServer is the variable that makes the binary of the tests a Go program that pushes to the server it names.
const goServer = "GRANARY_CLIENTS_GO_SERVER"

// profileGo profiles itself for two seconds of CPU time with Pyroscope's SDK and pushes to a server.
func profileGo(server string) int {
	p, err := pyroscope.Start(pyroscope.Config{ApplicationName: "goapp", ServerAddress: server, Tags: map[string]string{"zone": "a"}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	x := 0.0
	for used := (syscall.Rusage{}); used.Utime.Sec < 2; {
		for range 1_000_000 {
			x = math.Sqrt(x + 1)
		}
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if err := p.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestTogether profiles a program of each of four languages at once on one server, and asks about one and about all, as the
// page, Grafana and go tool pprof do. The SDK for Node takes its samples of CPU time by wall time, so that the ids of types are two,
// and the name is one.
func TestTogether(t *testing.T) {
	dir := installed(t)
	r, _, server := start(t)
	_, stop := begin(t, agent(t, dir, server)...)
	var waits []func() string
	for _, command := range [][]string{
		{filepath.Join(dir, "venv", "bin", "python"), "client.py", server},
		{"node", filepath.Join(dir, "client.js"), server},
		{"env", goServer + "=" + server, os.Args[0]},
	} {
		wait, _ := begin(t, command...)
		waits = append(waits, wait)
	}
	for _, wait := range waits {
		wait()
	}
	r.endAfter(t, hasPhases)
	stop()
	for _, err := range r.errs {
		t.Error(err)
	}
	sent, _ := sums(r.sent)

	services := []string{"goapp", "javaapp", "nodeapp", "pyapp"}
	of := map[string]int64{}
	for _, s := range services {
		of[s] = cpu(t, server, url.Values{"type": {"cpu"}, "selector": {`{service_name="` + s + `"}`}})
		if of[s] <= 0 {
			t.Errorf("%s: no CPU time", s)
		}
	}
	ids, sum := int64(0), int64(0)
	for v := range maps.Values(of) {
		sum += v
	}
	all := cpu(t, server, url.Values{"type": {"cpu"}})
	types := askQuerier(t, server, services, of)
	for _, typ := range types {
		if typ.GetSampleType() == "cpu" {
			ids += cpu(t, server, url.Values{"type": {typ.GetID()}})
		}
	}
	askPage(t, server, types, services, of)
	get(t, server+"/api/v1/store", http.StatusOK)
	if all != sum || all != ids || all != sent["cpu"] {
		t.Errorf("%d ns of CPU of all, %d of the four, %d by the ids of types, %d sent", all, sum, ids, sent["cpu"])
	}
	for _, err := range r.broken {
		t.Error(err)
	}
}

// askPage asks the questions of the page: about each type, and about CPU time by its name, of each service and of all.
func askPage(t *testing.T, server string, types []*typesv1.ProfileType, services []string, of map[string]int64) {
	t.Helper()
	names := []string{"cpu"}
	for _, typ := range types {
		names = append(names, typ.GetID())
	}
	for _, name := range names {
		for _, question := range []string{"flame", "top", "profiles", "inspect", "command"} {
			get(t, server+"/api/v1/"+question+"?t="+name, http.StatusOK)
		}
	}
	sum := int64(0)
	for _, service := range services {
		checkTotal(t, server, service, of[service])
		sum += of[service]
	}
	checkTotal(t, server, ".*", sum)
}

// checkTotal compares the CPU time of a service on the page.
func checkTotal(t *testing.T, server, service string, want int64) {
	t.Helper()
	var got struct{ Total []int64 }
	query := url.Values{"t": {"cpu"}, "q": {`{service_name=~"` + service + `"}`}}
	if err := json.Unmarshal(get(t, server+"/api/v1/flame?"+query.Encode(), http.StatusOK), &got); err != nil || !slices.Equal(got.Total, []int64{want}) {
		t.Errorf("%s: %v, %d ns of CPU on the page, want %d", service, err, got.Total, want)
	}
}

// get returns an answer, which must have a status.
func get(t *testing.T, address string, want int) []byte {
	t.Helper()
	resp, err := http.Get(address) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		t.Errorf("%s: %v: status %d: %s", address, err, resp.StatusCode, data)
	}
	return data
}

// cpu returns the sum of an answer of GET /pprof, which is of one type.
func cpu(t *testing.T, server string, query url.Values) int64 {
	t.Helper()
	p, err := pprof.ParseData(get(t, server+"/pprof?"+query.Encode(), http.StatusOK))
	if err != nil {
		t.Fatalf("%v: %v", query, err)
	}
	by, _ := sums([]*pprof.Profile{p})
	if len(p.SampleType) != 1 || p.SampleType[0].Type != "cpu" || p.SampleType[0].Unit != "nanoseconds" {
		t.Errorf("%v: types %v", query, p.SampleType)
	}
	return by["cpu"]
}

// askQuerier asks the methods that Grafana and the page ask, of each type over all services, and returns the types. of is
// the CPU time of each service.
func askQuerier(t *testing.T, server string, services []string, of map[string]int64) []*typesv1.ProfileType {
	t.Helper()
	client := querierv1connect.NewQuerierServiceClient(http.DefaultClient, server)
	now := time.Now().UnixMilli()
	from := now - time.Hour.Milliseconds()

	types := asked(t, client.ProfileTypes, &querierv1.ProfileTypesRequest{Start: from, End: now}).GetProfileTypes()
	names := asked(t, client.LabelNames, &typesv1.LabelNamesRequest{Start: from, End: now}).GetNames()
	for _, name := range []string{"phase", "service_name", "zone"} {
		if !slices.Contains(names, name) {
			t.Errorf("names %v, want %s too", names, name)
		}
	}
	values := asked(t, client.LabelValues, &typesv1.LabelValuesRequest{Name: "service_name", Start: from, End: now}).GetNames()
	if !slices.Equal(values, services) {
		t.Errorf("services %v, want %v", values, services)
	}
	series := asked(t, client.Series, &querierv1.SeriesRequest{LabelNames: []string{"service_name"}, Start: from, End: now}).GetLabelsSet()
	if len(series) != len(services) {
		t.Errorf("series %v, want %v", series, services)
	}

	ids := []string{"cpu"}
	for _, typ := range types {
		ids = append(ids, typ.GetID())
	}
	seen, byName := map[string]int64{}, map[string]int64{} // CPU time by service
	for i, id := range ids {
		askOthers(t, client, id, from, now)
		merged := asked(t, client.SelectMergeStacktraces, &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: id, LabelSelector: "{}", Start: from, End: now})
		if len(merged.GetFlamegraph().GetNames()) < 2 { // 1 is the root
			t.Errorf("%s: no functions", id)
		}
		lines := asked(t, client.SelectSeries, &querierv1.SelectSeriesRequest{
			ProfileTypeID: id, LabelSelector: "{}", Start: from, End: now, Step: 15, GroupBy: []string{"service_name"},
		}).GetSeries()
		if len(lines) == 0 {
			t.Errorf("%s: no series", id)
		}
		for _, line := range lines {
			for _, p := range line.GetPoints() {
				switch service := line.GetLabels()[0].GetValue(); {
				case i == 0:
					byName[service] += int64(p.GetValue())
				case types[i-1].GetSampleType() == "cpu":
					seen[service] += int64(p.GetValue())
				}
			}
		}
	}
	if !maps.Equal(seen, of) || !maps.Equal(byName, of) {
		t.Errorf("CPU time of series %v, by name %v, want %v", seen, byName, of)
	}
	asked(t, client.GetProfileStats, &typesv1.GetProfileStatsRequest{})
	asked(t, client.AnalyzeQuery, &querierv1.AnalyzeQueryRequest{Start: from, End: now, Query: `{service_name="goapp"}`})
	return types
}

// askOthers asks the other methods about a type.
func askOthers(t *testing.T, client querierv1connect.QuerierServiceClient, id string, from, until int64) {
	t.Helper()
	stacks := &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: id, LabelSelector: "{}", Start: from, End: until}
	asked(t, client.SelectMergeProfile, &querierv1.SelectMergeProfileRequest{ProfileTypeID: id, LabelSelector: "{}", Start: from, End: until})
	asked(t, client.SelectMergeSpanProfile, &querierv1.SelectMergeSpanProfileRequest{ProfileTypeID: id, LabelSelector: "{}", Start: from, End: until})
	asked(t, client.SelectHeatmap, &querierv1.SelectHeatmapRequest{ProfileTypeID: id, LabelSelector: "{}", Start: from, End: until, Step: 15})
	asked(t, client.Diff, &querierv1.DiffRequest{Left: stacks, Right: proto.CloneOf(stacks)})
}

// asked returns the answer of a method, which must not fail.
func asked[Q, A any](t *testing.T, method func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), query *Q) *A {
	t.Helper()
	answer, err := method(t.Context(), connect.NewRequest(query))
	if err != nil {
		t.Fatalf("%T: %v", query, err)
	}
	return answer.Msg
}
