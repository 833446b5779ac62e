package server

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"connectrpc.com/connect"
	pprof "github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fanout"
	"github.com/granarydb/granary/server/internal/flametest"
)

// nodesWith returns nodes with a profile of random stacks each, under labels.
func nodesWith(t *testing.T, change func(*pprof.Profile), labels ...map[string]string) (urls []string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 4))
	for _, l := range labels {
		s := newServer(t, Options{})
		p := flametest.RandomProfile(rng, queryAt)
		change(p)
		if _, err := s.db().Insert(t.Context(), p, profile.InsertOptions{Labels: l}); err != nil {
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

// TestFront_Means compares means and averages over nodes with those of one node that has all profiles: of sources
// of their own, and of one that is on both. A profile counts for the mean of its source, even if none of its
// samples is selected: here the node that has it answers no stacks.
func TestFront_Means(t *testing.T) {
	const id, span = "memory:inuse_space:bytes:cpu:nanoseconds", "000000000000abc0"
	a, b := map[string]string{profile.NameLabel: "memory", "pod": "a"}, map[string]string{profile.NameLabel: "memory", "pod": "b"}
	for name, labels := range map[string][]map[string]string{"two sources": {a, b}, "one source": {a, a}, "both": {a, b, a, a}} {
		t.Run(name, func(t *testing.T) {
			all := newServer(t, Options{})
			n := 0
			urls := nodesWith(t, func(p *pprof.Profile) {
				p.SampleType[1] = &pprof.ValueType{Type: "inuse_space", Unit: "bytes"}
				p.TimeNanos += int64(n)
				if n == 1 {
					for _, s := range p.Sample {
						s.Label = nil
					}
				}
				if _, err := all.db().Insert(t.Context(), p, profile.InsertOptions{Labels: labels[n]}); err != nil {
					t.Fatal(err)
				}
				n++
			}, labels...)
			_, front := newFront(t, Nodes{URLs: urls}, Options{})
			one := serve(t, all)
			o := oracle{t: t, one: clients(t, one)["connect"], front: clients(t, front)["connect"]}
			stacks := func(a *querierv1.SelectMergeStacktracesResponse) string { return o.paths(a.GetFlamegraph()) }
			lines := func(a *querierv1.SelectSeriesResponse) string { return fmt.Sprint(a.GetSeries()) }
			for _, spans := range [][]string{nil, {span}} {
				for _, selector := range []string{"", `{pod="a"}`, `{pod="c"}`, `{span_id="` + span + `"}`} {
					q := &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: id, LabelSelector: selector, SpanSelector: spans}
					equal(&o, asks.SelectMergeStacktraces, q, stacks)
					equal(&o, asks.Diff, &querierv1.DiffRequest{Left: q, Right: &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: id}}, func(a *querierv1.DiffResponse) string { return o.diffPaths(a.GetFlamegraph()) })
					for _, by := range [][]string{nil, {"pod"}, {"pod", "span_id"}} {
						q := &querierv1.SelectSeriesRequest{ProfileTypeID: id, LabelSelector: selector, Step: 10, GroupBy: by}
						equal(&o, asks.SelectSeries, q, lines)
						for _, aggregation := range []typesv1.TimeSeriesAggregationType{typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_SUM, typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_AVERAGE} {
							q.Aggregation = aggregation.Enum()
							equal(&o, asks.SelectSeries, q, lines)
						}
					}
				}
			}
			for _, query := range []string{"type=inuse_space", "type=inuse_space&selector=" + url.QueryEscape(`{span_id="`+span+`"}`), "type=inuse_space&selector=" + url.QueryEscape(`{pod="c"}`)} {
				if got, want := fetchProfile(t, front+"/pprof?"+query), fetchProfile(t, one+"/pprof?"+query); got != want {
					t.Errorf("pprof %s:\n%s\nwant\n%s", query, got, want)
				}
			}
			if code, body := fetched(t, front+"/pprof"); code != http.StatusNotImplemented || !strings.Contains(body, "choose a type") {
				t.Errorf("pprof of all types: %d %.100q", code, body)
			}
		})
	}
}

// TestFront_HostileMeans has a node that answers wrongly what means are made from. The error names it, or the answer
// is the other node's.
func TestFront_HostileMeans(t *testing.T) {
	gauges := func(p *pprof.Profile) { p.SampleType[1] = &pprof.ValueType{Type: "inuse_space", Unit: "bytes"} }
	good := nodesWith(t, gauges, map[string]string{profile.NameLabel: "memory", "pod": "a"})
	const id = "memory:inuse_space:bytes:cpu:nanoseconds"
	named := []*typesv1.LabelPair{{Name: profile.NameLabel, Value: "memory"}, {Name: "pod", Value: "a"}} // the good node's source
	source := func(times string, profiles ...string) *pushv1.PushRequest {
		s := &pushv1.RawProfileSeries{Labels: named, Annotations: []*typesv1.ProfileAnnotation{{Key: "times", Value: times}}}
		for _, p := range profiles {
			s.Samples = append(s.Samples, &pushv1.RawSample{RawProfile: []byte(p)})
		}
		return &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{s}}
	}
	line := func(key, value string, labels ...*typesv1.LabelPair) *querierv1.SelectSeriesResponse {
		p := &typesv1.Point{Timestamp: queryAt, Value: 5, Annotations: []*typesv1.ProfileAnnotation{{Key: key, Value: value}}}
		return &querierv1.SelectSeriesResponse{Series: []*typesv1.Series{{Labels: labels, Points: []*typesv1.Point{p}}}}
	}
	of := fanout.SourcePair([]profile.Label{{Name: profile.NameLabel, Value: "memory"}, {Name: "pod", Value: "a"}})
	for name, tc := range map[string]struct {
		answer  proto.Message
		isOld   bool
		says    string
		average bool
	}{
		"no times":          {answer: source("0"), says: "0 profiles at 0 times"},
		"negative times":    {answer: source("-1"), says: "at -1 times"},
		"too many times":    {answer: source("1099511627777"), says: "times"},
		"no number":         {answer: source("many"), says: "invalid syntax"},
		"two profiles":      {answer: source("1", "", ""), says: "2 profiles"},
		"no profile":        {answer: source("1", "x"), says: "a wrong answer"},
		"half a profile":    {answer: &pushv1.PushRequest{Series: append(source("1").Series, source("1", "x").Series...)}, says: "a wrong answer"},
		"half a line":       {answer: &querierv1.SelectSeriesResponse{Series: append(line("times", "7", of).Series, line("times", "-3", of).Series...)}, says: "at -3 times"},
		"old":               {isOld: true, says: "is it a Granary of this version?"},
		"a line of nobody":  {answer: line("sum", "1"), says: "without its source"},
		"a point of none":   {answer: line("other", "1", of), says: "no annotation sum"},
		"a sum of text":     {answer: line("sum", "1e3", of), says: "invalid syntax"},
		"times of a line":   {answer: line("times", "-3", of), says: "a source at -3 times"},
		"an average of 0":   {answer: line("times", "0"), says: "an average of 0 profiles", average: true},
		"an average of all": {answer: line("times", "9223372036854775807"), says: "an average of", average: true},
		"an old series":     {answer: &querierv1.SelectSeriesResponse{}, isOld: true, says: "is it a Granary of this version?"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tc.answer == nil {
					http.NotFound(w, r)
					return
				}
				if !tc.isOld {
					w.Header().Set(fanout.SourcesHeader, "1")
				}
				w.Header().Set("Content-Type", "application/proto")
				_, _ = w.Write(marshal(t, tc.answer))
			}))
			defer bad.Close()
			ask := func(front string) (string, error) {
				c := clients(t, front)["connect"]
				if _, isSeries := tc.answer.(*querierv1.SelectSeriesResponse); isSeries {
					q := &querierv1.SelectSeriesRequest{ProfileTypeID: id, Step: 10}
					if tc.average {
						q.Aggregation = typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_AVERAGE.Enum()
					}
					out, err := c.SelectSeries(t.Context(), connect.NewRequest(q))
					if err != nil {
						return "", err
					}
					return fmt.Sprint(out.Msg.GetSeries()), nil
				}
				//nolint:staticcheck // clients ask it
				out, err := c.SelectMergeProfile(t.Context(), connect.NewRequest(&querierv1.SelectMergeProfileRequest{ProfileTypeID: id}))
				if err != nil {
					return "", err
				}
				out.Msg.Comment = nil // the missing node
				return messageText(t, out.Msg), nil
			}
			_, front := newFront(t, Nodes{URLs: append(good, bad.URL)}, Options{})
			if _, err := ask(front); err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), bad.URL) {
				t.Errorf("%v, want %q of %s", err, tc.says, bad.URL)
			}
			_, front = newFront(t, Nodes{URLs: append(good, bad.URL), PartialAnswers: true}, Options{})
			got, err := ask(front)
			if want, err2 := ask(good[0]); err != nil || err2 != nil || got != want {
				t.Errorf("a partial answer: %.300s, %v\nwant that of the good node: %.300s, %v", got, err, want, err2)
			}
		})
	}
}
