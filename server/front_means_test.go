package server

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	pprof "github.com/google/pprof/profile"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/profile"
)

// nodesWith returns nodes with a profile of random stacks each, under labels.
func nodesWith(t *testing.T, change func(*pprof.Profile), labels ...map[string]string) (urls []string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 4))
	for _, l := range labels {
		s := newServer(t, Options{})
		p := randomProfile(rng, queryAt)
		change(p)
		if _, err := s.db.Insert(t.Context(), p, profile.InsertOptions{Labels: l}); err != nil {
			t.Fatal(err)
		}
		urls = append(urls, serve(t, s))
	}
	return urls
}

// TestFront_Kinds refuses to add up kinds of two nodes, as one node refuses its own.
func TestFront_Kinds(t *testing.T) {
	delays := func(p *pprof.Profile) { p.SampleType[1] = &pprof.ValueType{Type: "delay", Unit: "nanoseconds"} }
	urls := nodesWith(t, delays, map[string]string{profile.NameLabel: "block"}, map[string]string{profile.NameLabel: "mutex"}, nil)
	_, front := newFront(t, Nodes{URLs: urls}, Options{})
	if code, body := fetched(t, front+"/pprof?type=delay"); code != http.StatusBadRequest || !strings.Contains(body, "different kinds") {
		t.Errorf("delays of block and mutex: %d %s", code, body)
	}
	if code, body := fetched(t, front+"/pprof?type=delay&selector=mutex"); code != http.StatusOK {
		t.Errorf("delays of mutex: %d %s", code, body)
	}
	const unnamedID = "profile:delay:nanoseconds:cpu:nanoseconds"
	c := clients(t, front)["connect"]
	graph := func() error {
		_, err := c.SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: unnamedID}))
		return err
	}
	series := func() error {
		_, err := c.SelectSeries(t.Context(), connect.NewRequest(&querierv1.SelectSeriesRequest{ProfileTypeID: unnamedID, Step: 10}))
		return err
	}
	if err := graph(); err != nil {
		t.Errorf("delays without a name, of one node: %v", err)
	}
	others := nodesWith(t, func(p *pprof.Profile) {
		delays(p)
		p.SampleType[0] = &pprof.ValueType{Type: "contentions", Unit: "count"}
	}, nil)
	_, front = newFront(t, Nodes{URLs: append(urls, others...)}, Options{})
	c = clients(t, front)["connect"]
	for _, err := range []error{graph(), series()} {
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "different kinds") {
			t.Errorf("delays without a name, of two kinds: %v", err)
		}
	}
}

// TestFront_Means refuses means of gauges that two nodes have, and adds up what is asked as a sum.
func TestFront_Means(t *testing.T) {
	urls := nodesWith(t, func(p *pprof.Profile) { p.SampleType[1] = &pprof.ValueType{Type: "inuse_space", Unit: "bytes"} },
		map[string]string{profile.NameLabel: "memory", "pod": "a"}, map[string]string{profile.NameLabel: "memory", "pod": "b"})
	_, front := newFront(t, Nodes{URLs: urls}, Options{})
	c := clients(t, front)["connect"]
	const id = "memory:inuse_space:bytes:cpu:nanoseconds"
	for selector, want := range map[string]connect.Code{"": connect.CodeUnimplemented, `{pod="a"}`: 0} {
		_, err := c.SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: id, LabelSelector: selector}))
		_, err2 := c.SelectSeries(t.Context(), connect.NewRequest(&querierv1.SelectSeriesRequest{ProfileTypeID: id, LabelSelector: selector, Step: 10}))
		for _, err := range []error{err, err2} {
			if err != nil && (connect.CodeOf(err) != want || !strings.Contains(err.Error(), "a mean over nodes")) || (err == nil) != (want == 0) {
				t.Errorf("selector %s: %v, want %v", selector, err, want)
			}
		}
	}
	m := &querierv1.SelectSeriesRequest{ProfileTypeID: id, Step: 10, Aggregation: typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_SUM.Enum()}
	var sums []float64
	for _, url := range append(urls, front) {
		lines, err := clients(t, url)["connect"].SelectSeries(t.Context(), connect.NewRequest(m))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, lines.Msg.GetSeries()[0].GetPoints()[0].GetValue())
	}
	if sums[0]+sums[1] != sums[2] {
		t.Errorf("sums %v", sums)
	}
	lines, err := c.SelectSeries(t.Context(), connect.NewRequest(&querierv1.SelectSeriesRequest{ProfileTypeID: id, Step: 10, GroupBy: []string{"pod"}}))
	if err != nil || len(lines.Msg.GetSeries()) != 2 || lines.Msg.GetSeries()[1].GetPoints()[0].GetValue() != sums[1] {
		t.Errorf("lines of a source each: %v, %v, want %v", lines, err, sums)
	}
	if code, body := fetched(t, front+"/pprof?type=inuse_space"); code != http.StatusNotImplemented {
		t.Errorf("pprof: %d %s", code, body)
	}
}

// TestFront_Averages refuses averages of two nodes' profiles, and answers those of one's.
func TestFront_Averages(t *testing.T) {
	urls := nodesWith(t, func(*pprof.Profile) {}, map[string]string{profile.NameLabel: "process_cpu", "pod": "a"}, map[string]string{profile.NameLabel: "process_cpu", "pod": "b"})
	_, front := newFront(t, Nodes{URLs: urls}, Options{})
	ask := func(url string, by ...string) (*connect.Response[querierv1.SelectSeriesResponse], error) {
		return clients(t, url)["connect"].SelectSeries(t.Context(), connect.NewRequest(&querierv1.SelectSeriesRequest{
			ProfileTypeID: cpuID, Step: 10, GroupBy: by, Aggregation: typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_AVERAGE.Enum(),
		}))
	}
	if _, err := ask(front); connect.CodeOf(err) != connect.CodeUnimplemented || !strings.Contains(err.Error(), "a mean over nodes") {
		t.Errorf("an average over two nodes: %v", err)
	}
	lines, err := ask(front, "pod")
	if err != nil || len(lines.Msg.GetSeries()) != 2 {
		t.Fatalf("%v, %v, want two lines", lines, err)
	}
	for i, url := range urls {
		want, err := ask(url, "pod")
		if err != nil || fmt.Sprint(lines.Msg.GetSeries()[i]) != fmt.Sprint(want.Msg.GetSeries()[0]) {
			t.Errorf("%v, want %v, %v", lines.Msg.GetSeries()[i], want, err)
		}
	}
}

// TestFront_MeansOfOneSource: a profile without any selected sample counts for the mean of its source, so the
// node that has it is one of two, although it answers nothing.
func TestFront_MeansOfOneSource(t *testing.T) {
	first := true
	source := map[string]string{profile.NameLabel: "memory", "pod": "a"}
	urls := nodesWith(t, func(p *pprof.Profile) {
		p.SampleType[1] = &pprof.ValueType{Type: "inuse_space", Unit: "bytes"}
		if first {
			for _, s := range p.Sample {
				s.Label = nil
			}
		}
		first = false
	}, source, source)
	_, front := newFront(t, Nodes{URLs: urls}, Options{})
	c := clients(t, front)["connect"]
	const id = "memory:inuse_space:bytes:cpu:nanoseconds"
	span := []string{"000000000000abc0"}
	_, err := c.SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: id, SpanSelector: span}))
	_, err2 := c.SelectSeries(t.Context(), connect.NewRequest(&querierv1.SelectSeriesRequest{ProfileTypeID: id, LabelSelector: `{span_id="` + span[0] + `"}`, Step: 10}))
	_, err3 := c.Diff(t.Context(), connect.NewRequest(&querierv1.DiffRequest{
		Left:  &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: id, LabelSelector: `{pod="b"}`},
		Right: &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: id, SpanSelector: span},
	}))
	for i, err := range []error{err, err2, err3} {
		if connect.CodeOf(err) != connect.CodeUnimplemented || !strings.Contains(err.Error(), "a mean over nodes") {
			t.Errorf("question %d: %v", i, err)
		}
	}
	for _, query := range []string{"type=inuse_space&", ""} {
		if code, body := fetched(t, front+"/pprof?"+query+"selector=%7Bspan_id%3D%22"+span[0]+"%22%7D"); code != http.StatusNotImplemented || !strings.Contains(body, "a mean over nodes") {
			t.Errorf("pprof %s: %d %.100q", query, code, body)
		}
	}
}
