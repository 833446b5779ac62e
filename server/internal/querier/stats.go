package querier

import (
	"context"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/server/internal/fault"
)

// GetProfileStats returns whether there ever were profiles, and the times of the oldest and the newest one.
func (q *querier) GetProfileStats(ctx context.Context, r *connect.Request[typesv1.GetProfileStatsRequest]) (*connect.Response[typesv1.GetProfileStatsResponse], error) {
	return answered(ctx, q, func(ctx context.Context, out *typesv1.GetProfileStatsResponse) error {
		found, err := q.Source.Stats(ctx, r.Msg)
		if err == nil {
			out.DataIngested, out.OldestProfileTime, out.NewestProfileTime = found.GetDataIngested(), found.GetOldestProfileTime(), found.GetNewestProfileTime()
		}
		return err
	})
}

// AnalyzeQuery returns what a query would read. The query is a selector, with the id of a type or without.
func (q *querier) AnalyzeQuery(ctx context.Context, r *connect.Request[querierv1.AnalyzeQueryRequest]) (*connect.Response[querierv1.AnalyzeQueryResponse], error) {
	return answered(ctx, q, func(ctx context.Context, out *querierv1.AnalyzeQueryResponse) (err error) {
		if out.QueryScopes, err = q.Source.Scopes(ctx, r.Msg); err != nil {
			return err
		}
		series, err := q.Source.Series(ctx, &querierv1.SeriesRequest{Matchers: []string{r.Msg.GetQuery()}, Start: r.Msg.GetStart(), End: r.Msg.GetEnd()})
		if err != nil {
			return fault.At("query", err)
		}
		out.QueryImpact = &querierv1.QueryImpact{TotalQueriedSeries: uint64(len(series))}
		for _, scope := range out.GetQueryScopes() {
			out.QueryImpact.TotalBytesInTimeRange += scope.GetProfileBytes()
		}
		return nil
	})
}
