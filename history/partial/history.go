package partial

import (
	"context"
	"fmt"
	"slices"

	"github.com/granarydb/granary/history"
)

// marks are the checkpoints. Stretch i is between checkpoint i-1 and checkpoint i, and its
// events begin at position i. Before checkpoint 0 is the start.
type marks struct {
	times     []int64
	positions [][]byte
}

// gap returns the stretch of an interval that is no kept one (P1).
func (m *marks) gap(in history.Interval) (stretch int, ok bool) {
	stretch, _ = slices.BinarySearch(m.times, in.Start)
	return stretch, m.times[stretch] > in.End
}

// checkAt returns an error for an interval that was found at an instant, and is not there: the bytes of a file
// can be wrong, although their checksums are right.
func (h *History[E]) checkAt(a history.Attribute, in history.Interval, t int64) error {
	if in.Start > t || in.End < t || in.Start < h.kept.Start() || in.End > h.kept.End() {
		return fmt.Errorf("%w: attribute %d is kept from %d to %d, found at %d", ErrImage, a, in.Start, in.End, t)
	}
	return nil
}

// keptAt returns the interval of what is kept that t is in.
func (h *History[E]) keptAt(a history.Attribute, t int64) (history.Interval, error) {
	in, err := h.kept.At(a, t)
	if err == nil {
		err = h.checkAt(a, in, t)
	}
	return in, err
}

// History is a history of which a part is kept. Any number of goroutines may read it.
type History[E any] struct {
	kept      *history.View
	size      int64
	intervals int
	marks     marks
	events    Events[E]
	provider  Provider[E]
}

// Names returns the attributes.
func (h *History[E]) Names() history.Names { return h.kept.Names }

// Start returns the first instant.
func (h *History[E]) Start() int64 { return h.kept.Start() }

// End returns the last instant.
func (h *History[E]) End() int64 { return h.kept.End() }

// Checkpoints returns the instants of the checkpoints, in order. The last one is the end.
func (h *History[E]) Checkpoints() []int64 { return slices.Clone(h.marks.times) }

// Intervals returns the number of intervals that are kept. Gaps do not count.
func (h *History[E]) Intervals() int { return h.intervals }

// Kept returns the history of what is kept. A gap is null there.
func (h *History[E]) Kept() *history.View { return h.kept }

// Size returns the bytes on the heap of what is kept, and of the checkpoints; after Open of these alone.
func (h *History[E]) Size() int64 {
	size := h.size
	for _, p := range h.marks.positions {
		size += int64(len(p)) + 32 // a time and a slice
	}
	return size
}

// At returns the interval of an attribute that t is in. If it is kept, no event is read. Else
// a replay goes from the checkpoint before t to the end of the interval. The errors are those
// of history.View.At, ErrDiffers, EventsError, and that of ctx.
func (h *History[E]) At(ctx context.Context, a history.Attribute, t int64) (history.Interval, error) {
	in, err := h.keptAt(a, t)
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

// Slice returns the intervals of all attributes that t is in, by attribute, in the memory of
// an old slice. If all are kept, no event is read. The errors are those of At.
func (h *History[E]) Slice(ctx context.Context, t int64, old []history.Interval) ([]history.Interval, error) {
	s, err := h.kept.Slice(t)
	if err != nil {
		return nil, err
	}
	all := slices.Grow(old[:0], s.Len())
	gaps, in := map[history.Attribute]*gap{}, 0
	for a, interval := range s.All() {
		all = append(all, interval)
		if err := h.checkAt(a, interval, t); err != nil {
			return nil, err
		}
		if stretch, ok := h.marks.gap(interval); ok {
			gaps[a], in = newGap(interval, t, func(in history.Interval) bool { return in.End >= t }), stretch
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

// fill replays a stretch until the gaps have what they need. An error of ctx is its own.
func (h *History[E]) fill(ctx context.Context, stretch int, gaps map[history.Attribute]*gap) error {
	if len(gaps) == 0 {
		return nil
	}
	p := &replay{kept: h.kept, from: h.kept.Start() - 1, first: stretch == 0, states: map[history.Attribute]*ongoing{}, gaps: gaps, missing: len(gaps)}
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
