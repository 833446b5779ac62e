package source

import (
	"context"
	"math"
	"time"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/question"
)

// Stats implements Source.
func (s *Store) Stats(ctx context.Context, _ *typesv1.GetProfileStatsRequest) (out *typesv1.GetProfileStatsResponse, err error) {
	err = s.At(ctx, func(v *At) error {
		stats := s.db.Table().Stats()
		out = &typesv1.GetProfileStatsResponse{DataIngested: stats.Rows+stats.DroppedRows+stats.EvictedRows > 0}
		newest, err := v.Newest(ctx)
		if err != nil {
			return err
		}
		oldest, err := v.Oldest(ctx)
		out.OldestProfileTime, out.NewestProfileTime = oldest/int64(time.Millisecond), newest/int64(time.Millisecond)
		return err
	})
	return out, err
}

// Oldest is Newest for the oldest profile. It keeps no result.
func (v *At) Oldest(ctx context.Context) (int64, error) {
	units, _, err := v.DB.Table().Units(v.Snap)
	if err != nil || len(units) == 0 {
		return 0, err
	}
	first := int64(math.MaxInt64)
	for _, u := range units {
		first = min(first, u.First)
	}
	oldest, _, err := v.edge(ctx, columnstore.Min, func(ago int64) columnstore.Expr {
		return columnstore.AtMost(profile.ColumnTimestamp, min(first, math.MaxInt64-ago)+ago)
	})
	return oldest, err
}

// Scopes implements Source. It counts buckets of time and their rows, without reading them. Bytes are those of the table's rows
// and files, by the share of rows.
func (s *Store) Scopes(ctx context.Context, m *querierv1.AnalyzeQueryRequest) ([]*querierv1.QueryScope, error) {
	query := profile.Query{}
	if err := question.Millis(&query, m.GetStart(), m.GetEnd()); err != nil {
		return nil, err
	}
	scope := &querierv1.QueryScope{ComponentType: "store", ComponentCount: 1}
	err := s.At(ctx, func(v *At) error {
		units, _, err := v.DB.Table().Units(v.Snap)
		for _, u := range units {
			if u.Last >= query.From && (query.To == 0 || u.First < query.To) {
				scope.BlockCount, scope.SampleCount = scope.BlockCount+1, scope.SampleCount+uint64(u.Rows)
			}
		}
		if err != nil {
			return err
		}
		series, err := v.series(ctx, &querierv1.SeriesRequest{Matchers: []string{m.GetQuery()}, Start: m.GetStart(), End: m.GetEnd()})
		if err != nil {
			return fault.At("query", err)
		}
		scope.SeriesCount = uint64(len(series))
		stats := s.db.Table().Stats()
		share := float64(scope.SampleCount) / float64(max(stats.Rows, int64(scope.SampleCount), 1))
		bytes := max(stats.FileBytes, stats.PartBytes)
		scope.ProfileBytes = uint64(share * float64(bytes))
		return nil
	})
	return []*querierv1.QueryScope{scope}, err
}
