package server

import (
	"context"

	"connectrpc.com/connect"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/fanout"
)

// frontQuerier is the querier of a front.
type frontQuerier struct {
	querierv1connect.UnimplementedQuerierServiceHandler
	s *Server
}

// gathered answers a question with what f makes of the nodes' answers.
func gathered[M any, P interface {
	*M
	proto.Message
}](ctx context.Context, s *Server, f func(context.Context, P) error) (*connect.Response[M], error) {
	answer := P(new(M))
	err := s.inTime(ctx, func(ctx context.Context) error { return f(ctx, answer) })
	return limited(ctx, s, answer, err)
}

// ProfileTypes returns the types of the profiles of a range of time.
func (q *frontQuerier) ProfileTypes(ctx context.Context, r *connect.Request[querierv1.ProfileTypesRequest]) (*connect.Response[querierv1.ProfileTypesResponse], error) {
	return gathered(ctx, q.s, func(ctx context.Context, out *querierv1.ProfileTypesResponse) (err error) {
		out.ProfileTypes, err = fanout.Union(ctx, q.s.front, querierv1connect.QuerierServiceProfileTypesProcedure, r.Msg, (*querierv1.ProfileTypesResponse).GetProfileTypes, (*typesv1.ProfileType).GetID)
		return err
	})
}

func itself(text string) string { return text }

// LabelNames returns the names of the labels of profiles.
func (q *frontQuerier) LabelNames(ctx context.Context, r *connect.Request[typesv1.LabelNamesRequest]) (*connect.Response[typesv1.LabelNamesResponse], error) {
	return gathered(ctx, q.s, func(ctx context.Context, out *typesv1.LabelNamesResponse) (err error) {
		out.Names, err = fanout.Union(ctx, q.s.front, querierv1connect.QuerierServiceLabelNamesProcedure, r.Msg, (*typesv1.LabelNamesResponse).GetNames, itself)
		return err
	})
}

// LabelValues returns the values of a label.
func (q *frontQuerier) LabelValues(ctx context.Context, r *connect.Request[typesv1.LabelValuesRequest]) (*connect.Response[typesv1.LabelValuesResponse], error) {
	return gathered(ctx, q.s, func(ctx context.Context, out *typesv1.LabelValuesResponse) (err error) {
		out.Names, err = fanout.Union(ctx, q.s.front, querierv1connect.QuerierServiceLabelValuesProcedure, r.Msg, (*typesv1.LabelValuesResponse).GetNames, itself)
		return err
	})
}

// Series returns the distinct sets of labels of profiles.
func (q *frontQuerier) Series(ctx context.Context, r *connect.Request[querierv1.SeriesRequest]) (*connect.Response[querierv1.SeriesResponse], error) {
	return gathered(ctx, q.s, func(ctx context.Context, out *querierv1.SeriesResponse) (err error) {
		out.LabelsSet, err = fanout.Union(ctx, q.s.front, querierv1connect.QuerierServiceSeriesProcedure, r.Msg, (*querierv1.SeriesResponse).GetLabelsSet,
			func(l *typesv1.Labels) string { return fanout.LabelsKey(l.GetLabels()) })
		return err
	})
}

// SelectSeries returns sums over time: the points of the nodes are added up.
func (q *frontQuerier) SelectSeries(ctx context.Context, r *connect.Request[querierv1.SelectSeriesRequest]) (*connect.Response[querierv1.SelectSeriesResponse], error) {
	return gathered(ctx, q.s, func(ctx context.Context, out *querierv1.SelectSeriesResponse) error {
		name, t, err := parseTypeID(r.Msg.GetProfileTypeID())
		if err == nil {
			out.Series, err = q.s.front.Series(ctx, r.Msg, t, name != unnamed)
		}
		return err
	})
}

// querierOf returns a querier of the stacks of all nodes. Its profiles have the warnings so far as comments.
func (s *Server) querierOf(ctx context.Context, db *profile.DB, times *profile.Times) *querier {
	return &querier{s: &Server{db: db, times: times, opts: s.opts, limits: s.limits, metrics: s.metrics, queries: make(chan struct{}, 1), comments: warnings(ctx)}}
}

// sideOf returns the question to nodes for the stacks of a request that was checked.
func sideOf(m *querierv1.SelectMergeStacktracesRequest) fanout.Side {
	name, t, _ := parseTypeID(m.GetProfileTypeID())
	return fanout.StacksOf(m, t, name != unnamed)
}

// collected returns the request for what the nodes answered to a side.
func collected(m *querierv1.SelectMergeStacktracesRequest, number int) *querierv1.SelectMergeStacktracesRequest {
	name, t, _ := parseTypeID(m.GetProfileTypeID())
	if name != unnamed {
		name = fanout.AnyName
	}
	return &querierv1.SelectMergeStacktracesRequest{
		ProfileTypeID: typeID(name, t), LabelSelector: fanout.SideSelector(number),
		MaxNodes: m.MaxNodes, Format: m.GetFormat(), StackTraceSelector: m.GetStackTraceSelector(),
	}
}

// checked returns an error for a request for stacks that no node needs to see.
func (q *frontQuerier) checked(m *querierv1.SelectMergeStacktracesRequest) error {
	of := &querier{s: q.s}
	if _, err := of.stacks(m); err != nil {
		return err
	}
	_, err := of.nodes(m.GetMaxNodes())
	return err
}

// stacks answers a request for stacks from those of all nodes.
func (q *frontQuerier) stacks(ctx context.Context, m *querierv1.SelectMergeStacktracesRequest) (out *connect.Response[querierv1.SelectMergeStacktracesResponse], err error) {
	err = q.checked(m)
	if err == nil {
		err = q.s.inTime(ctx, func(ctx context.Context) error {
			return q.s.front.Stacks(ctx, []fanout.Side{sideOf(m)}, fanout.Typed{}, func(db *profile.DB, times *profile.Times) (err error) {
				out, err = q.s.querierOf(ctx, db, times).SelectMergeStacktraces(ctx, connect.NewRequest(collected(m, 0)))
				return err
			})
		})
	}
	if err != nil {
		return nil, connectError(ctx, err)
	}
	return out, nil
}

// SelectMergeStacktraces returns the merged stacks of profiles as a flame graph or as pprof.
func (q *frontQuerier) SelectMergeStacktraces(ctx context.Context, r *connect.Request[querierv1.SelectMergeStacktracesRequest]) (*connect.Response[querierv1.SelectMergeStacktracesResponse], error) {
	return q.stacks(ctx, r.Msg)
}

// SelectMergeSpanProfile is SelectMergeStacktraces of samples with one of some span ids.
func (q *frontQuerier) SelectMergeSpanProfile(ctx context.Context, r *connect.Request[querierv1.SelectMergeSpanProfileRequest]) (*connect.Response[querierv1.SelectMergeSpanProfileResponse], error) {
	if err := checkGraph(r.Msg); err != nil {
		return nil, connectError(ctx, err)
	}
	out, err := q.stacks(ctx, ofSpans(r.Msg))
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&querierv1.SelectMergeSpanProfileResponse{Flamegraph: out.Msg.GetFlamegraph()}), nil
}

// SelectMergeProfile returns the merged profiles as one of pprof.
func (q *frontQuerier) SelectMergeProfile(ctx context.Context, r *connect.Request[querierv1.SelectMergeProfileRequest]) (*connect.Response[googlev1.Profile], error) {
	out, err := q.stacks(ctx, ofProfile(r.Msg))
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(out.Msg.GetPprof().GetProfile()), nil
}

// Diff returns the stacks of two questions side by side. A node that is missing is so on both sides.
func (q *frontQuerier) Diff(ctx context.Context, r *connect.Request[querierv1.DiffRequest]) (out *connect.Response[querierv1.DiffResponse], err error) {
	left, right := r.Msg.GetLeft(), r.Msg.GetRight()
	for i, m := range []*querierv1.SelectMergeStacktracesRequest{left, right} {
		if err = q.checked(m); err != nil {
			return nil, connectError(ctx, sideError(sideNames[i], err))
		}
	}
	err = q.s.inTime(ctx, func(ctx context.Context) error {
		return q.s.front.Stacks(ctx, []fanout.Side{sideOf(left), sideOf(right)}, fanout.Typed{}, func(db *profile.DB, times *profile.Times) (err error) {
			out, err = q.s.querierOf(ctx, db, times).Diff(ctx, connect.NewRequest(&querierv1.DiffRequest{Left: collected(left, 0), Right: collected(right, 1)}))
			return err
		})
	})
	if err != nil {
		return nil, connectError(ctx, err)
	}
	return out, nil
}
