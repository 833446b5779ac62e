package page

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
	"github.com/granarydb/granary/internal/attrpath"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/trace"
)

// pageHistory is a history in the snapshot of a query.
type pageHistory struct {
	*history.View
	handle *columnstore.History
}

// history returns the history called name. A history that was created after the snapshot has no instants
// and no attributes.
func (q *pageQuestion) history(name string) (*pageHistory, error) {
	h := profile.TenantHistory(q.at.DB.Store(), q.at.DB.Tenant(), name)
	if h == nil {
		return nil, fault.Invalid("history %s: %w", fault.Quoted(name), fault.ErrHistory)
	}
	view, err := q.at.Snap.History(h)
	if err != nil {
		return nil, err
	}
	return &pageHistory{view, h}, nil
}

// span is a range of instants of a history, both inclusive.
type span struct{ from, to int64 }

// length returns the number of instants, or 0 for 2^64.
func (s span) length() uint64 { return uint64(s.to) - uint64(s.from) + 1 }

// of returns the part of the range that the history has. ok is false if there is none.
func (s span) of(v *history.View) (part span, ok bool) {
	if !v.Instants() || s.to < v.Start() || s.from > v.End() {
		return span{}, false
	}
	return span{max(s.from, v.Start()), min(s.to, v.End())}, true
}

// during returns the part of a query's time that the history has. ok is false if there is none.
func (h *pageHistory) during(query profile.Query) (part span, ok bool) {
	asked := span{h.Start(), h.End()}
	if query.From != 0 {
		asked.from = query.From
	}
	if query.To != 0 {
		asked.to = query.To - 1
	}
	return asked.of(h.View)
}

// span returns the range from the parameters from and to. to is exclusive. Without them it is the history's
// range.
func (q *pageQuestion) span(ctx context.Context, v *history.View) span {
	out := span{math.MinInt64, math.MaxInt64}
	if v.Instants() {
		out = span{v.Start(), v.End()}
	}
	from, to := q.bound(ctx, "", "from"), q.bound(ctx, "", "to")
	if from != 0 {
		out.from = from
	}
	if to != 0 {
		out.to = to - 1
	}
	if out.to < out.from && (from != 0 && to != 0) {
		q.refuse(fault.Invalid("parameters from and to: there is no time between them"))
	}
	return out
}

// attribute returns the attribute named by a parameter.
func (q *pageQuestion) attribute(name string, names history.Names) (history.Attribute, []string) {
	text := q.of.Get(name)
	path, err := trace.ParsePath(text, trace.PathSeparator)
	if err != nil {
		q.refuse(fault.Invalid("parameter %s: %w", name, err))
	}
	a, err := names.Lookup(path...)
	if err != nil || a == history.Top {
		q.refuse(fault.Invalid("parameter %s: there is no attribute %s", name, fault.Quoted(text)))
	}
	return a, path
}

// paths returns the pattern in the parameter p, such as Goroutines/{goid} or Goroutines/*.
func (q *pageQuestion) paths() attrpath.Pattern {
	text := q.of.Get("p")
	if text == "" {
		q.refuse(fault.Invalid("parameter p: want a path of attributes, such as Threads/{tid} or Threads/*"))
	}
	if len(text) > MaxPattern {
		q.refuse(fault.TooCostly("a path of %d bytes in parameter p, at most %d", len(text), MaxPattern))
		return attrpath.Pattern{}
	}
	pattern, err := attrpath.ParsePattern(text)
	if err != nil {
		q.refuse(fault.Invalid("parameter p: %w", err))
	}
	return pattern
}

// pathText returns the path of an attribute as text.
func pathText(names history.Names, a history.Attribute) string {
	text, err := names.AppendPath(nil, a)
	if err != nil {
		return "" // not reached: the attribute comes from the same names
	}
	return string(text)
}

// StateText is a value in an answer.
type StateText struct {
	// State is the value in the form of the parameter state. Different values have different texts.
	State string `json:"state"`
	Kind  string `json:"kind"`
}

// NewStateText returns a value for an answer.
func NewStateText(v history.Value) StateText { return StateText{StateName(v), v.Kind().String()} }

// StateName returns a value as text. A string is unchanged, unless it looks like another value.
func StateName(v history.Value) string {
	text := v.String()
	switch v.Kind() {
	case history.KindString:
		if plain := v.Text(); isPlain(plain) {
			return plain
		}
	case history.KindBytes:
		return "b" + text
	case history.KindFloat:
		if !strings.ContainsAny(text, ".eIN") {
			return text + ".0"
		}
	case history.KindNull, history.KindBool, history.KindInt:
	}
	return text
}

// isPlain reports whether the text can only be a string's.
func isPlain(text string) bool {
	if text == "" || text == "null" || text == "true" || text == "false" || text[0] == '"' || strings.HasPrefix(text, `b"`) {
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return err != nil && !errors.Is(err, strconv.ErrRange)
}

// stateTexts numbers an answer's values.
type stateTexts struct {
	list    []StateText
	numbers map[history.Value]int
}

func newStateTexts() *stateTexts {
	return &stateTexts{list: []StateText{}, numbers: map[history.Value]int{}}
}

// number returns the number of a value.
func (s *stateTexts) number(v history.Value) int {
	n, known := s.numbers[v]
	if !known {
		n = len(s.list)
		s.numbers[v], s.list = n, append(s.list, NewStateText(v))
	}
	return n
}

// activity is an attribute's activity in a range.
type activity struct {
	attribute history.Attribute
	intervals uint64
	time      uint64 // time with a value
}

// activities returns the activities, in a range, of the attributes that fit a pattern, and the summary of the
// history.
func (q *pageQuestion) activities(ctx context.Context, h *pageHistory, pattern attrpath.Pattern, in span) (*summary.Pyramid, []activity, error) {
	const chunk, size = 1024, 32
	attributes, err := pattern.Match(ctx, h.Names, history.Top)
	if err != nil {
		return nil, nil, err
	}
	p, err := q.at.Pyramid(h.handle, h.View)
	if err != nil {
		return nil, nil, err
	}
	if int64(len(attributes)) > q.page.Read.QueryBytes/size {
		return nil, nil, fault.TooCostly("the memory of a query, at most %d bytes: %d attributes", q.page.Read.QueryBytes, len(attributes))
	}
	out := make([]activity, 0, len(attributes))
	var found *summary.Measures
	for some := range slices.Chunk(attributes, chunk) {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if found, err = p.MeasuresInto(found, some, in.from, in.to, 1); err != nil {
			return nil, nil, err
		}
		for i, a := range some {
			m := found.Attribute(i)
			out = append(out, activity{a, m[0].Intervals, m[0].Time})
		}
	}
	return p, out, nil
}

// instantText formats an instant of a history.
func instantText(t int64) string { return timeText(time.Unix(0, t)) }

// endText formats the instant after t, as a range's end.
func endText(t int64) string { return timeText(time.Unix(0, t).Add(1)) }
