package querier

import (
	"bytes"
	"context"
	"net/http"

	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// getPprof handles GET /pprof: a merged profile, gzipped, as go tool pprof fetches it. It ignores the
// parameters seconds and debug, because tools add them to every URL of a profile.
func (q *querier) getPprof(w http.ResponseWriter, r *http.Request) error {
	p, err := q.Read.Parameters(r.URL.RawQuery, "seconds", "debug")
	if err != nil {
		return err
	}
	var whole bytes.Buffer // buffered, because an answer beyond the limit must be an error, and not truncated
	err = q.Gate.InTime(r.Context(), func(ctx context.Context) error {
		return q.Source.View(ctx, func(v source.View) error {
			if err := q.Read.Bounds(&p, func() (int64, error) { return v.Newest(ctx) }); err != nil {
				return err
			}
			t, types, err := chosen(ctx, v, &p)
			if err != nil {
				return err
			}
			side := source.Side{Query: p.Query, Name: p.Rest.Get("type"), Selector: p.Rest.Get("selector")}
			return v.Stacks(ctx, t, []source.Side{side}, func(of *source.Profiles) error {
				merged, err := of.DB.Profile(ctx, of.Snap, of.Queries[0], types...)
				if err == nil {
					err = of.TellKinds(ctx, of.Queries[0], types...)
				}
				if err != nil {
					return err
				}
				merged.Comments = of.Comments
				return merged.Write(web.NewLimitedWriter(&whole, q.ResultBytes))
			})
		})
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="profile.pb.gz"`)
	_, _ = w.Write(whole.Bytes()) // an error means that the client has gone
	return nil
}
