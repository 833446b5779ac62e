package fanout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	pprof "github.com/google/pprof/profile"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/web"
)

// Stacks of several nodes are not merged here. Each node returns all its stacks as pprof. They are
// inserted into a store in memory, and a server of that store answers. So a pruned flame graph is pruned
// from all profiles, and is not a sum of pruned graphs.

// Side is a query for stacks. A difference has two.
type Side struct {
	question Question
	isNamed  bool       // the profiles are stored with a name, so kinds are added up
	kinds    kindsOf    // kinds on the nodes so far
	empty    []byte     // a profile with the type, for an answer at SourcesPath
	bySource bool       // the answer comes from SourcesPath
	gauges   *gaugeNode // for a query for all types; otherwise nil
	sources  Question   // query for gauges
}

// newSide returns a query about a type, or about all types if t is zero, and its sources.
func newSide(q Question, isNamed bool, t profile.Type, selector string, start, end int64) Side {
	// Nodes have checked the kinds of a type with AnyPeriod, or this set does. Lists of different periods must not make kinds.
	side := Side{question: q, isNamed: isNamed || t.Period == profile.AnyPeriod, kinds: kindsOf{}}
	if t.IsGauge() {
		side.bySource, side.empty = true, emptyProfile(t)
	}
	if t == (profile.Type{}) {
		side.gauges, side.sources = &gaugeNode{}, gaugeQuestion(selector, start, end)
	}
	return side
}

// emptyProfile returns a profile with a type and without samples.
func emptyProfile(t profile.Type) []byte {
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: t.Sample, Unit: t.SampleUnit}},
	}
	if t.Period != profile.AnyPeriod {
		p.PeriodType = &pprof.ValueType{Type: t.Period, Unit: t.PeriodUnit}
	}
	var data bytes.Buffer
	_ = p.WriteUncompressed(&data) // a Buffer returns no errors
	return data.Bytes()
}

// Labels of the nodes' profiles in the store in memory.
const (
	sideLabel   = "side"
	nodeLabel   = "node"
	sourceLabel = "source"
)

// AnyName is the name of the profiles in the store in memory that have a name. All profiles of a side
// have the same.
const AnyName = "any"

// StacksOf returns the query for all stacks in a request with type t. isNamed reports that the type has a
// name.
func StacksOf(m *querierv1.SelectMergeStacktracesRequest, t profile.Type, isNamed bool) Side {
	path := querierv1connect.QuerierServiceSelectMergeStacktracesProcedure
	if t.IsGauge() {
		path = SourcesPath
	}
	return newSide(Question{
		Path: path, Media: ProtoMedia, Kinds: !isNamed,
		Message: &querierv1.SelectMergeStacktracesRequest{
			ProfileTypeID: m.GetProfileTypeID(), LabelSelector: m.GetLabelSelector(), Start: m.GetStart(), End: m.GetEnd(),
			ProfileIdSelector: m.GetProfileIdSelector(), SpanSelector: m.GetSpanSelector(), TraceIdSelector: m.GetTraceIdSelector(), StackTraceSelector: m.GetStackTraceSelector(), Format: querierv1.ProfileFormat_PROFILE_FORMAT_PPROF,
		},
	}, isNamed, t, m.GetLabelSelector(), m.GetStart(), m.GetEnd())
}

// ProfileOf returns the query of GET /pprof for profiles with a type, which the nodes know by name, or
// for all. isNamed reports that name is an id with the type's name. from and to are Unix nanoseconds,
// from <= time < to; 0 means no bound.
func ProfileOf(t Typed, name string, isNamed bool, selector string, from, to int64) Side {
	ask := url.Values{"selector": {selector}}
	if name != "" {
		ask.Set("type", name)
	}
	for name, nanos := range map[string]int64{"from": from, "to": to} { // by one clock
		if nanos != 0 {
			ask.Set(name, time.Unix(0, nanos).UTC().Format(time.RFC3339Nano))
		}
	}
	q := Question{Path: "/pprof?" + ask.Encode(), Media: "application/octet-stream", Kinds: !isNamed}
	if t.Type.IsGauge() {
		q.Path, q.Media = SourcesPath+"?"+ask.Encode(), ProtoMedia
	}
	milli := int64(time.Millisecond)
	return newSide(q, false, t.Type, selector, from/milli, (to+milli-1)/milli)
}

// SideSelector returns the selector of a side's profiles, by its number.
func SideSelector(number int) string { return fmt.Sprintf("{%s=\"%d\"}", sideLabel, number) }

// Stacks asks for the stacks of sides, and calls f with all of them in a store in memory, which lives
// until f returns. With a type, only the nodes that have it are asked, and kinds are the type's kinds.
// Queries about gauges have the times as Query.Times.
func (s *Set) Stacks(ctx context.Context, sides []Side, t Typed, f func(*profile.DB, *profile.Times) error) (err error) {
	// Without time buckets no profile is evicted for another. Too many profiles are an error.
	store, err := columnstore.Open(columnstore.Options{MemoryBudget: max(s.opts.Memory, 1<<20), Manual: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	limits := s.opts.Profile
	limits.Bytes = int(min(s.opts.Answer, 1<<31-1))
	limits.Samples = max(limits.Samples, limits.Bytes/16) // merged stacks come from any number of profiles
	db, err := profile.Open(store, profile.Options{Bucket: -1, Limits: limits})
	if err != nil {
		return err
	}
	var questions []Question
	for _, side := range sides {
		if questions = append(questions, side.question); side.gauges != nil {
			questions = append(questions, side.sources)
		}
	}
	nodes := s.nodes
	if t.nodes != nil {
		nodes = t.nodes
	}
	of := sourcesOf{numbers: map[string]string{}, pending: map[string]int64{}, times: profile.Times{Label: sourceLabel, Of: map[string]int64{}}}
	err = s.gather(ctx, nodes, 0.25, questions, func(i int, replies []reply) error {
		tx := store.Begin()
		clear(of.pending) // times of a failed node
		for k, side := range sides {
			err := s.keep(ctx, db, tx, side, nodes[i], replies[0], strconv.Itoa(k), &of)
			if replies = replies[1:]; err == nil && side.gauges != nil {
				err = side.gauges.add(s, nodes[i], replies[0])
				replies = replies[1:]
			}
			if err != nil {
				tx.Abort()
				return err
			}
		}
		if _, err := tx.Commit(); err != nil {
			return err
		}
		of.commit()
		return nil
	})
	if errors.Is(err, columnstore.ErrMemory) {
		err = fmt.Errorf("%w: %w", columnstore.ErrQueryMemory, err)
	}
	for _, side := range sides {
		if err == nil {
			err = side.kinds.check(t.types()...)
		}
	}
	if err != nil {
		return err
	}
	return f(db, &of.times)
}

// keep inserts a node's profile for a side, or a profile for each source.
func (s *Set) keep(ctx context.Context, db *profile.DB, tx *columnstore.Tx, side Side, n *node, r reply, number string, of *sourcesOf) error {
	var profiles []sourceProfile
	switch {
	case side.bySource:
		var err error
		if profiles, err = s.decodeSources(n, r.body); err != nil {
			return err
		}
		profiles = append(profiles, sourceProfile{data: side.empty})
	case side.question.Message != nil:
		profiles = []sourceProfile{{data: pprofOf(r.body)}}
	case len(r.body) > 0: // otherwise the node has no profile for a question about all types
		profiles = []sourceProfile{{data: r.body}}
	}
	rows := 0
	for _, p := range profiles {
		labels := map[string]string{sideLabel: number, nodeLabel: n.url}
		if side.isNamed {
			labels[profile.NameLabel] = AnyName
		}
		switch {
		case p.times > 0:
			if labels[sourceLabel] = of.add(number, p.labels, p.times); p.data == nil {
				continue // a source without samples still counts for the mean
			}
		case p.data == nil:
			return n.away("an answer without a profile: is it a Granary?")
		}
		inserted, err := db.InsertEncodedTx(ctx, tx, p.data, profile.InsertOptions{Labels: labels, Time: time.Now(), AllFrames: true})
		if err != nil && ctx.Err() == nil && !errors.Is(err, columnstore.ErrMemory) {
			return n.away("a wrong answer: %v", err)
		}
		if rows += inserted; err != nil {
			return err
		}
	}
	if side.question.Kinds && rows > 0 {
		return side.kinds.add(n, r.kinds)
	}
	return nil
}

// pprofOf returns the profile in an encoded SelectMergeStacktracesResponse, or nil. An insert need not
// decode it first.
func pprofOf(data []byte) []byte {
	const fieldPprof, fieldProfile protowire.Number = 5, 1
	return fieldOf(fieldOf(data, fieldPprof), fieldProfile)
}

// fieldOf returns the last value of a field in an encoded message. It returns nil if there is none, or if
// the bytes are malformed.
func fieldOf(data []byte, number protowire.Number) (found []byte) {
	for f, err := range web.Fields(data) {
		if err != nil {
			return nil
		}
		if f.Number == number && f.Type == protowire.BytesType {
			found = f.Bytes()
		}
	}
	return found
}

// Typed is a type, and the nodes that have it. The zero value means no type on all nodes.
type Typed struct {
	Type  profile.Type
	nodes []*node
}

// types returns the type, if any.
func (t Typed) types() []profile.Type {
	if t.nodes == nil {
		return nil
	}
	return []profile.Type{t.Type}
}

// FindType returns the type that name stands for on all nodes, for the profiles of a query. Errors are as for
// profile.DB.FindTypeIn.
func (s *Set) FindType(ctx context.Context, q profile.Query, name string) (t Typed, err error) {
	known := map[profile.Type][]*node{}
	var all []profile.Type
	ask := Question{Path: querierv1connect.QuerierServiceProfileTypesProcedure, Message: &querierv1.ProfileTypesRequest{}}
	err = askTyped(ctx, s, 0.5, ask, func(n *node, m *querierv1.ProfileTypesResponse, _ []reply) error {
		for _, p := range m.GetProfileTypes() {
			t := profile.Type{Sample: p.GetSampleType(), SampleUnit: p.GetSampleUnit(), Period: p.GetPeriodType(), PeriodUnit: p.GetPeriodUnit()}
			if known[t] == nil {
				all = append(all, t)
			}
			if !slices.Contains(known[t], n) {
				known[t] = append(known[t], n)
			}
		}
		return nil
	})
	if err != nil {
		return t, err
	}
	if t.Type, err = profile.TypeCalled(all, name, func() ([]profile.Source, error) { return s.Sources(ctx, q) }); err != nil {
		return Typed{}, err
	}
	for _, own := range all {
		for _, n := range known[own] {
			if t.Type.Includes(own) && !slices.Contains(t.nodes, n) {
				t.nodes = append(t.nodes, n)
			}
		}
	}
	return t, nil
}

// Sources returns the sources that profiles of a query's selector and times can have, on all nodes.
func (s *Set) Sources(ctx context.Context, q profile.Query) (all []profile.Source, err error) {
	m := &querierv1.SeriesRequest{Matchers: []string{q.Selector.String()}, Start: q.From / 1e6}
	if q.To != 0 {
		m.End = (q.To - 1) / 1e6
	}
	ask := Question{Path: querierv1connect.QuerierServiceSeriesProcedure, Message: m}
	err = askTyped(ctx, s, 0.5, ask, func(_ *node, m *querierv1.SeriesResponse, _ []reply) error {
		for _, set := range m.GetLabelsSet() {
			var one profile.Source
			ofType := map[string]*string{"__type__": &one.Type.Sample, "__unit__": &one.Type.SampleUnit, "__period_type__": &one.Type.Period, "__period_unit__": &one.Type.PeriodUnit, "__profile_type__": new(string)}
			for _, l := range set.GetLabels() {
				if to := ofType[l.GetName()]; to != nil {
					*to = l.GetValue()
				} else {
					one.Labels = append(one.Labels, profile.Label{Name: l.GetName(), Value: l.GetValue()})
				}
			}
			all = append(all, one)
		}
		return nil
	})
	return all, err
}
