package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// Stacks of several nodes are not merged here. Each node is asked for all of its stacks as pprof, which is
// inserted into a store in memory, and a server of that store answers. So a flame graph that is
// pruned is that of all profiles, and not a sum of pruned ones.

// side is a question for stacks, of which a difference has two.
type side struct {
	question
	isNamed bool // the type has a name, so kinds are added up
}

// Labels of the profiles of nodes in the store in memory.
const (
	sideLabel = "side"
	nodeLabel = "node"
)

// anyName is the name of the profiles in the store in memory that have one. All of a side have the same.
const anyName = "any"

// stacksOf returns the question for all stacks of a request.
func stacksOf(m *querierv1.SelectMergeStacktracesRequest) side {
	name, _, _ := parseTypeID(m.GetProfileTypeID()) // the request was checked
	isNamed := name != unnamed
	return side{question{
		path: querierv1connect.QuerierServiceSelectMergeStacktracesProcedure, media: protoMedia, kinds: !isNamed,
		message: &querierv1.SelectMergeStacktracesRequest{
			ProfileTypeID: m.GetProfileTypeID(), LabelSelector: m.GetLabelSelector(), Start: m.GetStart(), End: m.GetEnd(),
			SpanSelector: m.GetSpanSelector(), TraceIdSelector: m.GetTraceIdSelector(), Format: querierv1.ProfileFormat_PROFILE_FORMAT_PPROF,
		},
	}, isNamed}
}

// collected returns the request for the stacks of a side in the store in memory.
func collected(m *querierv1.SelectMergeStacktracesRequest, number int) *querierv1.SelectMergeStacktracesRequest {
	name, t, _ := parseTypeID(m.GetProfileTypeID()) // the request was checked
	if name != unnamed {
		name = anyName
	}
	return &querierv1.SelectMergeStacktracesRequest{
		ProfileTypeID: typeID(name, t), LabelSelector: "{" + sideLabel + "=" + strconv.Quote(strconv.Itoa(number)) + "}",
		MaxNodes: m.MaxNodes, Format: m.GetFormat(), StackTraceSelector: m.GetStackTraceSelector(),
	}
}

// collect calls f with a server of the stacks of all nodes, which are in memory until f returns. types are
// those of the question for kinds; without any, all are.
func (s *Server) collect(ctx context.Context, nodes []*node, sides []side, f func(*Server) error, types ...profile.Type) (err error) {
	// Without time buckets no profile is evicted for another: what does not fit is an error.
	store, err := columnstore.Open(columnstore.Options{MemoryBudget: max(s.limits.QueryBytes, 1<<20), Manual: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	limits := s.limits.Profile
	limits.Bytes = int(min(s.limits.ResultBytes, 1<<31-1))
	limits.Samples = max(limits.Samples, limits.Bytes/16) // merged stacks, of any number of profiles
	db, err := profile.Open(store, profile.Options{Bucket: -1, Limits: limits})
	if err != nil {
		return err
	}
	of := kindsOf{}
	questions := make([]question, len(sides))
	for i, p := range sides {
		questions[i] = p.question
	}
	_, err = s.gather(ctx, nodes, 0.25, questions, func(i int, replies []reply) error {
		tx := store.Begin()
		for k, r := range replies {
			if err := keep(ctx, db, tx, sides[k], nodes[i], r, strconv.Itoa(k), of); err != nil {
				tx.Abort()
				return err
			}
		}
		_, err := tx.Commit()
		return err
	})
	if errors.Is(err, columnstore.ErrMemory) {
		err = tooCostly("the memory of a query, at most %d bytes: %v", s.limits.QueryBytes, err)
	}
	if err == nil {
		err = of.check(types...)
	}
	if err == nil {
		err = store.View(ctx, func(snap *columnstore.Snapshot) error { return s.checkMeans(ctx, snap, db) })
	}
	if err != nil {
		return err
	}
	return f(&Server{db: db, opts: s.opts, limits: s.limits, metrics: s.metrics, queries: make(chan struct{}, 1), comments: warnings(ctx)})
}

// keep inserts a node's profile for a side.
func keep(ctx context.Context, db *profile.DB, tx *columnstore.Tx, p side, n *node, r reply, number string, of kindsOf) error {
	labels := map[string]string{sideLabel: number, nodeLabel: n.url}
	if p.isNamed {
		labels[profile.NameLabel] = anyName
	}
	data := r.body
	if p.message != nil {
		data = pprofOf(r.body)
	}
	if data == nil {
		return n.away("an answer without a profile: is it a Granary?")
	}
	rows, err := db.InsertEncodedTx(ctx, tx, data, profile.InsertOptions{Labels: labels, Time: time.Now(), AllFrames: true})
	switch {
	case err != nil && ctx.Err() == nil && !errors.Is(err, columnstore.ErrMemory):
		return n.away("a wrong answer: %v", err)
	case err == nil && p.kinds && rows > 0:
		return of.add(n, r.kinds)
	}
	return err
}

// pprofOf returns the profile of an encoded SelectMergeStacktracesResponse, or nil. It need not be decoded
// to be inserted.
func pprofOf(data []byte) (found []byte) {
	const fieldPprof, fieldProfile protowire.Number = 5, 1
	eachField(data, func(number protowire.Number, value []byte) {
		if number == fieldPprof {
			eachField(value, func(number protowire.Number, value []byte) {
				if number == fieldProfile {
					found = value
				}
			})
		}
	})
	return found
}

// checkMeans returns an error if two nodes have gauges of one question: the mean of their sources is not the
// sum of the nodes' means if both have profiles of one source, or if a mean was rounded.
func (s *Server) checkMeans(ctx context.Context, snap *columnstore.Snapshot, db *profile.DB) error {
	sources, err := db.Series(ctx, snap, profile.Query{})
	if err != nil {
		return err
	}
	seen := map[string]string{} // the node of a side
	for _, source := range sources {
		if !source.Type.IsGauge() {
			continue
		}
		at := map[string]string{}
		for _, l := range source.Labels {
			at[l.Name] = l.Value
		}
		if n, known := seen[at[sideLabel]]; known && n != at[nodeLabel] {
			return meanError(source.Type, n, at[nodeLabel])
		}
		seen[at[sideLabel]] = at[nodeLabel]
	}
	return nil
}

// meanError returns the error of a mean over two nodes.
func meanError(t profile.Type, a, b string) error {
	return refused("%s is a gauge, and a mean over nodes is not computed: select the profiles of one node, or ask one; %s and %s have some", t.Sample, a, b)
}

// frontPprof is pprof at a front: GET /pprof.
func (s *Server) frontPprof(w http.ResponseWriter, r *http.Request) error {
	p, err := s.parseParameters(r.URL.RawQuery, "seconds", "debug")
	if err != nil {
		return err
	}
	return s.inTime(r.Context(), func(ctx context.Context) error {
		nodes, ask, types, here := s.front.nodes, url.Values{}, []profile.Type(nil), url.Values{}
		if p.typ != "" {
			var t profile.Type
			if t, nodes, err = s.findType(ctx, p.typ); err != nil {
				return err
			}
			types = append(types, t)
			ask.Set("type", t.String())
			here.Set("type", t.String())
		}
		ask.Set("selector", p.rest.Get("selector"))
		for name, nanos := range map[string]int64{"from": p.query.From, "to": p.query.To} {
			if nanos != 0 {
				ask.Set(name, time.Unix(0, nanos).UTC().Format(time.RFC3339Nano))
			}
		}
		sides := []side{{question: question{path: "/pprof?" + ask.Encode(), media: "application/octet-stream", kinds: true}}}
		return s.collect(ctx, nodes, sides, func(all *Server) error {
			r = r.Clone(ctx)
			r.URL.RawQuery = here.Encode()
			return all.pprof(w, r)
		}, types...)
	})
}

// findType returns the type that a name stands for on all nodes, and the nodes that have it.
func (s *Server) findType(ctx context.Context, name string) (t profile.Type, have []*node, err error) {
	known := map[profile.Type][]*node{}
	var all []profile.Type
	ask := question{path: querierv1connect.QuerierServiceProfileTypesProcedure, message: &querierv1.ProfileTypesRequest{}}
	_, err = askTyped(ctx, s, 0.5, ask, func(n *node, m *querierv1.ProfileTypesResponse, _ reply) error {
		for _, p := range m.GetProfileTypes() {
			t := typeOf(p)
			if known[t] == nil {
				all = append(all, t)
			}
			if last := len(known[t]) - 1; last < 0 || known[t][last] != n {
				known[t] = append(known[t], n)
			}
		}
		return nil
	})
	if err != nil {
		return t, nil, err
	}
	var found []profile.Type
	var texts []string
	for _, t := range all {
		texts = append(texts, t.String())
		if name == t.Sample || name == t.Sample+":"+t.SampleUnit || name == t.String() {
			found = append(found, t)
		}
	}
	switch {
	case len(found) == 0:
		err = fmt.Errorf("parameter type: %w %s, known types: %s", profile.ErrUnknownType, quoted(name), strings.Join(texts, ", "))
	case len(found) > 1:
		err = fmt.Errorf("parameter type: %w %s, choose one of: %s", profile.ErrAmbiguousType, quoted(name), strings.Join(texts, ", "))
	default:
		t = found[0]
	}
	return t, known[t], err
}

func typeOf(p *typesv1.ProfileType) profile.Type {
	return profile.Type{Sample: p.GetSampleType(), SampleUnit: p.GetSampleUnit(), Period: p.GetPeriodType(), PeriodUnit: p.GetPeriodUnit()}
}
