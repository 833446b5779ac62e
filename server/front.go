package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"connectrpc.com/connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/fanout"
)

// Nodes are the servers whose profiles a front answers from.
type Nodes = fanout.Nodes

// ErrNode reports a node of a front: an address that is none, or a node that did not answer. The text
// names the node.
var ErrNode = fanout.ErrNode

// NewFront returns a server without a store: it answers questions from the profiles of all nodes, and
// takes no pushes. Of the options, Profiles, DropLabels and Older are not used; Tokens.Node is what nodes are
// sent. The limits bound an answer of the front, and what it reads of a node. Errors are ErrLimit
// for a negative limit, and ErrNode for an address that is none, or is there twice.
func NewFront(nodes Nodes, opts Options) (*Server, error) {
	s, err := newBare(opts, newMetrics(nil))
	if err != nil {
		return nil, err
	}
	const message = 100 // bytes that one takes in memory, about
	s.front, err = fanout.New(nodes, fanout.Options{
		Answer: s.limits.ResultBytes, Memory: s.limits.QueryBytes, Time: s.limits.QueryTime, Queries: s.limits.Queries, Profile: s.limits.Profile,
		Registry: s.metrics.registry, Codec: protoCodec{most: int(max(s.limits.QueryBytes/message, 1000))},
		Token: func() string { return s.tokens.Load().Node }, Warn: s.warn,
	})
	if err != nil {
		return nil, err
	}
	s.routes()
	return s, nil
}

// frontRoutes registers the handlers of a front's questions.
func (s *Server) frontRoutes() {
	s.mux.Handle("GET /pprof", s.asks("pprof", headed(s.handler(s.frontPprof))))
	s.mux.Handle("GET /arrow", s.asks("arrow", s.handler(func(http.ResponseWriter, *http.Request) error {
		return refused("a front has no rows: ask each node for its /arrow: %s", s.front)
	})))
}

// refusePush answers a push to a front, in the protocol that it came by.
func (s *Server) refusePush(w http.ResponseWriter, r *http.Request) {
	err := refused("a front takes no profiles: push them to one of its nodes: %s", s.front)
	isCall := r.URL.Path == pushv1connect.PusherServicePushProcedure || r.URL.Path == otlpProcedure
	if connects := connect.NewErrorWriter(); isCall && connects.IsSupported(r) {
		s.note(w, r, err)
		_ = connects.Write(w, r, err) // an error is that the client has gone
		return
	}
	s.fail(w, r, err)
}

// headerKey is the key of a request's context with the headers of its request and its answer.
type headerKey struct{}

type headers struct{ request, answer http.Header }

// headed is a handler of questions whose context has the headers.
func headed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), headerKey{}, headers{r.Header, w.Header()})))
	})
}

// warn adds a warning to the answer, and logs it.
func (s *Server) warn(ctx context.Context, err error) {
	if h, ok := ctx.Value(headerKey{}).(headers); ok {
		h.answer.Add(fanout.WarningHeader, err.Error())
	}
	s.opts.Log.WarnContext(ctx, "partial answer", "error", err)
}

// warnings returns the warnings so far.
func warnings(ctx context.Context) []string {
	h, _ := ctx.Value(headerKey{}).(headers)
	return h.answer.Values(fanout.WarningHeader)
}

// tellKinds answers a front's question for the kinds of the profiles of a query, if there is one: of those with
// some types, or all.
func (s *Server) tellKinds(ctx context.Context, snap *columnstore.Snapshot, q profile.Query, types ...profile.Type) error {
	h, _ := ctx.Value(headerKey{}).(headers)
	if h.request.Get(fanout.KindsHeader) == "" || q.SumKinds {
		return nil
	}
	q.Exact = true
	kinds, err := s.db.Kinds(ctx, snap, q)
	if err != nil {
		return err
	}
	text, err := fanout.EncodeKinds(kinds, types...)
	h.answer.Set(fanout.KindsHeader, text)
	return err
}

// frontPprof is pprof at a front: GET /pprof.
func (s *Server) frontPprof(w http.ResponseWriter, r *http.Request) error {
	p, err := s.parseParameters(r.URL.RawQuery, "seconds", "debug")
	if err != nil {
		return err
	}
	return s.inTime(r.Context(), func(ctx context.Context) error {
		t, name, here := fanout.Typed{}, p.rest.Get("type"), url.Values{}
		if p.typ != "" {
			if t, err = s.front.FindType(ctx, p.typ); err != nil {
				return fmt.Errorf("parameter type: %w", err)
			}
			here.Set("type", t.Type.String())
		}
		if _, _, err := parseTypeID(name); err != nil { // what it stands for depends on a node's types
			name = here.Get("type")
		}
		side := fanout.ProfileOf(t, name, p.query.SumKinds, p.rest.Get("selector"), p.query.From, p.query.To)
		return s.front.Stacks(ctx, []fanout.Side{side}, t, func(db *profile.DB, times *profile.Times) error {
			r = r.Clone(ctx)
			r.URL.RawQuery = here.Encode()
			return s.querierOf(ctx, db, times).s.pprof(w, r)
		})
	})
}
