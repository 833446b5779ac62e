package server

import (
	"maps"
	"slices"
	"testing"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/question"
)

const wallID = "profile:wall:ticks:cpu:nanoseconds"

// labelled returns a server with profiles of etcd, made ones, and one without a name.
func labelled(t *testing.T) *asker {
	t.Helper()
	a := newAsker(t, Options{})
	a.insertFiles("etcd")
	a.insertMade()
	wall := profile.Type{Sample: "wall", SampleUnit: "ticks", Period: "cpu", PeriodUnit: "nanoseconds"}
	a.insert(madeAt, wall, map[string]string{"only": "wall"}, made{stack: "main", value: 1})
	return a
}

// TestProfileTypes lists the types of the series.
func TestProfileTypes(t *testing.T) {
	a := labelled(t)
	resp, err := a.c.ProfileTypes(t.Context(), connect.NewRequest(&querierv1.ProfileTypesRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, p := range resp.Msg.GetProfileTypes() {
		got[p.GetID()] = true
		if p.GetID() != question.TypeID(p.GetName(), profile.Type{Sample: p.GetSampleType(), SampleUnit: p.GetSampleUnit(), Period: p.GetPeriodType(), PeriodUnit: p.GetPeriodUnit()}) {
			t.Errorf("the parts of %s are %v", p.GetID(), p)
		}
	}
	for _, id := range a.values("__profile_type__") {
		if !got[id] {
			t.Errorf("no %s", id)
		}
	}
	if !got[cpuID] || !got[wallID] || !got["memory:inuse_space:bytes:space:bytes"] {
		t.Errorf("types %v", got)
	}
}

// names asks for the names of labels.
func (a *asker) names(matchers ...string) []string {
	a.t.Helper()
	resp, err := a.c.LabelNames(a.t.Context(), connect.NewRequest(&typesv1.LabelNamesRequest{Matchers: matchers}))
	if err != nil {
		a.t.Fatalf("names of %q: %v", matchers, err)
	}
	return resp.Msg.GetNames()
}

// values asks for the values of a label.
func (a *asker) values(name string, matchers ...string) []string {
	a.t.Helper()
	resp, err := a.c.LabelValues(a.t.Context(), connect.NewRequest(&typesv1.LabelValuesRequest{Name: name, Matchers: matchers}))
	if err != nil {
		a.t.Fatalf("values of %s in %q: %v", name, matchers, err)
	}
	return resp.Msg.GetNames()
}

// TestLabelNames has the names of series of the types that are selected, and of samples.
func TestLabelNames(t *testing.T) {
	a := labelled(t)
	types := []string{"__period_type__", "__period_unit__", "__profile_type__", "__type__", "__unit__"}
	samples := []string{"bytes", "span_id", "thread", "trace_id"} // text labels of any sample
	for _, test := range []struct {
		matchers []string
		want     []string
	}{
		{nil, []string{"__name__", "job", "only", "pod"}},
		{[]string{`{job="etcd"}`, `{only="wall"}`}, []string{"__name__", "job", "only"}},
		{[]string{cpuID + "{}"}, []string{"__name__", "job", "pod"}},
		{[]string{cpuID + `{job="made"}`}, []string{"__name__", "job", "pod"}},
		{[]string{` ` + cpuID}, []string{"__name__", "job", "pod"}},
		{[]string{`{__profile_type__="` + wallID + `"}`}, []string{"only"}},
		{[]string{`{__type__!="wall", __unit__="nanoseconds", job="etcd"}`}, []string{"__name__", "job"}},
	} {
		got := slices.DeleteFunc(a.names(test.matchers...), func(n string) bool { return slices.Contains(samples, n) })
		want := slices.Sorted(slices.Values(append(test.want, types...)))
		if !slices.Equal(got, want) {
			t.Errorf("names of %q: %q, want %q", test.matchers, got, want)
		}
	}
	for _, none := range []string{`{job="nobody"}`, `x:cpu:nanoseconds:cpu:nanoseconds{job="made"}`, `{__profile_type__!~".*"}`} {
		if got := a.names(none); len(got) != 0 {
			t.Errorf("names of %s: %q", none, got)
		}
	}
}

// TestLabelValues has the values of series of the types that are selected, and of samples.
func TestLabelValues(t *testing.T) {
	a := labelled(t)
	for _, test := range []struct {
		name     string
		matchers []string
		want     []string
	}{
		{"job", nil, []string{"etcd", "made"}},
		{"job", []string{`{job=~"e.*"}`}, []string{"etcd"}},
		{"job", []string{`mutex:delay:nanoseconds:contentions:count{}`}, []string{"etcd"}},
		{"job", []string{`mutex:delay:nanoseconds:contentions:count`, `{pod="pod-0"}`}, []string{"etcd", "made"}},
		{"only", []string{cpuID}, nil},
		{"pod", []string{cpuID}, []string{"pod-0", "pod-1"}},
		{"pod", []string{`memory{}`}, nil},
		{"thread", []string{`{job="made"}`}, []string{"0", "1"}},
		{"thread", []string{cpuID}, []string{"0", "1"}},
		{"__profile_type__", []string{`{job="made"}`}, []string{cpuID}},
		{"__profile_type__", []string{`{__profile_type__=~"profile:.*"}`}, []string{wallID}},
		{"__unit__", []string{`{job="made"}`, `{only!=""}`}, []string{"nanoseconds", "ticks"}},
		{"__name__", []string{`{__type__="cpu"}`}, []string{"process_cpu"}},
		{"nothing", nil, nil},
	} {
		if got := a.values(test.name, test.matchers...); !slices.Equal(got, test.want) {
			t.Errorf("values of %s in %q: %q, want %q", test.name, test.matchers, got, test.want)
		}
	}
}

// TestSeriesSets has distinct sets of labels, sorted, of the types that are selected.
func TestSeriesSets(t *testing.T) {
	a := labelled(t)
	for _, test := range []struct {
		matchers, names []string
		want            []string
	}{
		{
			[]string{`{job="made"}`, `process_cpu{pod!=""}`},
			[]string{"pod", "__profile_type__", "job"},
			[]string{"__profile_type__=" + cpuID + ",job=made,pod=pod-0", "__profile_type__=" + cpuID + ",job=made,pod=pod-1"},
		},
		{[]string{`{only!=""}`}, nil, []string{"__period_type__=cpu,__period_unit__=nanoseconds,__profile_type__=" + wallID + ",__type__=wall,__unit__=ticks,only=wall"}},
		{[]string{cpuID}, []string{"job", "__type__"}, []string{"__type__=cpu,job=etcd", "__type__=cpu,job=made"}},
		{[]string{wallID + `{}`}, []string{"job"}, nil},
	} {
		resp, err := a.c.Series(t.Context(), connect.NewRequest(&querierv1.SeriesRequest{LabelNames: test.names, Matchers: test.matchers}))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, set := range resp.Msg.GetLabelsSet() {
			got = append(got, labelsText(set.GetLabels()))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("series of %q: %q, want %q", test.matchers, got, test.want)
		}
	}
}

// TestTypeLabels_Pushed shows the labels of types, not the labels that were pushed under their names.
func TestTypeLabels_Pushed(t *testing.T) {
	a := newAsker(t, Options{})
	a.insert(madeAt, cpuType, map[string]string{profile.NameLabel: "process_cpu", "__type__": "false", "job": "a"}, made{stack: "f", value: 1})
	if got := a.values("__type__"); !slices.Equal(got, []string{"cpu"}) {
		t.Errorf("values %q", got)
	}
	if got := a.lines(&querierv1.SelectSeriesRequest{Step: 60, GroupBy: []string{"__type__", "job"}}); !slices.Equal(slices.Collect(maps.Keys(got)), []string{"__type__=cpu,job=a"}) {
		t.Errorf("lines %v", got)
	}
}
