package fanout

import (
	"context"
	"maps"
	"slices"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
)

// Stats returns the times of the oldest and the newest profile on all nodes.
func (s *Set) Stats(ctx context.Context, m *typesv1.GetProfileStatsRequest) (*typesv1.GetProfileStatsResponse, error) {
	out := &typesv1.GetProfileStatsResponse{}
	ask := Question{Path: querierv1connect.QuerierServiceGetProfileStatsProcedure, Message: m}
	err := askTyped(ctx, s, 0.25, ask, func(_ *node, m *typesv1.GetProfileStatsResponse, _ []reply) error {
		out.DataIngested = out.DataIngested || m.GetDataIngested()
		out.NewestProfileTime = max(out.NewestProfileTime, m.GetNewestProfileTime())
		if oldest := m.GetOldestProfileTime(); out.OldestProfileTime == 0 || oldest != 0 && oldest < out.OldestProfileTime {
			out.OldestProfileTime = oldest
		}
		return nil
	})
	return out, err
}

// Scopes returns what a query would read on all nodes, added up by the type of their parts.
func (s *Set) Scopes(ctx context.Context, m *querierv1.AnalyzeQueryRequest) ([]*querierv1.QueryScope, error) {
	sums := map[string]*querierv1.QueryScope{}
	ask := Question{Path: querierv1connect.QuerierServiceAnalyzeQueryProcedure, Message: m}
	err := askTyped(ctx, s, 0.25, ask, func(_ *node, m *querierv1.AnalyzeQueryResponse, _ []reply) error {
		for _, scope := range m.GetQueryScopes() {
			sum := sums[scope.GetComponentType()]
			if sum == nil {
				sums[scope.GetComponentType()] = scope
				continue
			}
			sum.ComponentCount += scope.GetComponentCount()
			sum.BlockCount += scope.GetBlockCount()
			sum.SeriesCount += scope.GetSeriesCount()
			sum.SampleCount += scope.GetSampleCount()
			sum.ProfileBytes += scope.GetProfileBytes()
		}
		return nil
	})
	var out []*querierv1.QueryScope
	for _, of := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, sums[of])
	}
	return out, err
}
