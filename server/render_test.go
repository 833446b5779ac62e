package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/flametest"
)

// rendered is an answer of GET /pyroscope/render, as its clients read it.
type rendered struct {
	Version     int
	Flamebearer struct {
		Names             []string
		Levels            [][]int64
		NumTicks, MaxSelf int64
	}
	Metadata struct {
		Format, Units, Name string
		SampleRate          int64
	}
	Timeline              *renderedLine
	Groups                map[string]renderedLine
	LeftTicks, RightTicks int64
}

type renderedLine struct {
	StartTime     int64
	Samples       []int64
	DurationDelta int64
}

// widths returns the widths of each path.
func (r *rendered) widths(t *testing.T, sides int) map[string]flametest.Widths {
	t.Helper()
	var levels []*querierv1.Level
	for _, values := range r.Flamebearer.Levels {
		levels = append(levels, &querierv1.Level{Values: values})
	}
	return flametest.Decode(t, r.Flamebearer.Names, levels, sides)
}

// renders asks a GET with parameters by pairs of name and value.
func renders(t *testing.T, path string, of ...string) (out rendered) {
	t.Helper()
	if err := json.Unmarshal([]byte(asked(t, path, of...)), &out); err != nil {
		t.Fatalf("%s %v: %v", path, of, err)
	}
	return out
}

// asked returns the answer to a GET.
func asked(t *testing.T, path string, of ...string) string {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(of); i += 2 {
		values.Set(of[i], of[i+1])
	}
	status, text := fetched(t, path+"?"+values.Encode())
	if status != http.StatusOK {
		t.Fatalf("%s %v: status %d: %s", path, of, status, text)
	}
	return text
}

// pathsIn returns the widths of the made profiles that selectors choose, by side.
func pathsIn(t *testing.T, selectors ...string) map[string]flametest.Widths {
	t.Helper()
	a := newAsker(t, Options{})
	a.insertMade()
	var roots []*profile.FlameNode
	for _, s := range selectors {
		roots = append(roots, a.graph(s, 0))
	}
	return flametest.PathsOf(roots...)
}

// TestRender draws the made profiles from a store, from older profiles and from nodes.
func TestRender(t *testing.T) {
	from, until := fmt.Sprint(madeAt.Unix()), fmt.Sprint(madeAt.Add(3*time.Minute).UnixMilli())
	want, podWant := pathsIn(t, "process_cpu"), pathsIn(t, `process_cpu{pod="pod-1"}`)
	for name, at := range everywhere(t) {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/pyroscope/render", "/render"} {
				got := renders(t, at+path, "query", cpuID+"{}", "from", from, "until", until, "groupBy", "pod")
				if paths := got.widths(t, 1); !reflect.DeepEqual(paths, want) {
					t.Errorf("%s: %s", path, flametest.FirstDifference(paths, want))
				}
				if m := got.Metadata; got.Version != 1 || m.Format != "single" || m.Units != "samples" || m.SampleRate != 1e9 || m.Name != "cpu" || got.Flamebearer.NumTicks != want["total"].Total[0] {
					t.Errorf("%s: %+v, %d", path, m, got.Flamebearer.NumTicks)
				}
				checkTimelines(t, &got)
			}
			got := renders(t, at+"/pyroscope/render", "query", cpuID+`{pod="pod-1"}`, "from", "20260131", "until", until, "max-nodes", "2")
			if paths := got.widths(t, 1); paths["total"] != podWant["total"] || len(paths) > 5 || !slices.Contains(got.Flamebearer.Names, "other") || got.Groups != nil {
				t.Errorf("2 nodes: %v", paths)
			}
			if got := renders(t, at+"/render", "query", cpuID, "from", "now-1h"); got.Flamebearer.NumTicks != 0 || len(got.Flamebearer.Names) != 1 || slices.Max(got.Timeline.Samples) != 0 {
				t.Errorf("an hour without profiles: %+v", got)
			}

			graph := asked(t, at+"/pyroscope/render", "query", cpuID+`{pod="pod-1"}`, "from", from, "until", until, "format", "dot", "maxNodes", "3")
			sum := func(part int) string { return profile.FormatValue(int64(part)*(2+12+22+32+42+52), "nanoseconds") }
			for _, line := range []string{
				`"cpu, total ` + sum(11) + `, 3 functions"`, `[label="main\n` + sum(5) + ` (45.45%)\nof ` + sum(11) + ` (100%)"`, `[label="g\n` + sum(0) + ` (0%)\nof ` + sum(8) + ` (72.73%)"`,
				`[label="f\n` + sum(2) + ` (18.18%)\nof ` + sum(8) + ` (72.73%)"`,
			} {
				if !strings.Contains(graph, line) {
					t.Errorf("no %s in %s", line, graph)
				}
			}
			if strings.Contains(graph, "leaf") || strings.Count(graph, " -> ") != 4 { // main to f and g, f to g, g to main
				t.Errorf("%s", graph)
			}
		})
	}
}

// checkTimelines holds values over time of the made profiles, from their first minute on.
func checkTimelines(t *testing.T, got *rendered) {
	t.Helper()
	whole := make([]int64, 19)
	for pod, line := range got.Groups {
		want := make([]int64, len(whole))
		for i := range 6 {
			want[3*i] = int64(11 * (10*i + 1 + int(pod[len(pod)-1]-'0')))
			whole[3*i] += want[3*i]
		}
		if !reflect.DeepEqual(line, renderedLine{madeAt.Unix(), want, 10}) {
			t.Errorf("%s: %+v, want %v", pod, line, want)
		}
	}
	if !reflect.DeepEqual(*got.Timeline, renderedLine{madeAt.Unix(), whole, 10}) || len(got.Groups) != 2 {
		t.Errorf("%+v, want %v", got.Timeline, whole)
	}
}

// TestRender_Diff draws a difference of two pods.
func TestRender_Diff(t *testing.T) {
	want := pathsIn(t, `process_cpu{pod="pod-0"}`, `process_cpu{pod="pod-1"}`)
	from, until := fmt.Sprint(madeAt.UnixMilli()), fmt.Sprint(madeAt.Add(time.Hour).UnixMilli())
	for name, at := range everywhere(t) {
		of := []string{"leftQuery", cpuID + `{pod="pod-0"}`, "leftFrom", from, "leftUntil", until, "rightQuery", cpuID + `{pod="pod-1"}`, "rightFrom", from, "rightUntil", until, "max-nodes", "16384"}
		got := renders(t, at+"/pyroscope/render-diff", of...)
		if paths := got.widths(t, 2); !reflect.DeepEqual(paths, want) {
			t.Errorf("%s: %s", name, flametest.FirstDifference(paths, want))
		}
		if total := want["total"].Total; got.Metadata.Format != "double" || got.LeftTicks != total[0] || got.RightTicks != total[1] || got.Flamebearer.NumTicks != total[0]+total[1] || got.Timeline != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestRender_Labels lists names and values of labels.
func TestRender_Labels(t *testing.T) {
	for name, at := range everywhere(t) {
		for query, want := range map[string]string{
			"/pyroscope/label-values?label=pod":                                    `["pod-0","pod-1"]`,
			"/label-values?label=pod&query=%7Bpod!%3D%22pod-0%22%7D&from=20260101": `["pod-1"]`,
			"/pyroscope/label-values?label=__name__":                               `["` + cpuID + `"]`,
			"/pyroscope/label-values?label=none":                                   `[]`,
			"/pyroscope/label-values?label=pod&query=memory:a:b:c:d%7B%7D":         `[]`,
		} {
			if status, text := fetched(t, at+query); status != http.StatusOK || strings.TrimSpace(text) != want {
				t.Errorf("%s: %s: status %d: %s", name, query, status, text)
			}
		}
		var names []string
		if err := json.Unmarshal([]byte(asked(t, at+"/pyroscope/labels", "query", cpuID+"{}")), &names); err != nil || !slices.Contains(names, "job") || !slices.Contains(names, "pod") {
			t.Errorf("%s: %v, %v", name, names, err)
		}
	}
}

// TestRender_Front compares the answers of a front with those of one node, for all kinds of types.
func TestRender_Front(t *testing.T) {
	one, front := split(t, 2, 11)
	rng := rand.New(rand.NewPCG(13, 2))
	for range 12 {
		of := []string{"query", frontTypes[rng.IntN(len(frontTypes)-1)] + `{pod!="` + fmt.Sprint(rng.IntN(5)) + `"}`, "from", fmt.Sprint(queryAt - 7_200_000), "until", fmt.Sprint(queryAt + 60_000), "groupBy", "job"}
		got, want := renders(t, front+"/render", of...), renders(t, one+"/render", of...)
		if paths, all := got.widths(t, 1), want.widths(t, 1); !reflect.DeepEqual(paths, all) {
			t.Errorf("%v: %s", of, flametest.FirstDifference(paths, all))
		}
		if !reflect.DeepEqual(got.Groups, want.Groups) || !reflect.DeepEqual(got.Timeline, want.Timeline) || got.Metadata != want.Metadata {
			t.Errorf("%v: %+v, want %+v", of, got, want)
		}
		of = append(of[:6], "format", "dot", "max-nodes", "4")
		if got, want := asked(t, front+"/render", of...), asked(t, one+"/render", of...); got != want {
			t.Errorf("%v: %s, want %s", of, got, want)
		}
	}
}

// TestRender_Limits refuses an answer beyond the limits of a server.
func TestRender_Limits(t *testing.T) {
	a := newAsker(t, Options{Limits: Limits{QueryBytes: 40 << 10}})
	for i := range 10 {
		a.insert(madeAt, cpuType, map[string]string{profile.NameLabel: "process_cpu", "pod": fmt.Sprint(i)}, made{stack: "f", value: 1})
	}
	query := a.url + "/render?query=" + cpuID + "&from=1769850000&until=1769864000"
	if status, text := fetched(t, query); status != http.StatusOK {
		t.Errorf("status %d: %s", status, text)
	}
	if status, text := fetched(t, query+"&groupBy=pod"); status != http.StatusUnprocessableEntity || !strings.Contains(text, "10 timelines") {
		t.Errorf("status %d: %s", status, text)
	}
	small := newAsker(t, Options{Limits: Limits{ResultBytes: 100}})
	small.insertMade()
	for _, format := range []string{"json", "dot"} {
		if status, text := fetched(t, small.url+"/render?query="+cpuID+"&from=1769850000&format="+format); status != http.StatusUnprocessableEntity || !strings.Contains(text, "more than 100 bytes") {
			t.Errorf("%s: status %d: %s", format, status, text)
		}
	}
}

// TestIngest_BelowPyroscope pushes to the other path of /ingest.
func TestIngest_BelowPyroscope(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	r.want(http.StatusOK, "", r.request(http.MethodPost, "/pyroscope/ingest?name=shop", small(t, 1)))
	if r.rows() != 2 {
		t.Errorf("%d rows", r.rows())
	}
}

// TestStacks_Formats asks for trees and call graphs by querier.v1. They are the same wherever the profiles are, but for the order
// of a tree's nodes.
func TestStacks_Formats(t *testing.T) {
	of := []string{"query", cpuID + "{}", "from", "20260131", "until", "20260201", "format", "dot"}
	var first *querierv1.SelectMergeStacktracesResponse
	urls := everywhere(t)
	for name, c := range queriers(t) {
		got := &querierv1.SelectMergeStacktracesResponse{}
		for _, format := range []querierv1.ProfileFormat{querierv1.ProfileFormat_PROFILE_FORMAT_TREE, querierv1.ProfileFormat_PROFILE_FORMAT_DOT} {
			resp, err := c.SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID, LabelSelector: "{}", Format: format}))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			proto.Merge(got, resp.Msg)
		}
		if graph := asked(t, urls[name]+"/pyroscope/render", of...); got.GetDot() != graph {
			t.Errorf("%s: %s, want %s", name, got.GetDot(), graph)
		}
		if sum := len("mainfleafgleaffgmain"); len(got.GetTree()) < sum || got.GetFlamegraph() != nil || got.GetPprof() != nil {
			t.Errorf("%s: %v", name, got)
		}
		slices.Sort(got.Tree)
		if first == nil {
			first = got
		}
		if !proto.Equal(got, first) {
			t.Errorf("%s: %v, want %v", name, got, first)
		}
		//nolint:staticcheck // older clients ask it
		span, err := c.SelectMergeSpanProfile(t.Context(), connect.NewRequest(&querierv1.SelectMergeSpanProfileRequest{
			ProfileTypeID: cpuID, LabelSelector: "{}", SpanSelector: []string{"00000000000000a1"}, Format: querierv1.ProfileFormat_PROFILE_FORMAT_TREE,
		}))
		if err != nil || !bytes.Contains(span.Msg.GetTree(), []byte("leaf")) || bytes.Contains(span.Msg.GetTree(), []byte("g")) || span.Msg.GetFlamegraph() != nil {
			t.Errorf("%s: %v, %v", name, span, err)
		}
	}
}
