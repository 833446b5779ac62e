package page

import (
	"context"
	"math"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
)

// HistoriesAnswer is the answer to GET /api/v1/histories.
type HistoriesAnswer struct {
	Head
	Histories []HistoryInfo `json:"histories"`
}

// HistoryInfo is a history.
type HistoryInfo struct {
	Name       string `json:"name"`
	Attributes int    `json:"attributes"`
	// First is the first instant at which an attribute has a value, and End the instant after the last.
	// Both are empty for a history without instants, and First also for a history without values.
	First string `json:"first,omitempty"`
	End   string `json:"end,omitempty"`
	// Floor is the first instant. Earlier states were dropped or evicted, or never existed.
	Floor  string `json:"floor"`
	Bytes  int64  `json:"bytes"`
	Closed bool   `json:"closed"`
}

// mostLooked bounds the attributes that are read for HistoryInfo.First.
const mostLooked = 1 << 16

// historiesOf answers GET /api/v1/histories.
func historiesOf(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
	out := &HistoriesAnswer{Histories: []HistoryInfo{}}
	for _, name := range profile.TenantHistories(q.at.DB.Store(), q.at.DB.Tenant()) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, err := q.history(name)
		if err != nil {
			return nil, err
		}
		info := HistoryInfo{Name: name, Attributes: h.Len(), Floor: instantText(h.Start()), Bytes: h.handle.Bytes(), Closed: h.Closed()}
		if h.Instants() {
			info.End = endText(h.End())
			first, err := firstValue(ctx, h.View)
			if err != nil {
				return nil, err
			}
			if first != math.MaxInt64 {
				info.First = instantText(first)
			}
		}
		out.Histories = append(out.Histories, info)
	}
	return out, nil
}

// firstValue returns the first instant at which any of the first attributes (mostLooked) has a value, or the
// greatest int64.
func firstValue(ctx context.Context, v *history.View) (int64, error) {
	first := int64(math.MaxInt64)
	for a := range min(v.Len(), mostLooked) {
		if a%1024 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		in, ok, err := v.NextNonNull(history.Attribute(a), v.Start())
		if err != nil {
			return 0, err
		}
		if ok {
			first = min(first, in.Start)
		}
	}
	return first, nil
}

// TreeAnswer is the answer to GET /api/v1/histories/NAME/tree.
type TreeAnswer struct {
	Head
	Path string `json:"path"`
	// All is the number of children. Children are some of them, in creation order.
	All      int         `json:"all"`
	Offset   int         `json:"offset"`
	Children []TreeChild `json:"children"`
}

// TreeChild is an attribute.
type TreeChild struct {
	Name      string `json:"name"`
	Attribute string `json:"attribute"` // the attribute's path
	Parent    bool   `json:"parent"`    // whether it has children
	Kind      string `json:"kind"`      // kind of its values; null if it never had a value
	// Label is the label of samples that leads to a goroutine below it: goid, or track where numbers are those of places.
	Label string `json:"label,omitempty"`
}

// mostChildren bounds the children that are counted.
const mostChildren = 1 << 20

// childrenOf answers GET /api/v1/histories/NAME/tree.
func childrenOf(ctx context.Context, q *pageQuestion, h *pageHistory) (pageAnswer, error) {
	rows, offset := q.rows(200, q.page.Read.MaxNodes)
	parent := history.Top
	if q.of.Get("path") != "" {
		parent, _ = q.attribute("path", h.Names)
	}
	if q.err != nil {
		return nil, q.err
	}
	out := &TreeAnswer{Path: q.of.Get("path"), Offset: offset, Children: []TreeChild{}}
	for a := range h.Children(parent) {
		if out.All%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if out.All == mostChildren {
			break
		}
		if out.All >= offset && len(out.Children) < rows {
			out.Children = append(out.Children, newTreeChild(h.View, a))
		}
		out.All++
	}
	return out, nil
}

func newTreeChild(v *history.View, a history.Attribute) TreeChild {
	name, _ := v.Name(a) // ok, because the attribute belongs to the view
	child := TreeChild{Name: name, Attribute: pathText(v.Names, a), Kind: history.KindNull.String()}
	for range v.Children(a) {
		child.Parent = true
		break
	}
	if lane, slot, ok := v.Place(a); ok {
		child.Kind = v.Kinds(lane)[slot].String()
	}
	const goroutines = "Goroutines" // as Granary's importers and its own profiles call them
	if child.Attribute == goroutines && child.Parent {
		child.Label = "goid"
		if _, err := v.Lookup(goroutines, "0", "goid"); err == nil {
			child.Label = "track"
		}
	}
	return child
}

// rows returns the parameters rows, which is `otherwise` if it is missing and at most `most`, and offset.
func (q *pageQuestion) rows(otherwise, most int) (rows, offset int) {
	return q.number("rows", otherwise, most), q.number("offset", 0, math.MaxInt32)
}

// AtAnswer is the answer to GET /api/v1/histories/NAME/at.
type AtAnswer struct {
	Head
	At string `json:"at"`
	// All is the number of attributes of p. Attributes are some of them, in creation order.
	All        int         `json:"all"`
	Offset     int         `json:"offset"`
	Attributes []stateSpan `json:"attributes"`
}

// stateSpan is a state and its time.
type stateSpan struct {
	Attribute string `json:"attribute,omitempty"`
	StateText
	Start string `json:"start"`
	End   string `json:"end"` // instant after it
	// Open reports that the state had not ended in the snapshot.
	Open bool `json:"open"`
}

func newStateSpan(in history.Interval) stateSpan {
	return stateSpan{StateText: NewStateText(in.Value), Start: instantText(in.Start), End: endText(in.End), Open: in.Open}
}

// atOf answers GET /api/v1/histories/NAME/at.
func atOf(ctx context.Context, q *pageQuestion, h *pageHistory) (pageAnswer, error) {
	rows, offset := q.rows(200, q.page.Read.MaxNodes)
	pattern := q.paths()
	instant := q.bound(ctx, "", "at")
	if q.of.Get("at") == "" {
		instant = h.End()
	}
	if _, ok := (span{instant, instant}).of(h.View); !ok {
		q.refuse(fault.Invalid("parameter at: the history has states from %s to %s", instantText(h.Start()), instantText(h.End())))
	}
	if q.err != nil {
		return nil, q.err
	}
	all, err := pattern.Match(ctx, h.Names, history.Top)
	if err != nil {
		return nil, err
	}
	out := &AtAnswer{At: instantText(instant), All: len(all), Offset: offset, Attributes: []stateSpan{}}
	all = all[min(offset, len(all)):]
	all = all[:min(rows, len(all))]
	if len(all) == 0 {
		return out, nil
	}
	slice, err := h.Slice(instant, all...)
	if err != nil {
		return nil, err
	}
	for a, in := range slice.All() {
		state := newStateSpan(in)
		state.Attribute = pathText(h.Names, a)
		out.Attributes = append(out.Attributes, state)
	}
	return out, nil
}

// RangeAnswer is the answer to GET /api/v1/histories/NAME/range.
type RangeAnswer struct {
	Head
	Attribute string `json:"attribute"`
	// Intervals are the first intervals in the range, unclipped. More reports that others follow, from
	// the End of the last.
	Intervals []stateSpan `json:"intervals"`
	More      bool        `json:"more"`
}

// rangeOf answers GET /api/v1/histories/NAME/range.
func rangeOf(ctx context.Context, q *pageQuestion, h *pageHistory) (pageAnswer, error) {
	rows := q.number("rows", 1000, q.page.Read.MaxNodes)
	a, _ := q.attribute("attribute", h.Names)
	asked := q.span(ctx, h.View)
	if q.err != nil {
		return nil, q.err
	}
	out := &RangeAnswer{Attribute: pathText(h.Names, a), Intervals: []stateSpan{}}
	in, ok := asked.of(h.View)
	if !ok {
		return out, nil
	}
	for interval, err := range h.Range(a, in.from, in.to, history.RangeOptions{}) {
		if err == nil && len(out.Intervals)%1024 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if len(out.Intervals) == rows {
			out.More = true
			break
		}
		out.Intervals = append(out.Intervals, newStateSpan(interval))
	}
	return out, nil
}

// historyQuestions are the queries about one history, with the names of their parameters.
var historyQuestions = map[string]struct {
	answer func(context.Context, *pageQuestion, *pageHistory) (pageAnswer, error)
	names  []string
}{
	"tree":   {childrenOf, []string{"path", "rows", "offset"}},
	"pixels": {pixelsOf, []string{"p", "from", "to", "pixels", "rows", "offset", "shares", "find", "sort", "under", "wakes", "samples", "t", "q", "focus", "ignore"}},
	"stats":  {statsOf, []string{"p", "by", "from", "to", "rows", "offset"}},
	"lines":  {stateLinesOf, []string{"p", "from", "to", "pixels"}},
	"at":     {atOf, []string{"p", "at", "rows", "offset"}},
	"range":  {rangeOf, []string{"attribute", "from", "to", "rows"}},
}
