package server

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fanout"
	"github.com/granarydb/granary/server/internal/question"
)

// lines are values over time: by the text of their labels, and by their times in milliseconds.
type lines map[string]map[int64]float64

// lines asks for values over time.
func (a *asker) lines(m *querierv1.SelectSeriesRequest) lines {
	a.t.Helper()
	if m.ProfileTypeID == "" {
		m.ProfileTypeID = cpuID
	}
	resp, err := a.c.SelectSeries(a.t.Context(), connect.NewRequest(m))
	if err != nil {
		a.t.Fatal(err)
	}
	out := lines{}
	var order []string
	for _, line := range resp.Msg.GetSeries() {
		points := map[int64]float64{}
		last := int64(0)
		for _, p := range line.GetPoints() {
			if p.GetTimestamp() <= last {
				a.t.Errorf("time %d follows %d", p.GetTimestamp(), last)
			}
			last = p.GetTimestamp()
			points[last] = p.GetValue()
		}
		out[labelsText(line.GetLabels())] = points
		order = append(order, labelsText(line.GetLabels()))
	}
	if !slices.IsSorted(order) || len(out) != len(order) {
		a.t.Errorf("lines %q", order)
	}
	return out
}

func labelsText(pairs []*typesv1.LabelPair) string {
	var all []string
	for _, p := range pairs {
		all = append(all, p.GetName()+"="+p.GetValue())
	}
	return strings.Join(all, ",")
}

// TestSelectSeries_Range compares sums with those of package profile, over real and made profiles.
func TestSelectSeries_Range(t *testing.T) {
	a := newAsker(t, Options{})
	a.insertFiles("etcd")
	a.insertMade()
	heap := profile.Type{Sample: "inuse_space", SampleUnit: "bytes", Period: "space", PeriodUnit: "bytes"}
	sum := typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_SUM.Enum()
	for _, test := range []struct {
		typ  profile.Type
		name string
		step time.Duration
		sum  *typesv1.TimeSeriesAggregationType
		by   []string
	}{
		{cpuType, "process_cpu", time.Minute, nil, nil},
		{cpuType, "process_cpu", 45 * time.Second, nil, []string{"pod", "thread"}},
		{cpuType, "process_cpu", time.Hour, sum, []string{"job", "nothing", "job"}},
		{heap, "memory", time.Second, nil, []string{"job"}},
		{heap, "memory", 24 * time.Hour, nil, nil},
		{heap, "memory", 24 * time.Hour, sum, nil},
	} {
		want := lines{}
		a.view(func(ctx context.Context, snap *columnstore.Snapshot) error {
			q := profile.Query{Selector: selects(t, test.name), SumGauges: test.sum != nil, SumKinds: true}
			all, err := a.db.Range(ctx, snap, test.typ, q, profile.RangeOptions{Step: test.step, By: test.by})
			for _, line := range all {
				points := map[int64]float64{}
				for _, p := range line.Points {
					points[p.Time/1e6] = float64(p.Value)
				}
				want[labelsText(fanout.LabelPairs(line.Labels))] = points
			}
			return err
		})
		got := a.lines(&querierv1.SelectSeriesRequest{ProfileTypeID: question.TypeID(test.name, test.typ), Step: test.step.Seconds(), GroupBy: test.by, Aggregation: test.sum})
		if len(want) == 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: %v, want %v", test, got, want)
		}
	}
}

// TestSelectSeries_Made compares lines with values that are known.
func TestSelectSeries_Made(t *testing.T) {
	a := newAsker(t, Options{})
	a.insertMade()
	minute := func(i int) int64 { return madeAt.Add(time.Duration(i) * time.Minute).UnixMilli() }
	average := typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_AVERAGE.Enum()
	one := int64(1)
	site := &typesv1.StackTraceSelector{CallSite: []*typesv1.Location{{Name: "main"}, {Name: "f"}}}
	values := func(f func(i int) float64) map[int64]float64 {
		return map[int64]float64{minute(0): f(0), minute(1): f(1), minute(2): f(2)}
	}
	perPod := func(factor, pod float64) map[int64]float64 {
		return values(func(i int) float64 { return factor * (20*float64(i) + 5 + pod + 1) }) // the mean of two
	}
	for name, test := range map[string]struct {
		m    *querierv1.SelectSeriesRequest
		want lines
	}{
		"sum":     {&querierv1.SelectSeriesRequest{}, lines{"": values(func(i int) float64 { return 11 * (80*float64(i) + 26) })}},
		"average": {&querierv1.SelectSeriesRequest{Aggregation: average}, lines{"": perPod(11, 0.5)}},
		"average by pod": {
			&querierv1.SelectSeriesRequest{Aggregation: average, GroupBy: []string{"pod"}},
			lines{"pod=pod-0": perPod(11, 0), "pod=pod-1": perPod(11, 1)},
		},
		"average by a label of samples": {
			&querierv1.SelectSeriesRequest{Aggregation: average, GroupBy: []string{"thread"}, LabelSelector: `{thread="0"}`},
			lines{"thread=0": values(func(i int) float64 { return 2 * (20*float64(i) + 1.5) })},
		},
		"the greatest by type": {
			&querierv1.SelectSeriesRequest{GroupBy: []string{"pod", "__profile_type__", "__unit__"}, Limit: &one},
			lines{"__profile_type__=" + cpuID + ",__unit__=nanoseconds,pod=pod-1": perPod(22, 1)},
		},
		"the average by type": {
			&querierv1.SelectSeriesRequest{Aggregation: average, GroupBy: []string{"__type__"}}, lines{"__type__=cpu": perPod(11, 0.5)},
		},
		"the greatest average": {
			&querierv1.SelectSeriesRequest{Aggregation: average, GroupBy: []string{"pod"}, Limit: &one},
			lines{"pod=pod-1": perPod(11, 1)},
		},
		"a call site": {
			&querierv1.SelectSeriesRequest{StackTraceSelector: site, GroupBy: []string{"pod"}},
			lines{"pod=pod-0": perPod(6, 0), "pod=pod-1": perPod(6, 1)},
		},
		"the average of a call site": {&querierv1.SelectSeriesRequest{StackTraceSelector: site, Aggregation: average}, lines{"": perPod(3, 0.5)}},
		"a call site and a limit": {
			&querierv1.SelectSeriesRequest{StackTraceSelector: site, GroupBy: []string{"pod"}, Limit: &one},
			lines{"pod=pod-1": perPod(6, 1)},
		},
		"another type": {&querierv1.SelectSeriesRequest{LabelSelector: `{__profile_type__="a:b:c:d:e"}`}, lines{}},
		"a minute":     {&querierv1.SelectSeriesRequest{Start: minute(1), End: minute(2) - 1}, lines{"": {minute(1): 11 * 106}}},
	} {
		test.m.Step = 60
		if got := a.lines(test.m); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestSelectSeries_Averages compares averages with those made profile by profile, of gauges too.
func TestSelectSeries_Averages(t *testing.T) {
	for _, typ := range []profile.Type{cpuType, {Sample: "inuse_space", SampleUnit: "bytes", Period: "space", PeriodUnit: "bytes"}} {
		a := newAsker(t, Options{})
		type key struct {
			zone string
			at   int64
		}
		sums, counts := map[key]float64{}, map[key]float64{}
		for i := range 60 {
			at := madeAt.Add(time.Duration(i*i) * time.Second)
			zone, value := fmt.Sprint("z", i%3), int64(i*i%17+1)
			a.insert(at, typ, map[string]string{profile.NameLabel: "some", "zone": zone, "pod": fmt.Sprint(i % 7)},
				made{stack: "f main", value: value}, made{stack: "g main", value: 2 * value})
			a.insert(at, typ, map[string]string{profile.NameLabel: "some", "zone": zone, "pod": "another"}, made{stack: "f main", value: 100})
			k := key{"zone=" + zone, at.UnixMilli() - at.UnixMilli()%(7*60_000)}
			sums[k] += float64(3*value + 100)
			counts[k] += 2
		}
		want := lines{}
		for k, sum := range sums {
			if want[k.zone] == nil {
				want[k.zone] = map[int64]float64{}
			}
			want[k.zone][k.at] = sum / counts[k]
		}
		m := &querierv1.SelectSeriesRequest{ProfileTypeID: question.TypeID("some", typ), Step: 420, GroupBy: []string{"zone"}, Aggregation: typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_AVERAGE.Enum()}
		got := a.lines(m)
		if !maps.EqualFunc(got, want, maps.Equal[map[int64]float64, map[int64]float64]) {
			t.Errorf("%s: %v, want %v", typ, got, want)
		}
	}
}
