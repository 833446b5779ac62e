package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// querier answers querier.v1.QuerierService, which Grafana's data source for Pyroscope asks. Methods
// that it does not have are unimplemented.
type querier struct {
	querierv1connect.UnimplementedQuerierServiceHandler
	s *Server
}

// queryRoutes registers the handlers of questions.
func (s *Server) queryRoutes() {
	const maxBody, maxMessages = 1 << 20, 10_000 // of a question
	var of querierv1connect.QuerierServiceHandler = &querier{s: s}
	if s.front != nil {
		of = &frontQuerier{s: s}
	}
	path, handler := querierv1connect.NewQuerierServiceHandler(of, s.connectOptions(maxBody, maxMessages)...)
	s.mux.Handle(path, s.asks("querier", headed(s.speaksConnect(handler))))
}

// answered answers a question with a message of a limited size.
func answered[M any, P interface {
	*M
	proto.Message
}](ctx context.Context, s *Server, f func(context.Context, *columnstore.Snapshot) (P, error)) (*connect.Response[M], error) {
	var answer P
	err := s.query(ctx, func(ctx context.Context, snap *columnstore.Snapshot) (err error) {
		answer, err = f(ctx, snap)
		return err
	})
	return limited(ctx, s, answer, err)
}

// limited answers with a message of a limited size, or with an error.
func limited[M any, P interface {
	*M
	proto.Message
}](ctx context.Context, s *Server, answer P, err error) (*connect.Response[M], error) {
	if err == nil {
		if size := int64(proto.Size(answer)); size > s.limits.ResultBytes {
			err = tooCostly("an answer of %d bytes, at most %d", size, s.limits.ResultBytes)
		}
	}
	if err != nil {
		return nil, connectError(ctx, err)
	}
	return connect.NewResponse((*M)(answer)), nil
}

// refused returns an error for a part of a question that has no answer here.
func refused(format string, args ...any) error {
	return connect.NewError(connect.CodeUnimplemented, fmt.Errorf(format, args...))
}

// about returns the query of a list of selectors, of which Grafana sends none or one.
func (q *querier) about(matchers []string, start, end int64) (out profile.Query, err error) {
	out.MaxBytes = q.s.limits.QueryBytes
	if len(matchers) > 1 {
		return out, invalid("matchers: want one selector, not %d", len(matchers))
	}
	text := ""
	if len(matchers) == 1 {
		text = matchers[0]
	}
	if out.Selector, err = selectorOf(text); err != nil {
		return out, fmt.Errorf("matchers: %w", err)
	}
	return out, millis(&out, start, end)
}

// ProfileTypes returns the types of the profiles of a range of time, without reading rows.
func (q *querier) ProfileTypes(ctx context.Context, r *connect.Request[querierv1.ProfileTypesRequest]) (*connect.Response[querierv1.ProfileTypesResponse], error) {
	return answered(ctx, q.s, func(ctx context.Context, snap *columnstore.Snapshot) (*querierv1.ProfileTypesResponse, error) {
		query, err := q.about(nil, r.Msg.GetStart(), r.Msg.GetEnd())
		if err != nil {
			return nil, err
		}
		kinds, err := q.s.db.Kinds(ctx, snap, query)
		if err != nil {
			return nil, err
		}
		out := &querierv1.ProfileTypesResponse{}
		known := map[string]bool{}
		for _, k := range kinds {
			for _, t := range k.Types {
				if id := typeID(k.Name, t); !known[id] {
					known[id] = true
					out.ProfileTypes = append(out.ProfileTypes, &typesv1.ProfileType{
						ID: id, Name: cmp.Or(k.Name, unnamed), SampleType: t.Sample, SampleUnit: t.SampleUnit, PeriodType: t.Period, PeriodUnit: t.PeriodUnit,
					})
				}
			}
		}
		slices.SortFunc(out.ProfileTypes, func(a, b *typesv1.ProfileType) int { return cmp.Compare(a.GetID(), b.GetID()) })
		return out, nil
	})
}

// LabelNames returns the names of the labels of profiles.
func (q *querier) LabelNames(ctx context.Context, r *connect.Request[typesv1.LabelNamesRequest]) (*connect.Response[typesv1.LabelNamesResponse], error) {
	return answered(ctx, q.s, func(ctx context.Context, snap *columnstore.Snapshot) (*typesv1.LabelNamesResponse, error) {
		query, err := q.about(r.Msg.GetMatchers(), r.Msg.GetStart(), r.Msg.GetEnd())
		if err != nil {
			return nil, err
		}
		names, err := q.s.db.LabelNames(ctx, snap, query)
		return &typesv1.LabelNamesResponse{Names: names}, err
	})
}

// LabelValues returns the values of a label.
func (q *querier) LabelValues(ctx context.Context, r *connect.Request[typesv1.LabelValuesRequest]) (*connect.Response[typesv1.LabelValuesResponse], error) {
	return answered(ctx, q.s, func(ctx context.Context, snap *columnstore.Snapshot) (*typesv1.LabelValuesResponse, error) {
		query, err := q.about(r.Msg.GetMatchers(), r.Msg.GetStart(), r.Msg.GetEnd())
		if err == nil && r.Msg.GetName() == "" {
			err = invalid("name: want the name of a label")
		}
		if err != nil {
			return nil, err
		}
		values, err := q.s.db.LabelValues(ctx, snap, r.Msg.GetName(), query)
		return &typesv1.LabelValuesResponse{Names: values}, err
	})
}

// typeLabels are labels of the series of an answer that name the type of its profiles.
const (
	typeLabel    = "__profile_type__"
	nameOfType   = "__type__"
	unitOfType   = "__unit__"
	nameOfPeriod = "__period_type__"
	unitOfPeriod = "__period_unit__"
)

// Series returns the distinct sets of labels of profiles, with their types as labels.
func (q *querier) Series(ctx context.Context, r *connect.Request[querierv1.SeriesRequest]) (*connect.Response[querierv1.SeriesResponse], error) {
	return answered(ctx, q.s, func(ctx context.Context, snap *columnstore.Snapshot) (*querierv1.SeriesResponse, error) {
		query, err := q.about(r.Msg.GetMatchers(), r.Msg.GetStart(), r.Msg.GetEnd())
		if err != nil {
			return nil, err
		}
		series, err := q.s.db.Series(ctx, snap, query)
		if err != nil {
			return nil, err
		}
		out := &querierv1.SeriesResponse{}
		known := map[string]bool{}
		for _, s := range series {
			labels := sourceLabels(s, r.Msg.GetLabelNames())
			key := fmt.Sprintf("%q", labels)
			if len(labels) > 0 && !known[key] {
				known[key] = true
				out.LabelsSet = append(out.LabelsSet, &typesv1.Labels{Labels: labelPairs(labels)})
			}
		}
		return out, nil
	})
}

// sourceLabels returns the labels of a series and of its type, sorted: those of some names, or all.
func sourceLabels(s profile.Source, names []string) (labels []profile.Label) {
	name := ""
	for _, l := range s.Labels {
		if l.Name == profile.NameLabel {
			name = l.Value
		}
	}
	labels = append(slices.Clone(s.Labels),
		profile.Label{Name: typeLabel, Value: typeID(name, s.Type)}, profile.Label{Name: nameOfType, Value: s.Type.Sample}, profile.Label{Name: unitOfType, Value: s.Type.SampleUnit},
		profile.Label{Name: nameOfPeriod, Value: s.Type.Period}, profile.Label{Name: unitOfPeriod, Value: s.Type.PeriodUnit})
	labels = slices.DeleteFunc(labels, func(l profile.Label) bool {
		return l.Value == "" || len(names) > 0 && !slices.Contains(names, l.Name)
	})
	slices.SortFunc(labels, func(a, b profile.Label) int { return cmp.Compare(a.Name, b.Name) })
	return labels
}

func labelPairs(labels []profile.Label) []*typesv1.LabelPair {
	pairs := make([]*typesv1.LabelPair, len(labels))
	for i, l := range labels {
		pairs[i] = &typesv1.LabelPair{Name: l.Name, Value: l.Value}
	}
	return pairs
}

// asked is a question for the values of one type.
type asked struct {
	typ   profile.Type
	query profile.Query
}

// ask returns the question of a type id, a selector and a range of time.
func (q *querier) ask(id, selector string, start, end int64) (a asked, err error) {
	name, t, err := parseTypeID(id)
	if err != nil {
		return a, err
	}
	s, err := selectorOf(selector)
	if err == nil {
		s, err = named(s, name)
	}
	if err != nil {
		return a, fmt.Errorf("label_selector: %w", err)
	}
	// The name tells kinds apart: agents of several languages list other types under one.
	a.typ, a.query = t, profile.Query{Selector: s, MaxBytes: q.s.limits.QueryBytes, SumKinds: name != unnamed}
	return a, millis(&a.query, start, end)
}

// only restricts a question to samples with one of some ids.
func (a *asked) only(label string, ids []string, digits int) (err error) {
	if len(ids) == 0 {
		return nil
	}
	for _, id := range ids {
		if len(id) != digits || !isHex(id) {
			return invalid("%s: want %d hexadecimal digits, not %s", label, digits, quoted(id))
		}
	}
	if len(ids) > 1 { // = takes either case, patterns do not
		var both []string
		for _, id := range ids {
			both = append(both, strings.ToLower(id), strings.ToUpper(id))
		}
		ids = both
	}
	a.query.Selector, err = and(a.query.Selector, label, ids...)
	return err
}

func isHex(text string) bool {
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

// SelectSeries returns sums over time. A point has the sum of the profiles from its time up to the next
// step, or of gauges the mean, unless the sum is asked for.
func (q *querier) SelectSeries(ctx context.Context, r *connect.Request[querierv1.SelectSeriesRequest]) (*connect.Response[querierv1.SelectSeriesResponse], error) {
	return answered(ctx, q.s, func(ctx context.Context, snap *columnstore.Snapshot) (*querierv1.SelectSeriesResponse, error) {
		m := r.Msg
		a, err := q.ask(m.GetProfileTypeID(), m.GetLabelSelector(), m.GetStart(), m.GetEnd())
		if err != nil {
			return nil, err
		}
		opts := profile.RangeOptions{By: m.GetGroupBy(), Top: int(min(max(m.GetLimit(), 0), math.MaxInt32))}
		switch {
		case !(m.GetStep() >= 0.001) || m.GetStep() > 1e9:
			return nil, invalid("step: want seconds, at least 0.001, not %v", m.GetStep())
		case len(m.GetStackTraceSelector().GetCallSite()) > 0:
			return nil, refused("stack_trace_selector: series of one call site are not computed")
		case m.Aggregation != nil && m.GetAggregation() == typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_AVERAGE && !a.typ.IsGauge():
			return nil, refused("aggregation: the average of %s is not computed", a.typ.Sample)
		}
		opts.Step = time.Duration(math.Round(m.GetStep() * float64(time.Second)))
		a.query.SumGauges = m.Aggregation != nil && m.GetAggregation() == typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_SUM
		lines, err := q.s.db.Range(ctx, snap, a.typ, a.query, opts)
		if err == nil {
			err = q.s.tellKinds(ctx, snap, a.query)
		}
		if err != nil {
			return nil, err
		}
		out := &querierv1.SelectSeriesResponse{}
		for _, line := range lines {
			points := make([]*typesv1.Point, len(line.Points))
			for i, p := range line.Points {
				points[i] = &typesv1.Point{Value: float64(p.Value), Timestamp: p.Time / int64(time.Millisecond)}
			}
			out.Series = append(out.Series, &typesv1.Series{Labels: labelPairs(line.Labels), Points: points})
		}
		return out, nil
	})
}

// stacks returns the question of a request for stacks, of all call sites.
func (q *querier) stacks(m *querierv1.SelectMergeStacktracesRequest) (a asked, err error) {
	if a, err = q.ask(m.GetProfileTypeID(), m.GetLabelSelector(), m.GetStart(), m.GetEnd()); err != nil {
		return a, err
	}
	switch {
	case len(m.GetProfileIdSelector()) > 0:
		return a, refused("profile_id_selector: the ids of profiles are not stored")
	case m.GetStackTraceSelector().GetGoPgo() != nil:
		return a, refused("stack_trace_selector: go_pgo is not computed; GET /pprof has a profile for PGO")
	case m.GetAsync() != nil:
		return a, refused("async: questions are answered at once")
	}
	if err = a.only("trace_id", m.GetTraceIdSelector(), 32); err == nil {
		err = a.only("span_id", m.GetSpanSelector(), 16)
	}
	return a, err
}

// nodes returns the number of functions of a flame graph.
func (q *querier) nodes(asked int64) (int, error) {
	const most = 8192 // as of Grafana
	switch {
	case asked < 0 || asked > int64(q.s.limits.Nodes):
		return 0, tooCostly("max_nodes of %d, at most %d", asked, q.s.limits.Nodes)
	case asked == 0:
		return min(most, q.s.limits.Nodes), nil
	}
	return int(asked), nil
}

// graph returns the flame graph of a question.
func (q *querier) graph(ctx context.Context, snap *columnstore.Snapshot, a asked, callSite []*typesv1.Location, most int64) (*querierv1.FlameGraph, error) {
	n, err := q.nodes(most)
	if err != nil {
		return nil, err
	}
	stacks, err := q.s.db.Merge(ctx, snap, a.typ, a.query)
	if err != nil {
		return nil, err
	}
	if len(callSite) == 0 {
		return levelsOf(stacks.FlameGraph(profile.FlameGraphOptions{MaxNodes: n})), nil
	}
	root := below(stacks.FlameGraph(profile.FlameGraphOptions{}), callSite)
	prune(root, n)
	return levelsOf(root), nil
}

// SelectMergeStacktraces returns the merged stacks of profiles as a flame graph or as pprof.
func (q *querier) SelectMergeStacktraces(ctx context.Context, r *connect.Request[querierv1.SelectMergeStacktracesRequest]) (*connect.Response[querierv1.SelectMergeStacktracesResponse], error) {
	return answered(ctx, q.s, func(ctx context.Context, snap *columnstore.Snapshot) (out *querierv1.SelectMergeStacktracesResponse, err error) {
		m := r.Msg
		a, err := q.stacks(m)
		if err != nil {
			return nil, err
		}
		callSite := m.GetStackTraceSelector().GetCallSite()
		out = &querierv1.SelectMergeStacktracesResponse{}
		switch f := m.GetFormat(); f {
		case querierv1.ProfileFormat_PROFILE_FORMAT_UNSPECIFIED, querierv1.ProfileFormat_PROFILE_FORMAT_FLAMEGRAPH:
			out.Flamegraph, err = q.graph(ctx, snap, a, callSite, m.GetMaxNodes())
		case querierv1.ProfileFormat_PROFILE_FORMAT_PPROF:
			if len(callSite) > 0 {
				return nil, refused("stack_trace_selector: not with pprof")
			}
			out.Pprof = &querierv1.PprofProfile{}
			out.Pprof.Profile, err = q.pprof(ctx, snap, a)
		default:
			return nil, refused("format: %s is not made; flame graphs and pprof are", f)
		}
		return out, err
	})
}

// SelectMergeSpanProfile is SelectMergeStacktraces of samples with one of some span ids.
func (q *querier) SelectMergeSpanProfile(ctx context.Context, r *connect.Request[querierv1.SelectMergeSpanProfileRequest]) (*connect.Response[querierv1.SelectMergeSpanProfileResponse], error) {
	return answered(ctx, q.s, func(ctx context.Context, snap *columnstore.Snapshot) (*querierv1.SelectMergeSpanProfileResponse, error) {
		m := r.Msg
		a, err := q.ask(m.GetProfileTypeID(), m.GetLabelSelector(), m.GetStart(), m.GetEnd())
		if err == nil {
			err = a.only("span_id", m.GetSpanSelector(), 16)
		}
		if f := m.GetFormat(); err == nil && f > querierv1.ProfileFormat_PROFILE_FORMAT_FLAMEGRAPH {
			err = refused("format: %s is not made; flame graphs are", f)
		}
		if err != nil {
			return nil, err
		}
		graph, err := q.graph(ctx, snap, a, nil, m.GetMaxNodes())
		return &querierv1.SelectMergeSpanProfileResponse{Flamegraph: graph}, err
	})
}

// SelectMergeProfile returns the merged profiles as one of pprof.
func (q *querier) SelectMergeProfile(ctx context.Context, r *connect.Request[querierv1.SelectMergeProfileRequest]) (*connect.Response[googlev1.Profile], error) {
	return answered(ctx, q.s, func(ctx context.Context, snap *columnstore.Snapshot) (*googlev1.Profile, error) {
		m := r.Msg
		a, err := q.stacks(&querierv1.SelectMergeStacktracesRequest{
			ProfileTypeID: m.GetProfileTypeID(), LabelSelector: m.GetLabelSelector(), Start: m.GetStart(), End: m.GetEnd(),
			ProfileIdSelector: m.GetProfileIdSelector(), TraceIdSelector: m.GetTraceIdSelector(), StackTraceSelector: m.GetStackTraceSelector(),
		})
		if err == nil && len(m.GetStackTraceSelector().GetCallSite()) > 0 {
			err = refused("stack_trace_selector: not with pprof")
		}
		if err != nil {
			return nil, err
		}
		return q.pprof(ctx, snap, a)
	})
}

// pprof returns the merged profile of a question, by stack alone.
func (q *querier) pprof(ctx context.Context, snap *columnstore.Snapshot, a asked) (*googlev1.Profile, error) {
	a.query.NoSampleLabels = true
	p, err := q.s.db.Profile(ctx, snap, a.query, a.typ)
	if err == nil {
		err = q.s.tellKinds(ctx, snap, a.query)
	}
	if err != nil {
		return nil, err
	}
	p.Comments = q.s.comments
	var buf bytes.Buffer
	if err := p.WriteUncompressed(&buf); err != nil {
		return nil, err
	}
	out := &googlev1.Profile{}
	return out, proto.Unmarshal(buf.Bytes(), out)
}

// Diff returns the stacks of two questions side by side.
func (q *querier) Diff(ctx context.Context, r *connect.Request[querierv1.DiffRequest]) (*connect.Response[querierv1.DiffResponse], error) {
	return answered(ctx, q.s, func(ctx context.Context, snap *columnstore.Snapshot) (*querierv1.DiffResponse, error) {
		n, err := q.nodes(max(r.Msg.GetLeft().GetMaxNodes(), r.Msg.GetRight().GetMaxNodes()))
		if err != nil {
			return nil, err
		}
		var sides [2]*profile.FlameNode
		for i, m := range []*querierv1.SelectMergeStacktracesRequest{r.Msg.GetLeft(), r.Msg.GetRight()} {
			side := []string{"left", "right"}[i]
			a, err := q.stacks(m)
			if err != nil {
				return nil, sideError(side, err)
			}
			stacks, err := q.s.db.Merge(ctx, snap, a.typ, a.query)
			if err != nil {
				return nil, sideError(side, err)
			}
			sides[i] = below(stacks.FlameGraph(profile.FlameGraphOptions{}), m.GetStackTraceSelector().GetCallSite())
		}
		return &querierv1.DiffResponse{Flamegraph: diffLevels(join(sides[0], sides[1]), n)}, nil
	})
}

// sideError names the side of a difference that an error is of.
func sideError(side string, err error) error {
	if c, ok := errors.AsType[*connect.Error](err); ok {
		return connect.NewError(c.Code(), fmt.Errorf("%s: %s", side, c.Message()))
	}
	return fmt.Errorf("%s: %w", side, err)
}
