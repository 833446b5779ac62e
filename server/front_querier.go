package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"connectrpc.com/connect"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/profile"
)

// protoMedia is the type of a message of Connect.
const protoMedia = "application/proto"

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

// askTyped asks all nodes a question, and calls use with each message. A share of the time of a query
// is left then. It returns the nodes that answered.
func askTyped[M any, P interface {
	*M
	proto.Message
}](ctx context.Context, s *Server, share float64, q question, use func(*node, P, reply) error) ([]*node, error) {
	// A message is about a hundred bytes in memory.
	most := int(max(s.limits.QueryBytes/100, 1000))
	q.media = protoMedia
	return s.gather(ctx, s.front.nodes, share, []question{q}, func(i int, replies []reply) error {
		n, answer := s.front.nodes[i], P(new(M))
		data := replies[0].body
		if countMessages(data, answer.ProtoReflect().Descriptor(), most, 0) > most {
			return n.away("an answer of more than %d messages", most)
		}
		if err := proto.Unmarshal(data, answer); err != nil {
			return n.away("a wrong answer: %v", err)
		}
		return use(n, answer, replies[0])
	})
}

// union asks all nodes a question whose answer is a list. It returns what is in any of them, once, sorted
// by its key.
func union[T, M any, P interface {
	*M
	proto.Message
}](ctx context.Context, s *Server, procedure string, m proto.Message, list func(P) []T, key func(T) string) ([]T, error) {
	type keyed struct {
		key  string
		item T
	}
	var all []keyed
	known := map[string]bool{}
	_, err := askTyped(ctx, s, 0.25, question{path: procedure, message: m}, func(_ *node, answer P, _ reply) error {
		for _, item := range list(answer) {
			if k := key(item); !known[k] {
				known[k] = true
				all = append(all, keyed{k, item})
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	items := make([]T, len(all))
	for i, k := range all {
		items[i] = k.item
	}
	return items, err
}

// ProfileTypes returns the types of the profiles of a range of time.
func (q *frontQuerier) ProfileTypes(ctx context.Context, r *connect.Request[querierv1.ProfileTypesRequest]) (*connect.Response[querierv1.ProfileTypesResponse], error) {
	return gathered(ctx, q.s, func(ctx context.Context, out *querierv1.ProfileTypesResponse) (err error) {
		out.ProfileTypes, err = union(ctx, q.s, querierv1connect.QuerierServiceProfileTypesProcedure, r.Msg, (*querierv1.ProfileTypesResponse).GetProfileTypes, (*typesv1.ProfileType).GetID)
		return err
	})
}

func itself(text string) string { return text }

// LabelNames returns the names of the labels of profiles.
func (q *frontQuerier) LabelNames(ctx context.Context, r *connect.Request[typesv1.LabelNamesRequest]) (*connect.Response[typesv1.LabelNamesResponse], error) {
	return gathered(ctx, q.s, func(ctx context.Context, out *typesv1.LabelNamesResponse) (err error) {
		out.Names, err = union(ctx, q.s, querierv1connect.QuerierServiceLabelNamesProcedure, r.Msg, (*typesv1.LabelNamesResponse).GetNames, itself)
		return err
	})
}

// LabelValues returns the values of a label.
func (q *frontQuerier) LabelValues(ctx context.Context, r *connect.Request[typesv1.LabelValuesRequest]) (*connect.Response[typesv1.LabelValuesResponse], error) {
	return gathered(ctx, q.s, func(ctx context.Context, out *typesv1.LabelValuesResponse) (err error) {
		out.Names, err = union(ctx, q.s, querierv1connect.QuerierServiceLabelValuesProcedure, r.Msg, (*typesv1.LabelValuesResponse).GetNames, itself)
		return err
	})
}

// labelsKey returns labels as a text, which differs from that of all others.
func labelsKey(labels []*typesv1.LabelPair) string {
	var key []byte
	for _, l := range labels {
		key = fmt.Appendf(key, "%q=%q,", l.GetName(), l.GetValue())
	}
	return string(key)
}

// Series returns the distinct sets of labels of profiles.
func (q *frontQuerier) Series(ctx context.Context, r *connect.Request[querierv1.SeriesRequest]) (*connect.Response[querierv1.SeriesResponse], error) {
	return gathered(ctx, q.s, func(ctx context.Context, out *querierv1.SeriesResponse) (err error) {
		out.LabelsSet, err = union(ctx, q.s, querierv1connect.QuerierServiceSeriesProcedure, r.Msg, (*querierv1.SeriesResponse).GetLabelsSet,
			func(l *typesv1.Labels) string { return labelsKey(l.GetLabels()) })
		return err
	})
}

// SelectSeries returns sums over time: the points of the nodes are added up.
func (q *frontQuerier) SelectSeries(ctx context.Context, r *connect.Request[querierv1.SelectSeriesRequest]) (*connect.Response[querierv1.SelectSeriesResponse], error) {
	return gathered(ctx, q.s, func(ctx context.Context, out *querierv1.SelectSeriesResponse) error {
		name, t, err := parseTypeID(r.Msg.GetProfileTypeID())
		if err != nil {
			return err
		}
		all := proto.CloneOf(r.Msg)
		all.Limit = nil // the greatest of a node are not those of all
		sums := lineSums{typ: t, lines: map[string]*lineSum{}, isMean: t.IsGauge()}
		if r.Msg.Aggregation != nil {
			sums.isMean = r.Msg.GetAggregation() != typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_SUM
		}
		ask, of := question{path: querierv1connect.QuerierServiceSelectSeriesProcedure, message: all, kinds: name == unnamed}, kindsOf{}
		_, err = askTyped(ctx, q.s, 0.25, ask, func(n *node, m *querierv1.SelectSeriesResponse, r reply) error {
			if ask.kinds && len(m.GetSeries()) > 0 {
				if err := of.add(n, r.kinds); err != nil {
					return err
				}
			}
			return sums.add(n, m)
		})
		if err == nil {
			err = of.check(t)
		}
		if err != nil {
			return err
		}
		out.Series = sums.top(int(max(r.Msg.GetLimit(), 0)))
		return nil
	})
}

// lineSums are the lines of all nodes.
type lineSums struct {
	typ    profile.Type
	isMean bool // points of two nodes cannot be added
	lines  map[string]*lineSum
}

// lineSum is a line of all nodes.
type lineSum struct {
	labels []*typesv1.LabelPair
	points map[int64]*typesv1.Point
	of     map[int64]*node // of each point, if it is a mean
	total  float64
}

// add adds the lines of a node.
func (s *lineSums) add(n *node, m *querierv1.SelectSeriesResponse) error {
	for _, series := range m.GetSeries() {
		key := labelsKey(series.GetLabels())
		line := s.lines[key]
		if line == nil {
			line = &lineSum{labels: series.GetLabels(), points: map[int64]*typesv1.Point{}, of: map[int64]*node{}}
			s.lines[key] = line
		}
		for _, p := range series.GetPoints() {
			line.total += p.GetValue()
			sum := line.points[p.GetTimestamp()]
			if sum == nil {
				line.points[p.GetTimestamp()] = p
				if s.isMean {
					line.of[p.GetTimestamp()] = n
				}
				continue
			}
			if s.isMean {
				return meanError(s.typ, line.of[p.GetTimestamp()].url, n.url)
			}
			sum.Value += p.GetValue()
		}
	}
	return nil
}

// top returns the lines with the greatest sums, all of them if most is 0, sorted by their labels.
func (s *lineSums) top(most int) []*typesv1.Series {
	byLabels := func(a, b *lineSum) int {
		return slices.CompareFunc(a.labels, b.labels, func(a, b *typesv1.LabelPair) int {
			return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetValue(), b.GetValue()))
		})
	}
	var lines []*lineSum
	for _, line := range s.lines {
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b *lineSum) int { return cmp.Or(cmp.Compare(b.total, a.total), byLabels(a, b)) })
	if most > 0 {
		lines = lines[:min(most, len(lines))]
	}
	slices.SortFunc(lines, byLabels)
	var out []*typesv1.Series
	for _, line := range lines {
		series := &typesv1.Series{Labels: line.labels}
		for _, p := range line.points {
			series.Points = append(series.Points, p)
		}
		slices.SortFunc(series.Points, func(a, b *typesv1.Point) int { return cmp.Compare(a.GetTimestamp(), b.GetTimestamp()) })
		out = append(out, series)
	}
	return out
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
			return q.s.collect(ctx, q.s.front.nodes, []side{stacksOf(m)}, func(all *Server) (err error) {
				out, err = (&querier{s: all}).SelectMergeStacktraces(ctx, connect.NewRequest(collected(m, 0)))
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
	m := r.Msg
	if f := m.GetFormat(); f > querierv1.ProfileFormat_PROFILE_FORMAT_FLAMEGRAPH {
		return nil, connectError(ctx, refused("format: %s is not made; flame graphs are", f))
	}
	out, err := q.stacks(ctx, &querierv1.SelectMergeStacktracesRequest{
		ProfileTypeID: m.GetProfileTypeID(), LabelSelector: m.GetLabelSelector(), Start: m.GetStart(), End: m.GetEnd(),
		SpanSelector: m.GetSpanSelector(), MaxNodes: m.MaxNodes,
	})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&querierv1.SelectMergeSpanProfileResponse{Flamegraph: out.Msg.GetFlamegraph()}), nil
}

// SelectMergeProfile returns the merged profiles as one of pprof.
func (q *frontQuerier) SelectMergeProfile(ctx context.Context, r *connect.Request[querierv1.SelectMergeProfileRequest]) (*connect.Response[googlev1.Profile], error) {
	m := r.Msg
	out, err := q.stacks(ctx, &querierv1.SelectMergeStacktracesRequest{
		ProfileTypeID: m.GetProfileTypeID(), LabelSelector: m.GetLabelSelector(), Start: m.GetStart(), End: m.GetEnd(),
		ProfileIdSelector: m.GetProfileIdSelector(), TraceIdSelector: m.GetTraceIdSelector(), StackTraceSelector: m.GetStackTraceSelector(),
		Format: querierv1.ProfileFormat_PROFILE_FORMAT_PPROF,
	})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(out.Msg.GetPprof().GetProfile()), nil
}

// Diff returns the stacks of two questions side by side. A node that is missing is so on both sides.
func (q *frontQuerier) Diff(ctx context.Context, r *connect.Request[querierv1.DiffRequest]) (out *connect.Response[querierv1.DiffResponse], err error) {
	left, right := r.Msg.GetLeft(), r.Msg.GetRight()
	if err = q.checked(left); err != nil {
		return nil, connectError(ctx, sideError("left", err))
	}
	if err = q.checked(right); err != nil {
		return nil, connectError(ctx, sideError("right", err))
	}
	err = q.s.inTime(ctx, func(ctx context.Context) error {
		return q.s.collect(ctx, q.s.front.nodes, []side{stacksOf(left), stacksOf(right)}, func(all *Server) (err error) {
			out, err = (&querier{s: all}).Diff(ctx, connect.NewRequest(&querierv1.DiffRequest{Left: collected(left, 0), Right: collected(right, 1)}))
			return err
		})
	})
	if err != nil {
		return nil, connectError(ctx, err)
	}
	return out, nil
}
