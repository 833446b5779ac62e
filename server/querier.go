package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/selector"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
)

// querier answers querier.v1.QuerierService, which Grafana's data source for Pyroscope asks. Methods
// that it does not have are unimplemented.
type querier struct {
	querierv1connect.UnimplementedQuerierServiceHandler
	s *Server
}

// A question has at most so many bytes, and messages.
const maxQuestion, maxQuestionMessages = 1 << 20, 10_000

// queryRoutes registers the handlers of questions.
func (s *Server) queryRoutes() {
	var of querierv1connect.QuerierServiceHandler = &querier{s: s}
	if s.front != nil {
		of = &frontQuerier{s: s}
	}
	path, handler := querierv1connect.NewQuerierServiceHandler(of, s.connectOptions(maxQuestion, maxQuestionMessages)...)
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

// asked is a question for the values of one type.
type asked struct {
	name     string // in the id of the type
	typ      profile.Type
	matchers []selector.Matcher
	query    profile.Query
}

// ask returns the question of a type id, a selector and a range of time.
func (q *querier) ask(id, text string, start, end int64) (a asked, err error) {
	if a.name, a.typ, err = parseTypeID(id); err != nil {
		return a, invalid("profile_typeID: %w", err)
	}
	s, err := parseSelection(text)
	if err != nil {
		return a, invalid("label_selector: %w", err)
	}
	a.matchers = append(s.labels, nameMatcher(a.name))
	if !s.hasType(a.name, a.typ) { // nothing is chosen
		a.matchers = append(a.matchers, selector.Matcher{Name: profile.NameLabel}, selector.Matcher{Name: profile.NameLabel, Op: selector.OpNotEqual})
	}
	// The name tells kinds apart: agents of several languages list other types under one.
	a.query = profile.Query{MaxBytes: q.s.limits.QueryBytes, SumKinds: a.name != unnamed, Times: q.s.times}
	if err := a.restrict(); err != nil {
		return a, invalid("label_selector: %w", err)
	}
	return a, millis(&a.query, start, end)
}

// restrict adds conditions.
func (a *asked) restrict(more ...selector.Matcher) (err error) {
	a.matchers = append(a.matchers, more...)
	a.query.Selector, err = selectorOf(a.matchers)
	return err
}

// only restricts a question to samples with one of some ids.
func (a *asked) only(label string, ids []string, digits int) error {
	const most = 1000
	if len(ids) > most {
		return tooLarge("%s: %d ids, at most %d", label, len(ids), most)
	}
	var either []string
	for _, id := range ids {
		if len(id) != digits || strings.Trim(id, "0123456789abcdefABCDEF") != "" {
			return invalid("%s: want %d hexadecimal digits, not %s", label, digits, quoted(id))
		}
		either = append(either, strings.ToLower(id), strings.ToUpper(id))
	}
	switch len(ids) {
	case 0:
		return nil
	case 1: // is compared without regard to case, and found fast
		return a.restrict(selector.Matcher{Name: label, Value: ids[0]})
	}
	return a.restrict(selector.Matcher{Name: label, Op: selector.OpPattern, Value: strings.Join(either, "|")})
}

// under restricts a question to the samples of a call site.
func (a *asked) under(s *typesv1.StackTraceSelector) error {
	if s.GetGoPgo() != nil {
		return refused("stack_trace_selector: go_pgo is not computed; GET /pprof has a profile for PGO")
	}
	for _, l := range s.GetCallSite() {
		a.query.Under = append(a.query.Under, l.GetName())
	}
	return nil
}

// stacks returns the question of a request for stacks.
func (q *querier) stacks(m *querierv1.SelectMergeStacktracesRequest) (a asked, err error) {
	if a, err = q.ask(m.GetProfileTypeID(), m.GetLabelSelector(), m.GetStart(), m.GetEnd()); err != nil {
		return a, err
	}
	switch {
	case len(m.GetProfileIdSelector()) > 0:
		return a, refused("profile_id_selector: the ids of profiles are not stored")
	case m.GetAsync() != nil:
		return a, refused("async: questions are answered at once")
	}
	if err = a.only("trace_id", m.GetTraceIdSelector(), 32); err == nil {
		err = a.only("span_id", m.GetSpanSelector(), 16)
	}
	if err == nil {
		err = a.under(m.GetStackTraceSelector())
	}
	return a, err
}

// ofSpans returns the request for the stacks of spans.
func ofSpans(m *querierv1.SelectMergeSpanProfileRequest) *querierv1.SelectMergeStacktracesRequest {
	return &querierv1.SelectMergeStacktracesRequest{
		ProfileTypeID: m.GetProfileTypeID(), LabelSelector: m.GetLabelSelector(), Start: m.GetStart(), End: m.GetEnd(),
		SpanSelector: m.GetSpanSelector(), MaxNodes: m.MaxNodes,
	}
}

// checkGraph returns an error if a request for the stacks of spans is not for a flame graph.
func checkGraph(m *querierv1.SelectMergeSpanProfileRequest) error {
	if f := m.GetFormat(); f > querierv1.ProfileFormat_PROFILE_FORMAT_FLAMEGRAPH {
		return refused("format: %s is not made; flame graphs are", f)
	}
	return nil
}

// ofProfile returns the request for the stacks of a profile, as pprof.
func ofProfile(m *querierv1.SelectMergeProfileRequest) *querierv1.SelectMergeStacktracesRequest {
	return &querierv1.SelectMergeStacktracesRequest{
		ProfileTypeID: m.GetProfileTypeID(), LabelSelector: m.GetLabelSelector(), Start: m.GetStart(), End: m.GetEnd(),
		ProfileIdSelector: m.GetProfileIdSelector(), TraceIdSelector: m.GetTraceIdSelector(), StackTraceSelector: m.GetStackTraceSelector(),
		Format: querierv1.ProfileFormat_PROFILE_FORMAT_PPROF,
	}
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

// tree returns the flame graph of a question, or of the two sides of a difference.
func (q *querier) tree(ctx context.Context, snap *columnstore.Snapshot, sides ...asked) (*tree.Calls, error) {
	t := tree.New(tree.FromRoot, "", q.s.limits.QueryBytes)
	for side, a := range sides {
		stacks, err := q.s.db.Merge(ctx, snap, a.typ, a.query)
		if err == nil {
			err = t.Add(ctx, side, stacks)
		}
		if err != nil && len(sides) > 1 {
			err = sideError(sideNames[side], err)
		}
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// graph returns the flame graph of a question, with at most so many functions.
func (q *querier) graph(ctx context.Context, snap *columnstore.Snapshot, a asked, most int64) (*querierv1.FlameGraph, error) {
	n, err := q.nodes(most)
	if err != nil {
		return nil, err
	}
	t, err := q.tree(ctx, snap, a)
	if err != nil {
		return nil, err
	}
	return graphOf(t, n), nil
}

// SelectMergeStacktraces returns the merged stacks of profiles as a flame graph or as pprof.
func (q *querier) SelectMergeStacktraces(ctx context.Context, r *connect.Request[querierv1.SelectMergeStacktracesRequest]) (*connect.Response[querierv1.SelectMergeStacktracesResponse], error) {
	return answered(ctx, q.s, func(ctx context.Context, snap *columnstore.Snapshot) (out *querierv1.SelectMergeStacktracesResponse, err error) {
		m := r.Msg
		a, err := q.stacks(m)
		if err != nil {
			return nil, err
		}
		out = &querierv1.SelectMergeStacktracesResponse{}
		switch f := m.GetFormat(); f {
		case querierv1.ProfileFormat_PROFILE_FORMAT_UNSPECIFIED, querierv1.ProfileFormat_PROFILE_FORMAT_FLAMEGRAPH:
			out.Flamegraph, err = q.graph(ctx, snap, a, m.GetMaxNodes())
		case querierv1.ProfileFormat_PROFILE_FORMAT_PPROF:
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
		a, err := q.stacks(ofSpans(m))
		if err == nil {
			err = checkGraph(m)
		}
		if err != nil {
			return nil, err
		}
		graph, err := q.graph(ctx, snap, a, m.GetMaxNodes())
		return &querierv1.SelectMergeSpanProfileResponse{Flamegraph: graph}, err
	})
}

// SelectMergeProfile returns the merged profiles as one of pprof.
func (q *querier) SelectMergeProfile(ctx context.Context, r *connect.Request[querierv1.SelectMergeProfileRequest]) (*connect.Response[googlev1.Profile], error) {
	return answered(ctx, q.s, func(ctx context.Context, snap *columnstore.Snapshot) (*googlev1.Profile, error) {
		a, err := q.stacks(ofProfile(r.Msg))
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
		err = q.s.tellKinds(ctx, snap, a.query, a.typ)
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

// sideNames are the names of the sides of a difference.
var sideNames = [2]string{"left", "right"}

// Diff returns the stacks of two questions side by side.
func (q *querier) Diff(ctx context.Context, r *connect.Request[querierv1.DiffRequest]) (*connect.Response[querierv1.DiffResponse], error) {
	return answered(ctx, q.s, func(ctx context.Context, snap *columnstore.Snapshot) (*querierv1.DiffResponse, error) {
		n, err := q.nodes(max(r.Msg.GetLeft().GetMaxNodes(), r.Msg.GetRight().GetMaxNodes()))
		if err != nil {
			return nil, err
		}
		var sides [2]asked
		for i, m := range []*querierv1.SelectMergeStacktracesRequest{r.Msg.GetLeft(), r.Msg.GetRight()} {
			if sides[i], err = q.stacks(m); err != nil {
				return nil, sideError(sideNames[i], err)
			}
		}
		if l, r := sides[0].typ, sides[1].typ; l.Sample != r.Sample || l.SampleUnit != r.SampleUnit {
			return nil, invalid("left and right: the types are %s and %s", quoted(l.String()), quoted(r.String()))
		}
		t, err := q.tree(ctx, snap, sides[:]...)
		if err != nil {
			return nil, err
		}
		return &querierv1.DiffResponse{Flamegraph: diffOf(t, n)}, nil
	})
}

// sideError names the side of a difference that an error is of.
func sideError(side string, err error) error {
	if c, ok := errors.AsType[*connect.Error](err); ok {
		return connect.NewError(c.Code(), fmt.Errorf("%s: %s", side, c.Message()))
	}
	return fmt.Errorf("%s: %w", side, err)
}
