package fanout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	pprof "github.com/google/pprof/profile"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/web"
)

// Profiles of several nodes, with labels of samples and with what pprof says of them beside, are not merged here. Each node returns its
// merged profile. They are inserted into a store in memory, and a server of that store answers.

// Whole is a query for whole profiles.
type Whole struct {
	question Question
	isNamed  bool       // the profiles are stored with a name, so kinds are added up
	kinds    kindsOf    // kinds on the nodes so far
	empty    []byte     // a profile with the type, for an answer at SourcesPath
	bySource bool       // the answer comes from SourcesPath
	gauges   *gaugeNode // for a query for all types; otherwise nil
	sources  Question   // query for gauges
}

// newWhole returns a query about a type, or about all types if t is zero, and its sources.
func newWhole(q Question, isNamed bool, t profile.Type, selector string, start, end int64) *Whole {
	// Nodes have checked the kinds of a type with AnyPeriod, or this set does. Lists of different periods must not make kinds.
	w := &Whole{question: q, isNamed: isNamed || t.Period == profile.AnyPeriod, kinds: kindsOf{}}
	if t.IsGauge() {
		w.bySource, w.empty = true, emptyProfile(t)
	}
	if t == (profile.Type{}) {
		w.gauges, w.sources = &gaugeNode{}, gaugeQuestion(selector, start, end)
	}
	return w
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

// WholeOf returns the query for the profiles of a request with type t. isNamed reports that the type has a name.
func WholeOf(m *querierv1.SelectMergeStacktracesRequest, t profile.Type, isNamed bool) *Whole {
	path := querierv1connect.QuerierServiceSelectMergeStacktracesProcedure
	if t.IsGauge() {
		path = SourcesPath
	}
	return newWhole(Question{Path: path, Media: ProtoMedia, Kinds: !isNamed, Message: stacksOf(m)}, isNamed, t, m.GetLabelSelector(), m.GetStart(), m.GetEnd())
}

// stacksOf returns the part of a request that chooses stacks, as pprof.
func stacksOf(m *querierv1.SelectMergeStacktracesRequest) *querierv1.SelectMergeStacktracesRequest {
	return &querierv1.SelectMergeStacktracesRequest{
		ProfileTypeID: m.GetProfileTypeID(), LabelSelector: m.GetLabelSelector(), Start: m.GetStart(), End: m.GetEnd(),
		ProfileIdSelector: m.GetProfileIdSelector(), SpanSelector: m.GetSpanSelector(), TraceIdSelector: m.GetTraceIdSelector(),
		StackTraceSelector: m.GetStackTraceSelector(), Format: querierv1.ProfileFormat_PROFILE_FORMAT_PPROF,
	}
}

// ProfileOf returns the query of GET /pprof for profiles with a type, which the nodes know by name, or
// for all. isNamed reports that name is an id with the type's name. from and to are Unix nanoseconds,
// from <= time < to; 0 means no bound.
func ProfileOf(t Typed, name string, isNamed bool, selector string, from, to int64) *Whole {
	q := Question{Path: "/pprof?" + parametersOf(name, selector, from, to), Media: BytesMedia, Kinds: !isNamed}
	if t.Type.IsGauge() {
		q.Path, q.Media = SourcesPath+"?"+parametersOf(name, selector, from, to), ProtoMedia
	}
	milli := int64(time.Millisecond)
	return newWhole(q, false, t.Type, selector, from/milli, (to+milli-1)/milli)
}

// parametersOf returns the parameters of GET /pprof.
func parametersOf(name, selector string, from, to int64) string {
	ask := url.Values{"selector": {selector}}
	if name != "" {
		ask.Set("type", name)
	}
	for name, nanos := range map[string]int64{"from": from, "to": to} { // by one clock
		if nanos != 0 {
			ask.Set(name, time.Unix(0, nanos).UTC().Format(time.RFC3339Nano))
		}
	}
	return ask.Encode()
}

// Profiles asks for whole profiles, and calls f with all of them in a store in memory, which lives until f returns. With a type,
// only the nodes that have it are asked, and kinds are the type's kinds. Queries about gauges have the times as Query.Times.
func (s *Set) Profiles(ctx context.Context, w *Whole, t Typed, f func(*profile.DB, *profile.Times) error) (err error) {
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
	questions := []Question{w.question}
	if w.gauges != nil {
		questions = append(questions, w.sources)
	}
	of := newSourcesOf()
	nodes := s.nodesOf(t)
	err = s.gather(ctx, nodes, 0.25, questions, func(i int, replies []reply) error {
		tx := store.Begin()
		clear(of.pending) // times of a failed node
		err := s.keep(ctx, db, tx, w, nodes[i], replies[0], of)
		if err == nil && w.gauges != nil {
			err = w.gauges.add(s, nodes[i], replies[1])
		}
		if err != nil {
			tx.Abort()
			return err
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
	if err == nil {
		err = w.kinds.check(t.types()...)
	}
	if err != nil {
		return err
	}
	return f(db, &of.times)
}

// keep inserts a node's profile, or a profile for each source.
func (s *Set) keep(ctx context.Context, db *profile.DB, tx *columnstore.Tx, w *Whole, n *node, r reply, of *sourcesOf) error {
	var profiles []sourceProfile
	switch {
	case w.bySource:
		var err error
		if profiles, err = s.decodeSources(n, r.body); err != nil {
			return err
		}
		profiles = append(profiles, sourceProfile{data: w.empty})
	case w.question.Message != nil:
		profiles = []sourceProfile{{data: pprofOf(r.body)}}
	case len(r.body) > 0 || w.gauges == nil: // otherwise the node has no profile for a question about all types
		profiles = []sourceProfile{{data: r.body}}
	}
	rows := 0
	for _, p := range profiles {
		labels := map[string]string{nodeLabel: n.url}
		if w.isNamed {
			labels[profile.NameLabel] = AnyName
		}
		switch {
		case p.times > 0:
			if labels[sourceLabel] = of.add("", p.labels, p.times); p.data == nil {
				continue // a source without samples still counts for the mean
			}
		case len(p.data) == 0:
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
	if w.question.Kinds && rows > 0 {
		return w.kinds.add(n, r.kinds)
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
