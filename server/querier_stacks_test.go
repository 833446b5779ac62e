package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	pprof "github.com/google/pprof/profile"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/flametest"
)

// graph returns the flame graph of a query as package profile has it.
func (a *asker) graph(selector string, most int) (root *profile.FlameNode) {
	a.t.Helper()
	a.view(func(ctx context.Context, snap *columnstore.Snapshot) error {
		stacks, err := a.db.Merge(ctx, snap, cpuType, profile.Query{Selector: selects(a.t, selector), SumKinds: true})
		if err == nil {
			root = stacks.FlameGraph(profile.FlameGraphOptions{MaxNodes: most})
		}
		return err
	})
	return root
}

// site returns a call site of the lines of a text.
func site(lines string) *typesv1.StackTraceSelector {
	s := &typesv1.StackTraceSelector{}
	for name := range strings.SplitSeq(lines, "\n") {
		s.CallSite = append(s.CallSite, &typesv1.Location{Name: name})
	}
	return s
}

// pprofOf returns a profile of the API as google/pprof reads it.
func pprofOf(t *testing.T, m *googlev1.Profile) *pprof.Profile {
	t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return fileOf(t, string(data))
}

func fileOf(t *testing.T, data string) *pprof.Profile {
	t.Helper()
	p, err := pprof.ParseData([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func valuesOf(p *pprof.Profile) (sum int64) {
	for _, s := range p.Sample {
		for _, v := range s.Value {
			sum += v
		}
	}
	return sum
}

// TestSelectors chooses samples by their labels, ids and call sites: as a flame graph, as pprof, and on
// one side of a difference.
func TestSelectors(t *testing.T) {
	a := newAsker(t, Options{})
	a.insertMade()
	sum := int64(0) // of n of all profiles
	for i := range int64(6) {
		sum += 20*i + 3
	}
	span := func(ids ...int) (all []string) {
		for _, id := range ids {
			all = append(all, fmt.Sprintf("%016x", 0xa0+id))
		}
		return all
	}
	type merge = querierv1.SelectMergeStacktracesRequest
	for name, test := range map[string]struct {
		m    *merge
		want int64
	}{
		"all":               {&merge{}, 11 * sum},
		"main":              {&merge{StackTraceSelector: site("main")}, 6 * sum},
		"main f":            {&merge{StackTraceSelector: site("main\nf")}, 3 * sum},
		"f g":               {&merge{StackTraceSelector: site("f\ng")}, 5 * sum},
		"main f leaf":       {&merge{StackTraceSelector: site("main\nf\nleaf")}, sum},
		"main g f":          {&merge{StackTraceSelector: site("main\ng\nf")}, 0},
		"leaf":              {&merge{StackTraceSelector: site("leaf")}, 0},
		"no name":           {&merge{StackTraceSelector: site("")}, 0},
		"a span":            {&merge{SpanSelector: span(1)}, 23},
		"in upper case":     {&merge{SpanSelector: []string{strings.ToUpper(span(1)[0])}}, 23},
		"spans":             {&merge{SpanSelector: append(span(1, 2), "000000000000ABCD")}, 23 + 43},
		"a trace":           {&merge{TraceIdSelector: []string{"00000000000000000000000000000012"}}, 43},
		"a trace, no span":  {&merge{TraceIdSelector: []string{"00000000000000000000000000000011"}, SpanSelector: span(2)}, 0},
		"a span at a site":  {&merge{SpanSelector: span(1), StackTraceSelector: site("main\ng")}, 0},
		"the type":          {&merge{LabelSelector: `{__profile_type__=~"process_cpu.*"}`}, 11 * sum},
		"another type":      {&merge{LabelSelector: `{__profile_type__="memory:a:b:c:d"}`}, 0},
		"a label of sample": {&merge{LabelSelector: `{thread="1"}`}, 2 * (23 + 63 + 103)},
		"a name in front":   {&merge{LabelSelector: `process_cpu{thread="1",}`}, 2 * (23 + 63 + 103)},
		"another name":      {&merge{LabelSelector: `memory {thread="1"}`}, 0},
	} {
		test.m.ProfileTypeID = cpuID
		if got := a.totalOf(test.m); got != test.want {
			t.Errorf("%s: a flame graph of %d, want %d", name, got, test.want)
		}
		diff, err := a.c.Diff(t.Context(), connect.NewRequest(&querierv1.DiffRequest{Left: &merge{ProfileTypeID: cpuID}, Right: test.m}))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if g := diff.Msg.GetFlamegraph(); g.GetLeftTicks() != 11*sum || g.GetRightTicks() != test.want {
			t.Errorf("%s: a difference of %d and %d, want %d and %d", name, g.GetLeftTicks(), g.GetRightTicks(), 11*sum, test.want)
		}
		test.m.Format = querierv1.ProfileFormat_PROFILE_FORMAT_PPROF
		resp, err := a.c.SelectMergeStacktraces(t.Context(), connect.NewRequest(test.m))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if p := pprofOf(t, resp.Msg.GetPprof().GetProfile()); valuesOf(p) != test.want {
			t.Errorf("%s: pprof of %d, want %d", name, valuesOf(p), test.want)
		}
	}
}

// TestCallSites asks for paths of a real flame graph: as a graph, as pprof and over time.
func TestCallSites(t *testing.T) {
	effort.Alone(t)
	a := newAsker(t, Options{})
	a.insertFiles("etcd")
	a.insertFiles("compile")
	want := map[string]int64{} // by the lines of a path; siblings of one name are one
	var walk func(n *profile.FlameNode, path string)
	walk = func(n *profile.FlameNode, path string) {
		for _, c := range n.Children {
			want[path+c.Name] += c.Total
			walk(c, path+c.Name+"\n")
		}
	}
	walk(a.graph("process_cpu", 0), "")
	asked, inlined := 0, 0
	for i, path := range slices.Sorted(maps.Keys(want)) {
		if i%701 != 1 {
			continue
		}
		asked++
		s := site(path)
		if got := a.totalOf(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID, StackTraceSelector: s}); got != want[path] {
			t.Errorf("%s: a flame graph of %d, want %d", path, got, want[path])
		}
		//nolint:staticcheck // clients ask it
		resp, err := a.c.SelectMergeProfile(t.Context(), connect.NewRequest(&querierv1.SelectMergeProfileRequest{ProfileTypeID: cpuID, StackTraceSelector: s}))
		if err != nil {
			t.Fatal(err)
		}
		p := pprofOf(t, resp.Msg)
		if got := valuesOf(p); got != want[path] {
			t.Errorf("%s: pprof of %d, want %d", path, got, want[path])
		}
		for _, l := range p.Location {
			inlined += len(l.Line) - 1
		}
		sum := 0.0
		for _, points := range a.lines(&querierv1.SelectSeriesRequest{StackTraceSelector: s, Step: 5, GroupBy: []string{"job"}}) {
			for _, v := range points {
				sum += v
			}
		}
		if int64(sum) != want[path] {
			t.Errorf("%s: %v over time, want %d", path, sum, want[path])
		}
	}
	if asked < 8 || inlined == 0 {
		t.Errorf("%d paths, %d inlined functions", asked, inlined)
	}
}

// TestGraphs_Real compares flame graphs and differences of real profiles with those of package profile,
// whole and with some of their functions.
func TestGraphs_Real(t *testing.T) {
	a := newAsker(t, Options{})
	a.insertFiles("etcd")
	a.insertFiles("pebble")
	side := func(job string, most int64) *querierv1.SelectMergeStacktracesRequest {
		return &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID, LabelSelector: `{job="` + job + `"}`, MaxNodes: new(most)}
	}
	for _, most := range []int64{1, 50, 1000, 100_000} {
		resp, err := a.c.SelectMergeStacktraces(t.Context(), connect.NewRequest(side("etcd", most)))
		if err != nil {
			t.Fatal(err)
		}
		equalGraphs(t, resp.Msg.GetFlamegraph(), a.graph(`process_cpu{job="etcd"}`, int(most)))
	}
	resp, err := a.c.Diff(t.Context(), connect.NewRequest(&querierv1.DiffRequest{Left: side("etcd", 0), Right: side("pebble", 100_000)}))
	if err != nil {
		t.Fatal(err)
	}
	got := flametest.Decode(t, resp.Msg.GetFlamegraph().GetNames(), resp.Msg.GetFlamegraph().GetLevels(), 2)
	want := flametest.PathsOf(a.graph(`process_cpu{job="etcd"}`, 0), a.graph(`process_cpu{job="pebble"}`, 0))
	if !reflect.DeepEqual(got, want) || len(want) < 500 {
		t.Errorf("%s", flametest.FirstDifference(got, want))
	}
}

// TestJSON asks as a person with curl does.
func TestJSON(t *testing.T) {
	a := newAsker(t, Options{})
	a.insertMade()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.url+"/querier.v1.QuerierService/SelectMergeStacktraces",
		strings.NewReader(`{"profileTypeID":"`+cpuID+`","labelSelector":"{pod=\"pod-0\"}"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	defer http.DefaultClient.CloseIdleConnections()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var got struct {
		Flamegraph struct {
			Names []string
			Total string
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %v", resp.StatusCode, err)
	}
	if !slices.Equal(slices.Sorted(slices.Values(got.Flamegraph.Names)), []string{"f", "g", "leaf", "main", "total"}) || got.Flamegraph.Total != "1716" {
		t.Errorf("%+v", got)
	}
}
