package server

import (
	"context"
	"io"
	"net/http"
	"time"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/fanout"
)

// A front makes means of gauges and averages from what its nodes have of them: sums and numbers of times, by
// source.

// sources answers with the stacks of a type by source: fanout.SourcesPath.
func (s *Server) sources(w http.ResponseWriter, r *http.Request) error {
	a, name, err := s.sourcesAsked(r)
	if err != nil {
		return err
	}
	var answer []byte
	err = s.query(r.Context(), func(ctx context.Context, snap *columnstore.Snapshot) (err error) {
		if name != "" {
			if a.typ, err = s.db.FindType(ctx, snap, name); err != nil {
				return invalid("parameter type: %w", err)
			}
		}
		all, err := s.db.SourceProfiles(ctx, snap, a.query, a.typ)
		if err == nil {
			err = s.tellKinds(ctx, snap, a.query, a.typ)
		}
		if err != nil {
			return err
		}
		var fits bool
		if answer, fits, err = fanout.EncodeSources(all, s.limits.ResultBytes); !fits {
			return tooCostly("an answer of more than %d bytes", s.limits.ResultBytes)
		}
		return err
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", fanout.ProtoMedia)
	_, _ = w.Write(answer) // an error is that the client has gone
	return nil
}

// sourcesAsked returns the question of a message, or of a URL and the name of its type.
func (s *Server) sourcesAsked(r *http.Request) (a asked, typ string, err error) {
	if r.Method != http.MethodPost {
		p, err := s.parseParameters(r.URL.RawQuery)
		if err == nil && p.typ == "" {
			err = invalid("parameter type: want one")
		}
		return asked{query: p.query}, p.typ, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxQuestion))
	if err != nil {
		return a, "", err
	}
	var m querierv1.SelectMergeStacktracesRequest
	if err := (protoCodec{most: maxQuestionMessages}).Unmarshal(body, &m); err != nil {
		return a, "", invalid("message: %w", err)
	}
	a, err = (&querier{s: s}).stacks(&m)
	return a, "", err
}

// asksSources reports whether a front asks for what means are made from, and says that this is the answer.
func asksSources(ctx context.Context) bool {
	h, _ := ctx.Value(headerKey{}).(headers)
	if h.request.Get(fanout.SourcesHeader) == "" {
		return false
	}
	h.answer.Set(fanout.SourcesHeader, "1")
	return true
}

// sourceSeries returns the sums of gauges over time by source, and their numbers of times.
func (q *querier) sourceSeries(ctx context.Context, snap *columnstore.Snapshot, a asked, opts profile.RangeOptions, names []string) (out []*typesv1.Series, err error) {
	sums, times, err := q.s.db.SourceRange(ctx, snap, a.typ, a.query, opts)
	if err == nil {
		err = q.s.tellKinds(ctx, snap, a.query, a.typ)
	}
	if err != nil {
		return nil, err
	}
	for i, lines := range [][]profile.SourceLine{sums, times} {
		for _, l := range lines {
			series := &typesv1.Series{}
			if isSum := i == 0; isSum {
				series = (&meanLine{labels: l.Labels}).series(typeLabels(a.name, a.typ), names)
			}
			series.Labels = append(series.Labels, fanout.SourcePair(l.Source))
			for _, p := range l.Points {
				series.Points = append(series.Points, &typesv1.Point{Timestamp: p.Time / int64(time.Millisecond), Annotations: fanout.NumberAs(i == 0, p.Value)})
			}
			out = append(out, series)
		}
	}
	return out, nil
}

// sums is series with the sums of averages, and the numbers of profiles.
func (l *meanLine) sums(ofType []profile.Label, names []string) *typesv1.Series {
	out := l.series(ofType, names)
	for i, p := range l.points {
		out.Points[i].Value, out.Points[i].Annotations = p.sum, fanout.NumberAs(false, p.profiles)
	}
	return out
}
