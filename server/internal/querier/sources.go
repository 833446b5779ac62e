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
	var message []byte
	if r.Method == http.MethodPost {
		var err error
		if message, err = io.ReadAll(http.MaxBytesReader(nil, r.Body, maxQuestion)); err != nil {
			return err
		}
	}
	return s.send(w, r, message, fanout.ProtoMedia, func(ctx context.Context, v *source.At, a *question.Asked) ([]byte, error) {
		all, err := v.DB.SourceProfiles(ctx, v.Snap, a.Query, a.Type)
		if err != nil {
			return nil, err
		}
		answer, fits, err := fanout.EncodeSources(all, s.ResultBytes)
		if !fits {
			return nil, s.tooLarge()
		}
		return answer, err
	})
}

// stacks handles fanout.StacksPath: a type's sums by stack, or some of the stacks.
func (s *sources) stacks(w http.ResponseWriter, r *http.Request) error {
	const ids = fanout.MaxWanted * 16
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxQuestion+ids))
	if err != nil {
		return err
	}
	ask, err := fanout.DecodeStackQuestion(body)
	if err != nil {
		return fault.Invalid("%w", err)
	}
	return s.send(w, r, ask.Message, fanout.BytesMedia, func(ctx context.Context, v *source.At, a *question.Asked) ([]byte, error) {
		sums, err := v.DB.MergeSources(ctx, v.Snap, a.Type, a.Query)
		if err != nil {
			return nil, err
		}
		if len(ask.Wanted) == 0 {
			return fanout.EncodeSums(ctx, sums)
		}
		located, err := sums.Locate(ctx, ask.Wanted, s.ResultBytes)
		if err != nil {
			return nil, err
		}
		return fanout.EncodeLocated(located), nil
	})
}

func (s *sources) tooLarge() error {
	return fault.TooCostly("an answer of more than %d bytes", s.ResultBytes)
}

// send answers the question of a message, or of a URL without one, with the bytes that of returns, and with the kinds of the profiles.
func (s *sources) send(w http.ResponseWriter, r *http.Request, message []byte, media string, of func(context.Context, *source.At, *question.Asked) ([]byte, error)) error {
	a, ids, p, err := s.asked(r, message)
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
			if answer, err = of(ctx, v, &a); err == nil {
				err = v.Profiles().TellKinds(ctx, a.Query, a.Type)
			}
			if err == nil && int64(len(answer)) > s.ResultBytes {
				err = s.tooLarge()
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
	w.Header().Set("Content-Type", media)
	_, _ = w.Write(answer) // an error means that the client has gone
	return nil
}

// asked returns the question of a message with the ids of its profiles, or the parameters of a URL.
func (s *sources) asked(r *http.Request, message []byte) (a question.Asked, ids []string, of *question.Parameters, err error) {
	if len(message) == 0 {
		p, err := s.Read.Parameters(r.URL.RawQuery)
		if err == nil && p.Type == "" {
			err = fault.Invalid("parameter type: want one")
		}
		return a, nil, &p, err
	}
	var m querierv1.SelectMergeStacktracesRequest
	if err := (web.ProtoCodec{Most: maxQuestionMessages}).Unmarshal(message, &m); err != nil {
		return a, nil, nil, fault.Invalid("message: %w", err)
	}
	a, err = s.Read.Stacks(&m)
	return a, m.GetProfileIdSelector(), nil, err
}
