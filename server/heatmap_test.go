package server

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
)

// madePoint is a made profile, or its span.
type madePoint struct {
	at           int64 // Unix milliseconds
	pod          string
	profile, own int64 // its value, and that of its span
	span         string
}

func madePoints() (all []madePoint) {
	for i := range 6 {
		for pod := range 2 {
			n := int64(10*i + pod + 1)
			at := madeAt.Add(time.Duration(i)*30*time.Second + time.Duration(pod)*time.Millisecond)
			all = append(all, madePoint{at.UnixMilli(), fmt.Sprint("pod-", pod), 11 * n, n, fmt.Sprintf("%016x", 0xa0+i)})
		}
	}
	return all
}

// queriers returns clients of all servers of the made profiles.
func queriers(t *testing.T) map[string]querierv1connect.QuerierServiceClient {
	t.Helper()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	out := map[string]querierv1connect.QuerierServiceClient{}
	for name, url := range everywhere(t) {
		out[name] = querierv1connect.NewQuerierServiceClient(http.DefaultClient, url)
	}
	return out
}

// TestHeatmap counts the made profiles and their spans by minute and value, and asks for the profiles of the exemplars.
func TestHeatmap(t *testing.T) {
	for name, c := range queriers(t) {
		for _, isSpan := range []bool{false, true} {
			kind := map[bool]int32{true: 1}[isSpan]
			resp, err := c.SelectHeatmap(t.Context(), connect.NewRequest(&querierv1.SelectHeatmapRequest{
				ProfileTypeID: cpuID, LabelSelector: `{job="made"}`, Step: 60, GroupBy: []string{"pod", "__type__"}, Start: madeAt.UnixMilli(), End: madeAt.Add(time.Hour).UnixMilli(),
				QueryType: querierv1.HeatmapQueryType(1 + kind), ExemplarType: typesv1.ExemplarType(2 + kind),
			}))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(resp.Msg.GetSeries()) != 2 {
				t.Fatalf("%s: %v", name, resp.Msg)
			}
			for i, s := range resp.Msg.GetSeries() {
				pod := fmt.Sprint("pod-", i)
				if l := s.GetLabels(); len(l) != 2 || l[0].GetValue() != "cpu" || l[1].GetValue() != pod {
					t.Errorf("%s: labels %v", name, l)
				}
				checkSlots(t, s.GetSlots(), pod, isSpan)
			}
			checkExemplars(t, c, resp.Msg)
		}
	}
}

// checkSlots holds the slots of a pod.
func checkSlots(t *testing.T, slots []*typesv1.HeatmapSlot, pod string, isSpan bool) {
	t.Helper()
	const minute = 60_000
	value := func(p madePoint) int64 { return map[bool]int64{true: p.own, false: p.profile}[isSpan] }
	want := map[int64][]madePoint{} // by the end of a minute
	least, most := int64(1<<62), int64(0)
	for _, p := range madePoints() {
		if end := (p.at + minute - 1) / minute * minute; p.pod == pod {
			want[end] = append(want[end], p)
		}
		least, most = min(least, value(p)), max(most, value(p))
	}
	if len(slots) != len(want) {
		t.Fatalf("%s: %d slots, want %d", pod, len(slots), len(want))
	}
	for _, slot := range slots {
		bounds := slot.GetYMin()
		if len(bounds) != 20 || bounds[0] != float64(least) || bounds[1] != float64(least)+float64(most-least)/20 || len(slot.GetExemplars()) == 0 {
			t.Fatalf("%s: cells from %v, %d exemplars", pod, bounds, len(slot.GetExemplars()))
		}
		for _, p := range want[slot.GetTimestamp()] {
			cell := len(bounds) - 1
			for cell > 0 && float64(value(p)) < bounds[cell] {
				cell--
			}
			if slot.Counts[cell]--; slot.Counts[cell] < 0 {
				t.Errorf("%s: %+v is not in cell %d of %v", pod, p, cell, slot)
			}
			if i := slices.IndexFunc(slot.GetExemplars(), func(e *typesv1.Exemplar) bool {
				return e.GetTimestamp() == p.at && e.GetValue() == value(p) && (e.GetSpanId() == p.span) == isSpan && (e.GetTraceId() != "") == isSpan && e.GetProfileId() != "" && fmt.Sprint(e.GetLabels()) == fmt.Sprint([]*typesv1.LabelPair{{Name: "job", Value: "made"}})
			}); i < 0 {
				t.Errorf("%s: no exemplar of %+v in %v", pod, p, slot.GetExemplars())
			}
		}
		if slices.Max(slot.GetCounts()) > 0 {
			t.Errorf("%s: further points at %d: %v", pod, slot.GetTimestamp(), slot.GetCounts())
		}
	}
}

// checkExemplars asks for the profile of each exemplar, in the forms of stacks.
func checkExemplars(t *testing.T, c querierv1connect.QuerierServiceClient, m *querierv1.SelectHeatmapResponse) {
	t.Helper()
	byTime := map[int64]int64{}
	for _, p := range madePoints() {
		byTime[p.at] = p.profile
	}
	ask := func(id string, start int64) int64 {
		q := &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID, LabelSelector: "{}", Start: start, ProfileIdSelector: []string{id}}
		graph, err := c.SelectMergeStacktraces(t.Context(), connect.NewRequest(q))
		if err != nil {
			t.Fatal(err)
		}
		//nolint:staticcheck // Drilldown asks it
		whole, err := c.SelectMergeProfile(t.Context(), connect.NewRequest(&querierv1.SelectMergeProfileRequest{ProfileTypeID: cpuID, LabelSelector: "{}", Start: start, ProfileIdSelector: []string{id}}))
		if err != nil {
			t.Fatal(err)
		}
		if sum := valuesOf(pprofOf(t, whole.Msg)); sum != graph.Msg.GetFlamegraph().GetTotal() {
			t.Errorf("%s: %d as pprof, %d as a graph", id, sum, graph.Msg.GetFlamegraph().GetTotal())
		}
		return graph.Msg.GetFlamegraph().GetTotal()
	}
	for _, s := range m.GetSeries() {
		e := s.GetSlots()[0].GetExemplars()[0]
		if got := ask(e.GetProfileId(), 0); got != byTime[e.GetTimestamp()] {
			t.Errorf("%v: %d, want %d", e, got, byTime[e.GetTimestamp()])
		}
		if got := ask(e.GetProfileId(), e.GetTimestamp()+1); got != 0 {
			t.Errorf("%v: %d from another time", e, got)
		}
		other := []byte(e.GetProfileId())
		other[len(other)-1] ^= 1 // other labels
		if got := ask(string(other), 0); got != 0 {
			t.Errorf("%s: %d of no profile", other, got)
		}
	}
}

// TestExemplars asks for values over time with the greatest profile or span of each step.
func TestExemplars(t *testing.T) {
	for name, c := range queriers(t) {
		for _, kind := range []typesv1.ExemplarType{typesv1.ExemplarType_EXEMPLAR_TYPE_NONE, typesv1.ExemplarType_EXEMPLAR_TYPE_INDIVIDUAL, typesv1.ExemplarType_EXEMPLAR_TYPE_SPAN} {
			resp, err := c.SelectSeries(t.Context(), connect.NewRequest(&querierv1.SelectSeriesRequest{ProfileTypeID: cpuID, LabelSelector: "{}", Step: 60, GroupBy: []string{"job"}, ExemplarType: kind}))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			points := resp.Msg.GetSeries()[0].GetPoints()
			if len(resp.Msg.GetSeries()) != 1 || len(points) != 3 {
				t.Fatalf("%s: %v", name, resp.Msg)
			}
			for i, p := range points {
				n := int64(20*i + 12)
				switch e := p.GetExemplars(); {
				case kind == typesv1.ExemplarType_EXEMPLAR_TYPE_NONE && len(e) == 0:
				case len(e) != 1 || e[0].GetTimestamp() != p.GetTimestamp()+30_001 || len(e[0].GetLabels()) != 1 || e[0].GetLabels()[0].GetValue() != "pod-1":
					t.Errorf("%s: %v", name, e)
				case kind == typesv1.ExemplarType_EXEMPLAR_TYPE_SPAN && (e[0].GetValue() != n || e[0].GetSpanId() != fmt.Sprintf("%016x", 0xa1+2*i)),
					kind == typesv1.ExemplarType_EXEMPLAR_TYPE_INDIVIDUAL && (e[0].GetValue() != 11*n || e[0].GetSpanId() != ""):
					t.Errorf("%s: %v, want %d", name, e[0], n)
				}
			}
		}
	}
}

// TestHeatmap_Cells has values that are close, and one value: a client needs two cells to see their height.
func TestHeatmap_Cells(t *testing.T) {
	for values, want := range map[[2]int64][]float64{{7, 7}: {7, 8}, {7, 8}: {7, 8}, {7, 9}: {7, 8, 9}} {
		a := newAsker(t, Options{})
		for i, v := range values {
			a.insert(madeAt.Add(time.Duration(i)*time.Second), cpuType, map[string]string{"__name__": "process_cpu"}, made{stack: "f", value: v})
		}
		resp, err := a.c.SelectHeatmap(t.Context(), connect.NewRequest(&querierv1.SelectHeatmapRequest{ProfileTypeID: cpuID, LabelSelector: "{}", Step: 3600}))
		if err != nil {
			t.Fatal(err)
		}
		count := int32(0)
		for _, slot := range resp.Msg.GetSeries()[0].GetSlots() {
			if !slices.Equal(slot.GetYMin(), want) || slot.GetExemplars() != nil {
				t.Errorf("%v: %v, want %v", values, slot, want)
			}
			for _, n := range slot.GetCounts() {
				count += n
			}
		}
		if count != 2 {
			t.Errorf("%v: %d points", values, count)
		}
	}
}

// TestHeatmap_Limits refuses more profiles than a query may have in memory.
func TestHeatmap_Limits(t *testing.T) {
	a := newAsker(t, Options{Limits: Limits{QueryBytes: 60 << 10}})
	for i := range 200 {
		a.insert(madeAt.Add(time.Duration(i)*time.Second), cpuType, map[string]string{"__name__": "process_cpu"}, made{stack: "f", value: 1})
	}
	for end, code := range map[time.Duration]connect.Code{100 * time.Second: 0, 199 * time.Second: connect.CodeResourceExhausted} {
		_, err := a.c.SelectHeatmap(t.Context(), connect.NewRequest(&querierv1.SelectHeatmapRequest{ProfileTypeID: cpuID, LabelSelector: "{}", Step: 1, Start: 1, End: madeAt.Add(end).UnixMilli()}))
		if code == 0 && err != nil || code != 0 && connect.CodeOf(err) != code {
			t.Errorf("%v: %v", end, err)
		}
		if code != 0 {
			wantError(t, "all", err, code, "at most 160 profiles or spans")
		}
	}
}
