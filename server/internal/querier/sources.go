package querier

import (
	"context"
	"io"
	"net/http"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"

	"github.com/granarydb/granary/server/internal/fanout"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/question"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// A front makes gauge means and averages from its nodes' sums and numbers of times, by source.

// sources handles fanout.SourcesPath: a type's stacks by source.
type sources struct {
	*querier
	store *source.Store
}

func (s *sources) answer(w http.ResponseWriter, r *http.Request) error {
	a, ids, p, err := s.asked(r)
	if err != nil {
		return err
	}
	var answer []byte
	err = s.Gate.InTime(r.Context(), func(ctx context.Context) error {
		return s.store.At(ctx, func(v *source.At) error {
			if p != nil {
				if err := s.Read.Bounds(p, func() (int64, error) { return v.Newest(ctx) }); err != nil {
					return err
				}
				if a.Type, err = v.DB.FindTypeIn(ctx, v.Snap, p.Query, p.Type); err != nil {
					return fault.In("parameter type", err)
				}
				a.Query = p.Query
			}
			var err error
			if a.Query, err = v.OfProfile(ctx, a.Query, ids); err != nil {
				return err
			}
			all, err := v.DB.SourceProfiles(ctx, v.Snap, a.Query, a.Type)
			if err == nil {
				err = v.Profiles().TellKinds(ctx, a.Query, a.Type)
			}
			if err != nil {
				return err
			}
			var fits bool
			if answer, fits, err = fanout.EncodeSources(all, s.ResultBytes); !fits {
				return fault.TooCostly("an answer of more than %d bytes", s.ResultBytes)
			}
			if err == nil {
				err = web.StayOf(ctx).Take(ctx, int64(len(answer)))
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", fanout.ProtoMedia)
	_, _ = w.Write(answer) // an error means that the client has gone
	return nil
}

// asked returns the question of a message with the ids of its profiles, or the parameters of a URL.
func (s *sources) asked(r *http.Request) (a question.Asked, ids []string, of *question.Parameters, err error) {
	if r.Method != http.MethodPost {
		p, err := s.Read.Parameters(r.URL.RawQuery)
		if err == nil && p.Type == "" {
			err = fault.Invalid("parameter type: want one")
		}
		return a, nil, &p, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxQuestion))
	if err != nil {
		return a, nil, nil, err
	}
	var m querierv1.SelectMergeStacktracesRequest
	if err := (web.ProtoCodec{Most: maxQuestionMessages}).Unmarshal(body, &m); err != nil {
		return a, nil, nil, fault.Invalid("message: %w", err)
	}
	a, err = s.Read.Stacks(&m)
	return a, m.GetProfileIdSelector(), nil, err
}
