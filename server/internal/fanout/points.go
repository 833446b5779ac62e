package fanout

import (
	"context"
	"maps"
	"slices"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/profile"
)

// Points returns the points of a heat map on all nodes, which answer a request with SourcesHeader by them instead of a heat
// map: a series has one slot, whose exemplars are all points. t is the type that the request names. isNamed reports that the
// type has a name.
func (s *Set) Points(ctx context.Context, m *querierv1.SelectHeatmapRequest, t profile.Type, isNamed bool) ([]*typesv1.HeatmapSeries, error) {
	ask := Question{Path: querierv1connect.QuerierServiceSelectHeatmapProcedure, Message: m, Kinds: !isNamed, Sources: true}
	all, kinds := map[string]*typesv1.HeatmapSeries{}, kindsOf{}
	err := askTyped(ctx, s, 0.25, ask, func(n *node, m *querierv1.SelectHeatmapResponse, r []reply) error {
		if !r[0].sources {
			return n.away("an answer without what heat maps are made from: is it a Granary of this version?")
		}
		if ask.Kinds && len(m.GetSeries()) > 0 {
			if err := kinds.add(n, r[0].kinds); err != nil {
				return err
			}
		}
		for _, series := range m.GetSeries() {
			if len(series.GetSlots()) != 1 {
				return n.away("a wrong answer: a line of points with %d slots", len(series.GetSlots()))
			}
		}
		for _, series := range m.GetSeries() {
			key := LabelsKey(series.GetLabels())
			if of := all[key]; of != nil {
				of.Slots[0].Exemplars = append(of.Slots[0].Exemplars, series.GetSlots()[0].GetExemplars()...)
			} else {
				all[key] = series
			}
		}
		return nil
	})
	if err == nil {
		err = kinds.check(t)
	}
	if err != nil {
		return nil, err
	}
	var out []*typesv1.HeatmapSeries
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[key])
	}
	return out, nil
}
