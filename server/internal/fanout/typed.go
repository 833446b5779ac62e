package fanout

import (
	"context"
	"slices"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"

	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	"github.com/granarydb/granary/profile"
)

// Typed is a type, and the nodes that have it. The zero value means no type on all nodes.
type Typed struct {
	Type  profile.Type
	nodes []*node
}

// nodesOf returns the nodes that have a type, or all.
func (s *Set) nodesOf(t Typed) []*node {
	if t.nodes != nil {
		return t.nodes
	}
	return s.nodes
}

// types returns the type, if any.
func (t Typed) types() []profile.Type {
	if t.nodes == nil {
		return nil
	}
	return []profile.Type{t.Type}
}

// FindType returns the type that name stands for on all nodes, for the profiles of a query. Errors are as for
// profile.DB.FindTypeIn.
func (s *Set) FindType(ctx context.Context, q profile.Query, name string) (t Typed, err error) {
	known := map[profile.Type][]*node{}
	var all []profile.Type
	ask := Question{Path: querierv1connect.QuerierServiceProfileTypesProcedure, Message: &querierv1.ProfileTypesRequest{}}
	err = askTyped(ctx, s, 0.5, ask, func(n *node, m *querierv1.ProfileTypesResponse, _ []reply) error {
		for _, p := range m.GetProfileTypes() {
			t := profile.Type{Sample: p.GetSampleType(), SampleUnit: p.GetSampleUnit(), Period: p.GetPeriodType(), PeriodUnit: p.GetPeriodUnit()}
			if known[t] == nil {
				all = append(all, t)
			}
			if !slices.Contains(known[t], n) {
				known[t] = append(known[t], n)
			}
		}
		return nil
	})
	if err != nil {
		return t, err
	}
	if t.Type, err = profile.TypeCalled(all, name, func() ([]profile.Source, error) { return s.Sources(ctx, q) }); err != nil {
		return Typed{}, err
	}
	for _, own := range all {
		for _, n := range known[own] {
			if t.Type.Includes(own) && !slices.Contains(t.nodes, n) {
				t.nodes = append(t.nodes, n)
			}
		}
	}
	return t, nil
}

// Sources returns the sources that profiles of a query's selector and times can have, on all nodes.
func (s *Set) Sources(ctx context.Context, q profile.Query) (all []profile.Source, err error) {
	m := &querierv1.SeriesRequest{Matchers: []string{q.Selector.String()}, Start: q.From / 1e6}
	if q.To != 0 {
		m.End = (q.To - 1) / 1e6
	}
	ask := Question{Path: querierv1connect.QuerierServiceSeriesProcedure, Message: m}
	err = askTyped(ctx, s, 0.5, ask, func(_ *node, m *querierv1.SeriesResponse, _ []reply) error {
		for _, set := range m.GetLabelsSet() {
			var one profile.Source
			ofType := map[string]*string{"__type__": &one.Type.Sample, "__unit__": &one.Type.SampleUnit, "__period_type__": &one.Type.Period, "__period_unit__": &one.Type.PeriodUnit, "__profile_type__": new(string)}
			for _, l := range set.GetLabels() {
				if to := ofType[l.GetName()]; to != nil {
					*to = l.GetValue()
				} else {
					one.Labels = append(one.Labels, profile.Label{Name: l.GetName(), Value: l.GetValue()})
				}
			}
			all = append(all, one)
		}
		return nil
	})
	return all, err
}
