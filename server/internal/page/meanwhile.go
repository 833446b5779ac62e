package page

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
)

// MostSpans bounds the spans in a meanwhile query.
const MostSpans = 1000

// MeanwhileAnswer is the answer to GET /api/v1/meanwhile: the samples of all other attributes while an
// attribute was in a state.
type MeanwhileAnswer struct {
	Head
	Type
	Lengths stateLengths      `json:"lengths"`
	Spans   meanwhileTime     `json:"spans"`
	Tree    *tree.NodeColumns `json:"tree"`
}

// meanwhileTime describes the time in which an attribute was in a state. If there are more than 1,000 spans,
// the longest are chosen.
type meanwhileTime struct {
	All     int    `json:"all"`      // number of spans in the range
	AllTime uint64 `json:"all_time"` // nanoseconds
	Chosen  int    `json:"chosen"`
	Time    uint64 `json:"time"`
	From    string `json:"from,omitempty"` // start of the first chosen span
	To      string `json:"to,omitempty"`   // instant after the last chosen span
}

// meanwhileOf answers GET /api/v1/meanwhile.
func meanwhileOf(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
	most := q.nodes()
	s, err := q.states()
	if err != nil {
		return nil, err
	}
	a, names := q.attribute("attribute", s.of.Names)
	if q.err != nil {
		return nil, q.err
	}
	itself, err := q.samplesOf(s, names)
	if err != nil {
		return nil, err
	}
	query, typ, err := q.sampled(ctx)
	if err != nil {
		return nil, err
	}
	found, err := spansOf(ctx, s.of, a, query, q.of.Get("state"))
	if err != nil {
		return nil, err
	}
	query.Where = columnstore.And(found.expr(), columnstore.Not(itself))
	if n := len(found.spans); n > 0 {
		query.From = max(1, found.spans[0].from) // the store skips rows before the first span and after the last
		query.To = min(found.spans[n-1].to, math.MaxInt64-1) + 1
	}
	stacks, err := q.at.DB.Merge(ctx, q.at.Snap, typ, query)
	if err != nil {
		return nil, err
	}
	out := &MeanwhileAnswer{Type: newPageType(typ, query, []*profile.Stacks{stacks}), Spans: found.answer()}
	if out.Lengths.Profile, err = q.longest(ctx, typ, query); err != nil {
		return nil, err
	}
	if n := len(found.spans); n > 0 {
		out.Lengths.State = int64(out.Spans.Time / uint64(n))
		out.Lengths.Coarse = out.Lengths.Profile > out.Lengths.State
	}
	calls := tree.New(tree.FromRoot, "", q.page.Read.QueryBytes)
	if err := calls.Add(ctx, 0, stacks); err != nil {
		return nil, err
	}
	out.Tree = calls.Nodes(max(most, 1)).Columns(1)
	return out, nil
}

// spans are the spans in which an attribute is in a state, within a range.
type spans struct {
	spans []span // chosen spans, in the order of time
	all   int
	time  uint64 // total time of all spans
}

// spansOf returns an attribute's spans in a state that overlap a query's time.
func spansOf(ctx context.Context, h *pageHistory, a history.Attribute, query profile.Query, state string) (out spans, err error) {
	in, ok := h.during(query)
	if !ok {
		return out, nil
	}
	steps := 0
	for interval, err := range h.Range(a, in.from, in.to, history.RangeOptions{}) {
		if steps++; err == nil && steps%1024 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return out, err
		}
		if StateName(interval.Value) == state {
			out.add(span{max(interval.Start, in.from), min(interval.End, in.to)})
		}
	}
	out.keep()
	slices.SortFunc(out.spans, func(x, y span) int { return cmp.Compare(x.from, y.from) })
	return out, nil
}

// add adds a span.
func (s *spans) add(x span) {
	s.all++
	s.time += x.length()
	if s.spans = append(s.spans, x); len(s.spans) == 2*MostSpans {
		s.keep()
	}
}

// keep keeps the longest spans, and of equally long spans the earlier ones.
func (s *spans) keep() {
	slices.SortFunc(s.spans, func(x, y span) int {
		return cmp.Or(cmp.Compare(y.length(), x.length()), cmp.Compare(x.from, y.from))
	})
	s.spans = s.spans[:min(MostSpans, len(s.spans))]
}

// expr returns the condition that a row's time is in a span.
func (s *spans) expr() columnstore.Expr {
	all := s.spans
	if len(all) == 0 {
		return columnstore.Or()
	}
	return columnstore.Func(profile.ColumnTimestamp, func(value any) bool {
		t, _ := value.(int64)
		i := sort.Search(len(all), func(i int) bool { return all[i].to >= t })
		return i < len(all) && all[i].from <= t
	})
}

// answer describes the spans for an answer.
func (s *spans) answer() meanwhileTime {
	out := meanwhileTime{All: s.all, AllTime: s.time, Chosen: len(s.spans)}
	for _, x := range s.spans {
		out.Time += x.length()
	}
	if n := len(s.spans); n > 0 {
		out.From, out.To = instantText(s.spans[0].from), endText(s.spans[n-1].to)
	}
	return out
}
