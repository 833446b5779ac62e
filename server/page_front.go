package server

import (
	"context"
	"net/http"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/fanout"
)

// frontPage is page at a front: an answer is of no commit, and has no ETag.
func (s *Server) frontPage(answer func(context.Context, *pageQuestion) (pageAnswer, error), names ...string) http.Handler {
	return s.handler(func(w http.ResponseWriter, r *http.Request) error {
		of, err := pageParameters(r.URL.RawQuery, append(names, "commit"))
		if err != nil {
			return err
		}
		if of.Has("commit") {
			return refused("a front has no commits: ask one of its nodes for an answer of one: %s", s.front)
		}
		var out pageAnswer
		err = s.inTime(r.Context(), func(ctx context.Context) (err error) {
			out, err = answer(ctx, &pageQuestion{s: s, of: of, at: urlOf(r)})
			return err
		})
		if err != nil {
			return err
		}
		return s.sendJSON(w, r, out)
	})
}

// findAtNodes returns the type of a name, and the nodes that have it.
func (q *pageQuestion) findAtNodes(ctx context.Context, name string) (fanout.Typed, error) {
	if name == "" {
		return fanout.Typed{}, refused("a front has no default type: choose one by the parameter t")
	}
	t, err := q.s.front.FindType(ctx, name)
	if err != nil {
		err = sideError("parameter t", err)
	}
	return t, err
}

// gather returns the stacks of the sides from those of all nodes, which come whole: what chooses frames applies to all
// of them.
func (q *pageQuestion) gather(ctx context.Context, p pageSides) (all []*profile.Stacks, of pageType, err error) {
	name := q.of.Get("t")
	if _, _, err := parseTypeID(name); err != nil { // what it stands for depends on a node's types
		name = p.typ.String()
	}
	var sides []fanout.Side
	queries := make([]profile.Query, len(p.queries))
	for i, query := range p.queries {
		sides = append(sides, fanout.ProfileOf(p.found, name, query.SumKinds, p.selectors[i], query.From, query.To))
		queries[i], queries[i].From, queries[i].To = query, 0, 0
		if queries[i].Selector, err = profile.ParseSelector(fanout.SideSelector(i)); err != nil {
			return nil, of, err
		}
	}
	p.queries = queries
	err = q.s.front.Stacks(ctx, sides, p.found, func(db *profile.DB, times *profile.Times) error {
		for i := range queries {
			queries[i].Times = times
		}
		return db.Store().View(ctx, func(snap *columnstore.Snapshot) (err error) {
			all, of, err = (&pageQuestion{s: q.s.querierOf(ctx, db, times).s, snap: snap, of: q.of}).merge(ctx, &p)
			return err
		})
	})
	return all, of, err
}
