package partial

import (
	"context"
	"fmt"
	"slices"

	"github.com/granarydb/granary/history"
)

// marks are the checkpoints. Stretch i is between checkpoint i-1 and checkpoint i, and its events begin at
// position i. Before checkpoint 0 is the start.
type marks struct {
	times     []int64
	positions [][]byte
}

// gap returns the stretch of an interval that is a gap, not kept (P1).
func (m *marks) gap(in history.Interval) (stretch int, ok bool) {
	stretch, _ = slices.BinarySearch(m.times, in.Start)
	return stretch, m.times[stretch] > in.End
}

// History is a partly kept history. Any number of goroutines may read it.
type History[E any] struct {
	kept      kept
	size      int64
	intervals int
	marks     marks
	events    Events[E]
	provider  Provider[E]
}

// Names returns the attributes.
func (h *History[E]) Names() history.Names { return h.kept.view.Names }

// Start returns the first instant.
func (h *History[E]) Start() int64 { return h.kept.view.Start() }

// End returns the last instant.
func (h *History[E]) End() int64 { return h.kept.view.End() }

// Checkpoints returns the checkpoints' instants, in order. The last is the end.
func (h *History[E]) Checkpoints() []int64 { return slices.Clone(h.marks.times) }

// Intervals returns the number of kept intervals. Gaps do not count.
func (h *History[E]) Intervals() int { return h.intervals }

// Kept returns the history of the kept intervals. A gap is null there.
func (h *History[E]) Kept() *history.View { return h.kept.view }

// Size returns the heap bytes of the kept intervals and the checkpoints; after Open only of the
// checkpoints.
func (h *History[E]) Size() int64 {
	size := h.size
	for _, p := range h.marks.positions {
		size += int64(len(p)) + 32 // a time and a slice
	}
	return size
}

// At returns the attribute's interval that contains t. If it is kept, no event is read. Otherwise a replay
// goes from the checkpoint before t to the end of the interval. It returns the errors of history.View.At,
// ErrDiffers, EventsError, and ctx's.
func (h *History[E]) At(ctx context.Context, a history.Attribute, t int64) (history.Interval, error) {
	in, err := h.kept.at(a, t)
	if err != nil {
		return history.Interval{}, err
	}
	stretch, ok := h.marks.gap(in)
	if !ok {
		return in, nil
	}
	g := newGap(in, t, func(in history.Interval) bool { return in.End >= t })
	if err := h.fill(ctx, stretch, map[history.Attribute]*gap{a: g}); err != nil {
		return history.Interval{}, err
	}
	return g.found[0], nil
}

// Slice returns the intervals that contain t, indexed by attribute, and reuses the memory of old. If all of
// the intervals are kept, no event is read. Slice returns the errors of At.
func (h *History[E]) Slice(ctx context.Context, t int64, old []history.Interval) ([]history.Interval, error) {
	all, err := h.kept.slice(t, old)
	if err != nil {
		return nil, err
	}
	gaps, in := map[history.Attribute]*gap{}, 0
	for i, interval := range all {
		if stretch, ok := h.marks.gap(interval); ok {
			gaps[history.Attribute(i)], in = newGap(interval, t, func(in history.Interval) bool { return in.End >= t }), stretch
		}
	}
	if err := h.fill(ctx, in, gaps); err != nil {
		return nil, err
	}
	for a, g := range gaps {
		all[a] = g.found[0]
	}
	return all, nil
}

// fill replays a stretch until the gaps are filled as far as needed. An error of ctx is its own.
func (h *History[E]) fill(ctx context.Context, stretch int, gaps map[history.Attribute]*gap) error {
	if len(gaps) == 0 {
		return nil
	}
	p := &replay{kept: &h.kept, from: h.kept.view.Start() - 1, first: stretch == 0, states: map[history.Attribute]*ongoing{}, gaps: gaps, missing: len(gaps)}
	if stretch > 0 {
		p.from = h.marks.times[stretch-1]
	}
	position := h.marks.positions[stretch]
	if err := run(ctx, p, h.events, h.provider, position); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &EventsError{slices.Clone(position), err}
	}
	for a, g := range gaps {
		if g.next <= g.through {
			return fmt.Errorf("%w: attribute %d is not known from %d on", ErrDiffers, a, g.next)
		}
	}
	return nil
}
