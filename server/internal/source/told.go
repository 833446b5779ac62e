package source

import (
	"context"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fanout"
	"github.com/granarydb/granary/server/internal/web"
)

// A node adds headers to an answer for a front, because the messages of querier.v1 have no field for them.

// TellKinds adds the kinds of a query's profiles to the answer if a front asks for them. With types, it adds
// only the kinds of the profiles with these types.
func (p *Profiles) TellKinds(ctx context.Context, q profile.Query, types ...profile.Type) error {
	h, _ := web.HeadersOf(ctx)
	if h.Request.Get(fanout.KindsHeader) == "" || q.SumKinds {
		return nil
	}
	q.Exact = true
	kinds, err := p.DB.Kinds(ctx, p.Snap, q)
	if err != nil {
		return err
	}
	text, err := fanout.EncodeKinds(kinds, types...)
	h.Answer.Set(fanout.KindsHeader, text)
	return err
}

// AsksSources reports whether a front asks for the sums and times of means, or the points of a heat map. It also marks the
// answer accordingly.
func AsksSources(ctx context.Context) bool {
	h, _ := web.HeadersOf(ctx)
	if h.Request.Get(fanout.SourcesHeader) == "" {
		return false
	}
	h.Answer.Set(fanout.SourcesHeader, "1")
	return true
}

// Warn adds the error of a node whose profiles are missing in an answer to the answer's headers.
func Warn(ctx context.Context, err error) {
	if h, ok := web.HeadersOf(ctx); ok {
		h.Answer.Add(fanout.WarningHeader, err.Error())
	}
}

// warnings returns the warnings so far.
func warnings(ctx context.Context) []string {
	h, _ := web.HeadersOf(ctx)
	return h.Answer.Values(fanout.WarningHeader)
}
