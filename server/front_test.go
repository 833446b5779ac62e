package server

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	pprof "github.com/google/pprof/profile"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fanout"
)

// serve serves a server on loopback until the test ends. It speaks HTTP/2 without TLS too.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	web := httptest.NewUnstartedServer(h)
	web.Config.Protocols = new(http.Protocols)
	web.Config.Protocols.SetHTTP1(true)
	web.Config.Protocols.SetUnencryptedHTTP2(true)
	web.Start()
	t.Cleanup(web.Close)
	return web.URL
}

// newFront returns a front of some nodes and its address.
func newFront(t *testing.T, nodes Nodes, opts Options) (*Server, string) {
	t.Helper()
	s, err := NewFront(nodes, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Wait(context.WithoutCancel(t.Context())) })
	return s, serve(t, s)
}

// kindNames are the names of the kinds of variedProfile.
var kindNames = []string{"process_cpu", "memory", "mutex", ""}

// variedProfile returns a profile of a kind. Its ids of mappings, functions and locations mean something
// else in each profile, functions of one name are in several files, and frames are inlined.
func variedProfile(rng *rand.Rand, kind string, at int64) *pprof.Profile {
	value := func(typ, unit string) *pprof.ValueType { return &pprof.ValueType{Type: typ, Unit: unit} }
	p := &pprof.Profile{
		PeriodType: value("cpu", "nanoseconds"), Period: int64(1e7 + rng.IntN(3)), TimeNanos: at*1e6 + rng.Int64N(1e6), DurationNanos: 1e10 + rng.Int64N(1e9),
		SampleType: []*pprof.ValueType{value("samples", "count"), value("cpu", "nanoseconds")},
	}
	switch kind {
	case "process_cpu":
		if rng.IntN(3) == 0 { // another agent
			p.SampleType = p.SampleType[1:]
		}
	case "memory":
		p.PeriodType = value("space", "bytes")
		p.SampleType = []*pprof.ValueType{value("alloc_space", "bytes"), value("inuse_space", "bytes")}
		p.DefaultSampleType = "alloc_space"
	default:
		p.PeriodType = value("contentions", "count")
		p.SampleType = []*pprof.ValueType{value("contentions", "count"), value("delay", "nanoseconds")}
	}
	for i := range 3 {
		start, file := uint64(i+1)<<20, rng.IntN(4) // a build id is that of one file
		p.Mapping = append(p.Mapping, &pprof.Mapping{
			ID: uint64(i + 1), Start: start, Limit: start + 1<<19, Offset: uint64(rng.IntN(2)) << 12,
			File: []string{"/bin/app", "/bin/app", "/lib/libc.so.6", ""}[file], BuildID: []string{"a1", "b2", "", ""}[file],
		})
	}
	for i := range 14 {
		name := fmt.Sprintf("main.f%d", rng.IntN(6))
		p.Function = append(p.Function, &pprof.Function{ID: uint64(i + 1), Name: name, SystemName: name, Filename: []string{"a.go", "b.go"}[rng.IntN(2)]})
	}
	for i := range 16 {
		l := &pprof.Location{ID: uint64(i + 1)}
		if rng.IntN(4) > 0 {
			l.Mapping = p.Mapping[rng.IntN(len(p.Mapping))]
			l.Address = l.Mapping.Start + uint64(rng.IntN(6))*16
		}
		if l.Mapping == nil || rng.IntN(4) > 0 {
			for range 1 + rng.IntN(2) {
				l.Line = append(l.Line, pprof.Line{Function: p.Function[rng.IntN(len(p.Function))], Line: rng.Int64N(3)})
			}
		}
		p.Location = append(p.Location, l)
	}
	for range 25 {
		s := &pprof.Sample{}
		for range p.SampleType {
			s.Value = append(s.Value, 1+rng.Int64N(1e12))
		}
		for range rng.IntN(6) {
			s.Location = append(s.Location, p.Location[rng.IntN(len(p.Location))])
		}
		if rng.IntN(3) == 0 {
			s.Label = map[string][]string{"span_id": {fmt.Sprintf("%016x", 0xabc0+rng.IntN(3))}, "trace_id": {fmt.Sprintf("%032x", 0xdef0+rng.IntN(3))}, "handler": {"get"}}
			s.NumLabel = map[string][]int64{"size": {rng.Int64N(3)}}
			s.NumUnit = map[string][]string{"size": {"bytes"}}
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// split returns the address of a node with random profiles, and that of a front of several nodes that have
// them between them.
func split(t *testing.T, n int, seed uint64) (one, front string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	servers := make([]*Server, n+1) // the last has all
	urls := make([]string, n+1)
	for i := range servers {
		servers[i] = newServer(t, Options{})
		urls[i] = serve(t, servers[i])
	}
	for i := range 48 {
		kind := kindNames[i%len(kindNames)]
		pod := rng.IntN(4)
		labels := map[string]string{profile.NameLabel: kind, "job": []string{"api", "db"}[pod%2], "pod": fmt.Sprint(pod)}
		if rng.IntN(3) == 0 {
			labels["zone"] = "eu"
		}
		at := queryAt + rng.Int64N(60_000)
		if rng.IntN(4) == 0 {
			at -= 7_200_000 // late
		}
		node := rng.IntN(n)
		if kind == "" {
			node = i / 4 % n // on each of them
		}
		p := variedProfile(rng, kind, at)
		if len(p.SampleType) == 1 {
			labels["job"] = "java"
		}
		for _, s := range []*Server{servers[node], servers[n]} {
			if _, err := s.db().Insert(t.Context(), p, profile.InsertOptions{Labels: labels}); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, front = newFront(t, Nodes{URLs: urls[:n]}, Options{})
	return urls[n], front
}

// Questions of the oracle: types, selectors and ranges of time.
var (
	frontTypes = []string{
		cpuID, "process_cpu:samples:count:cpu:nanoseconds", "memory:alloc_space:bytes:space:bytes", "memory:inuse_space:bytes:space:bytes", "mutex:delay:nanoseconds:contentions:count",
		"profile:contentions:count:contentions:count", "none:cpu:nanoseconds:cpu:nanoseconds",
	}
	frontSelectors = []string{``, `{job="api"}`, `{pod=~"1|2",zone=""}`, `{handler="get"}`, `{job="nobody"}`, `{__type__="cpu"}`}
	frontTimes     = [][2]int64{{0, 0}, {queryAt + 9_000, queryAt + 41_000}, {queryAt - 7_200_000, queryAt - 7_180_000}}
)

// TestFront compares the answers of a front over two and three nodes with those of one node that has all
// profiles, in each protocol and by each method.
func TestFront(t *testing.T) {
	effort.Long(t)
	for n := 2; n <= 3; n++ {
		one, front := split(t, n, 7)
		ones, fronts := clients(t, one), clients(t, front)
		for _, protocol := range slices.Sorted(maps.Keys(fronts)) {
			rounds := 3
			if protocol == "connect" {
				rounds = 10
			} else if n > 2 {
				continue
			}
			t.Run(fmt.Sprint(n, " ", protocol), func(t *testing.T) {
				o := oracle{t: t, one: ones[protocol], front: fronts[protocol]}
				if protocol == "connect" {
					o.lists()
				}
				rng := rand.New(rand.NewPCG(3, uint64(n)))
				for range rounds {
					o.typ = frontTypes[rng.IntN(len(frontTypes))]
					o.selector = frontSelectors[rng.IntN(len(frontSelectors))]
					times := frontTimes[rng.IntN(len(frontTimes))]
					o.start, o.end = times[0], times[1]
					o.series(rng)
					o.points(rng)
					o.stacks(rng)
				}
				o.selector, o.start, o.end = `{pod="2"}`, 0, 0
				o.typ = "memory:inuse_space:bytes:space:bytes"
				o.stacks(rng)
				o.series(rng)
				if o.found < 3*rounds {
					t.Errorf("%d answers with something in them: the questions of this test must be wrong", o.found)
				}
			})
		}
		for _, query := range []string{
			"type=samples:count&selector=%7Bjob%3D%22api%22%7D", "type=alloc_space", "selector=__name__%3D%22mutex%22", "type=cpu&selector=%7Bjob%21%3D%22java%22%7D&from=1789999999000&to=1790000030000", "type=cpu&selector=%7Bjob%3D%22java%22%7D",
			"type=inuse_space&selector=%7Bpod%3D%221%22%7D", "type=inuse_space", "type=inuse_space&from=1789999999000&to=1790000030000", "type=contentions", "type=none", "", "type=cpu&selector=%7Bjob%3D%22nobody%22%7D", "type=delay&selector=__name__%3D%22mutex%22",
			"type=" + url.QueryEscape(cpuID), "type=" + url.QueryEscape("mutex:delay:nanoseconds:contentions:count"), "type=" + url.QueryEscape(frontTypes[4]),
		} {
			got, want := fetchProfile(t, front+"/pprof?"+query), fetchProfile(t, one+"/pprof?"+query)
			if got != want {
				t.Errorf("%d nodes, %s:\n%s\nwant\n%s", n, query, got, want)
			}
		}
	}
}

// oracle compares answers to one question after the other.
type oracle struct {
	t          *testing.T
	one, front querierv1connect.QuerierServiceClient
	typ        string
	selector   string
	start, end int64
	found      int // answers with something in them
}

// equal asks both, and compares the answers as texts. Errors are equal if their codes are.
func equal[Q, A any](o *oracle, ask func(asks, context.Context, *connect.Request[Q]) (*connect.Response[A], error), q *Q, text func(*A) string) {
	o.t.Helper()
	answer := func(c querierv1connect.QuerierServiceClient) string {
		a, err := ask(c, o.t.Context(), connect.NewRequest(q))
		if err != nil {
			return connect.CodeOf(err).String()
		}
		return text(a.Msg)
	}
	got, want := answer(o.front), answer(o.one)
	if got != want {
		o.t.Errorf("%T %v:\n%.2000s\nwant\n%.2000s", q, q, got, want)
	}
	if len(want) > 40 {
		o.found++
	}
}

type asks = querierv1connect.QuerierServiceClient

func (o *oracle) lists() {
	equal(o, asks.ProfileTypes, &querierv1.ProfileTypesRequest{}, func(a *querierv1.ProfileTypesResponse) string { return fmt.Sprint(a.GetProfileTypes()) })
	for _, s := range frontSelectors {
		m := []string{s}
		equal(o, asks.LabelNames, &typesv1.LabelNamesRequest{Matchers: m}, func(a *typesv1.LabelNamesResponse) string { return fmt.Sprint(a.GetNames()) })
		for _, name := range []string{"pod", "handler", "span_id", "none", ""} {
			equal(o, asks.LabelValues, &typesv1.LabelValuesRequest{Name: name, Matchers: m}, func(a *typesv1.LabelValuesResponse) string { return fmt.Sprint(a.GetNames()) })
		}
		for _, names := range [][]string{nil, {"job", "__profile_type__"}, {"none"}} {
			equal(o, asks.Series, &querierv1.SeriesRequest{Matchers: m, LabelNames: names, Start: queryAt, End: queryAt + 60_000}, func(a *querierv1.SeriesResponse) string {
				var sets []string
				for _, l := range a.GetLabelsSet() {
					sets = append(sets, fanout.LabelsKey(l.GetLabels()))
				}
				slices.Sort(sets)
				return strings.Join(sets, "\n")
			})
		}
	}
}

func (o *oracle) series(rng *rand.Rand) {
	q := &querierv1.SelectSeriesRequest{ProfileTypeID: o.typ, LabelSelector: o.selector, Start: o.start, End: o.end, Step: []float64{0.5, 15, 3600}[rng.IntN(3)]}
	q.GroupBy = [][]string{nil, {"job"}, {"pod", "zone"}, {"handler"}}[rng.IntN(4)]
	if rng.IntN(2) == 0 {
		q.Limit = new(rng.Int64N(4))
	}
	if rng.IntN(4) == 0 {
		q.StackTraceSelector = &typesv1.StackTraceSelector{CallSite: []*typesv1.Location{{Name: fmt.Sprintf("main.f%d", rng.IntN(6))}}}
	}
	switch rng.IntN(3) {
	case 0:
		q.Aggregation = typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_SUM.Enum()
	case 1:
		q.Aggregation = typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_AVERAGE.Enum()
	}
	if q.StackTraceSelector == nil {
		q.ExemplarType = typesv1.ExemplarType(rng.IntN(4))
	}
	equal(o, asks.SelectSeries, q, func(a *querierv1.SelectSeriesResponse) string { return fmt.Sprint(a.GetSeries()) })
}

// points asks for a heat map, and for the profile of one of its exemplars.
func (o *oracle) points(rng *rand.Rand) {
	kind := rng.IntN(2)
	q := &querierv1.SelectHeatmapRequest{
		ProfileTypeID: o.typ, LabelSelector: o.selector, Start: o.start, End: o.end, Step: []float64{0.5, 15, 3600}[rng.IntN(3)],
		QueryType: querierv1.HeatmapQueryType(1 + kind), ExemplarType: typesv1.ExemplarType(2 + kind),
		GroupBy: [][]string{nil, {"job"}, {"pod", "zone", "__type__"}, {"handler"}}[rng.IntN(4)],
	}
	if rng.IntN(2) == 0 {
		q.Limit = new(rng.Int64N(4))
	}
	var ids []string
	equal(o, asks.SelectHeatmap, q, func(a *querierv1.SelectHeatmapResponse) string {
		for _, s := range a.GetSeries() {
			for _, slot := range s.GetSlots() {
				for _, e := range slot.GetExemplars() {
					ids = append(ids, e.GetProfileId())
				}
			}
		}
		return fmt.Sprint(a.GetSeries())
	})
	if len(ids) == 0 {
		return
	}
	m := &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: o.typ, LabelSelector: o.selector, Start: o.start, End: o.end, ProfileIdSelector: ids[:1]}
	equal(o, asks.SelectMergeStacktraces, m, func(a *querierv1.SelectMergeStacktracesResponse) string {
		if a.GetFlamegraph().GetTotal() == 0 {
			o.t.Errorf("%v: no profile", m)
		}
		return o.paths(a.GetFlamegraph())
	})
}

// ask returns a question for stacks.
func (o *oracle) ask(rng *rand.Rand) *querierv1.SelectMergeStacktracesRequest {
	q := &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: o.typ, LabelSelector: o.selector, Start: o.start, End: o.end}
	switch rng.IntN(4) {
	case 0:
		q.MaxNodes = new(1 + rng.Int64N(30))
	case 1:
		q.SpanSelector = []string{"000000000000abc0", "000000000000ABC1"}
	case 2:
		q.TraceIdSelector = []string{"0000000000000000000000000000def1"}
	}
	if rng.IntN(4) == 0 {
		q.StackTraceSelector = &typesv1.StackTraceSelector{CallSite: []*typesv1.Location{{Name: fmt.Sprintf("main.f%d", rng.IntN(6))}}}
	}
	return q
}

func (o *oracle) stacks(rng *rand.Rand) {
	q := o.ask(rng)
	equal(o, asks.SelectMergeStacktraces, q, func(a *querierv1.SelectMergeStacktracesResponse) string { return o.paths(a.GetFlamegraph()) })
	//nolint:staticcheck // clients ask it
	equal(o, asks.SelectMergeSpanProfile, &querierv1.SelectMergeSpanProfileRequest{
		ProfileTypeID: q.GetProfileTypeID(), LabelSelector: q.GetLabelSelector(), Start: q.GetStart(), End: q.GetEnd(), SpanSelector: []string{"000000000000abc2"}, MaxNodes: q.MaxNodes,
	}, func(a *querierv1.SelectMergeSpanProfileResponse) string { return o.paths(a.GetFlamegraph()) })
	//nolint:staticcheck // clients ask it
	equal(o, asks.SelectMergeProfile, &querierv1.SelectMergeProfileRequest{
		ProfileTypeID: q.GetProfileTypeID(), LabelSelector: q.GetLabelSelector(), Start: q.GetStart(), End: q.GetEnd(), TraceIdSelector: q.GetTraceIdSelector(),
	}, func(a *googlev1.Profile) string { return messageText(o.t, a) })
	other := o.ask(rng)
	other.Start, other.End = queryAt, queryAt+20_000
	equal(o, asks.Diff, &querierv1.DiffRequest{Left: q, Right: other}, func(a *querierv1.DiffResponse) string { return o.diffPaths(a.GetFlamegraph()) })
	q = proto.CloneOf(q)
	q.Format = querierv1.ProfileFormat_PROFILE_FORMAT_PPROF
	equal(o, asks.SelectMergeStacktraces, q, func(a *querierv1.SelectMergeStacktracesResponse) string {
		text := messageText(o.t, a.GetPprof().GetProfile())
		if q.StackTraceSelector != nil { // the header of a node is of profiles with none of the samples, too
			_, text, _ = strings.Cut(text, "\n")
		}
		return text
	})
}

// paths returns the nodes of a flame graph, each with its path and values, sorted.
func (o *oracle) paths(g *querierv1.FlameGraph) string {
	lines := []string{fmt.Sprint(g.GetTotal(), " ", g.GetMaxSelf())}
	var walk func(n *profile.FlameNode, path string)
	walk = func(n *profile.FlameNode, path string) {
		path += ";" + n.Name
		lines = append(lines, fmt.Sprint(path, " ", n.Self, " ", n.Total))
		for _, c := range n.Children {
			walk(c, path)
		}
	}
	walk(treeOf(o.t, g), "")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// diffPaths is paths of a difference: the graph of either side, and that of both.
func (o *oracle) diffPaths(g *querierv1.FlameGraphDiff) string {
	text := fmt.Sprint(g.GetTotal(), g.GetLeftTicks(), g.GetRightTicks(), g.GetMaxSelf())
	both := &querierv1.FlameGraph{Names: g.GetNames()}
	for _, level := range g.GetLevels() { // a node's place is the sum of its places
		values := []int64{}
		for v := level.GetValues(); len(v) > 0; v = v[7:] {
			values = append(values, v[0]+v[3], v[1]+v[4], v[2]+v[5], v[6])
			text += fmt.Sprint(g.GetNames()[v[6]], v[1], v[2], v[4], v[5], "\n")
		}
		both.Levels = append(both.Levels, &querierv1.Level{Values: values})
	}
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return o.paths(both) + strings.Join(lines, "\n")
}

// profileText returns a profile's header and its samples, each with its frames and places, sorted.
func profileText(t *testing.T, data []byte) string {
	t.Helper()
	p, err := pprof.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	var types []string
	for _, typ := range p.SampleType {
		types = append(types, typ.Type)
	}
	for _, s := range p.Sample {
		line := fmt.Sprint(s.Label, s.NumLabel, s.NumUnit)
		for _, l := range s.Location {
			if m := l.Mapping; m != nil {
				line += fmt.Sprintf(" %s %s %x", m.File, m.BuildID, l.Address-m.Start+m.Offset)
			}
			for _, f := range l.Line {
				line += fmt.Sprint(" ", f.Function.Name, " ", f.Function.SystemName, " ", f.Function.Filename, ":", f.Line)
			}
			line += ";"
		}
		for i, at := range slices.Sorted(slices.Values(types)) {
			line += fmt.Sprint(" ", i, "=", s.Value[slices.Index(types, at)])
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	slices.Sort(types)
	return fmt.Sprint(types, p.PeriodType, p.Period, p.TimeNanos, p.DurationNanos, p.DefaultSampleType, p.Comments, "\n", strings.Join(lines, "\n"))
}

func messageText(t *testing.T, m proto.Message) string {
	t.Helper()
	return profileText(t, marshal(t, m))
}

// fetchProfile returns the text of the profile at an address, or the status.
func fetchProfile(t *testing.T, at string) string {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	code, body := fetched(t, u.String())
	if code != http.StatusOK {
		return fmt.Sprint(code)
	}
	return profileText(t, []byte(body))
}
