package union

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
)

// At returns the attribute's interval that contains t. The error is history.ErrAttribute or comes from the
// attribute's member.
func (h *History) At(ctx context.Context, a history.Attribute, t int64) (history.Interval, error) {
	p, err := h.place(a)
	if err != nil {
		return history.Interval{}, err
	}
	return h.members[p.member].At(ctx, p.attribute, t)
}

// Interpolate approximates a counter's value at t, like partial.History.Interpolate. In a complete member
// the value is exact, except for an int that a float64 cannot represent. The error is history.ErrAttribute or
// comes from the attribute's member.
func (h *History) Interpolate(ctx context.Context, a history.Attribute, t int64) (partial.Interpolation, error) {
	p, err := h.place(a)
	if err != nil {
		return partial.Interpolation{}, err
	}
	return h.members[p.member].Interpolate(ctx, p.attribute, t)
}

// Mean approximates a counter's mean over [from, to], like partial.History.Mean. For a mean that is exact but
// for the last digit of a float64, call partial.MeanOf with Range. In a complete member Mean is that exact
// too. The error is history.ErrAttribute or comes from the attribute's member.
func (h *History) Mean(ctx context.Context, a history.Attribute, from, to int64) (partial.Interpolation, error) {
	p, err := h.place(a)
	if err != nil {
		return partial.Interpolation{}, err
	}
	return h.members[p.member].Mean(ctx, p.attribute, from, to)
}

// Slice returns the intervals that contain t, indexed by attribute, and reuses the memory of old. It also
// takes memory for the slice of the largest member. The errors come from the members.
func (h *History) Slice(ctx context.Context, t int64, old []history.Interval) ([]history.Interval, error) {
	all := slices.Grow(old[:0], len(h.places))[:len(h.places)]
	var of []history.Interval
	for i, m := range h.members {
		var err error
		if of, err = m.Slice(ctx, t, of); err != nil {
			return nil, fmt.Errorf("member %d: %w", i, err)
		}
		for a, in := range of {
			if j := h.joined[i][a]; h.places[j].member == uint32(i) {
				all[j] = in
			}
		}
	}
	return all, nil
}

// Range yields the attribute's complete intervals that overlap [from, to], in the order of time. An error is
// the last element, with a zero Interval. It is history.ErrAttribute or comes from the attribute's member.
func (h *History) Range(ctx context.Context, a history.Attribute, from, to int64) iter.Seq2[history.Interval, error] {
	p, err := h.place(a)
	if err != nil {
		return func(yield func(history.Interval, error) bool) { yield(history.Interval{}, err) }
	}
	return h.members[p.member].Range(ctx, p.attribute, from, to)
}

// RangeAll calls f with the intervals that Range yields for each of attributes, in the order of time for each
// attribute. Each member gets one query, for its attributes. An error of f ends RangeAll. The error is
// history.ErrAttribute or comes from f or a member.
func (h *History) RangeAll(ctx context.Context, attributes []history.Attribute, from, to int64, f func(history.Attribute, history.Interval) error) error {
	lists := make([][]history.Attribute, len(h.members))
	for _, a := range attributes {
		p, err := h.place(a)
		if err != nil {
			return err
		}
		lists[p.member] = append(lists[p.member], p.attribute)
	}
	for i, list := range lists {
		if len(list) == 0 {
			continue
		}
		of := h.joined[i]
		err := h.members[i].RangeAll(ctx, list, from, to, func(a history.Attribute, in history.Interval) error { return f(of[a], in) })
		if err != nil {
			return fmt.Errorf("member %d: %w", i, err)
		}
	}
	return nil
}

// Sample returns the intervals of attributes that contain at least one of times, as history.View.Sample does,
// and the attribute of each interval. A nil list means all attributes. Each member gets one query, for its
// attributes. The error is history.ErrAttribute or comes from a member.
func (h *History) Sample(ctx context.Context, attributes []history.Attribute, times []int64) ([]history.Attribute, []history.Interval, error) {
	if attributes == nil {
		attributes = h.names.All()
	}
	answers, err := h.ask(ctx, attributes, times)
	if err != nil {
		return nil, nil, err
	}
	var of []history.Attribute
	var all []history.Interval
	for _, a := range attributes {
		for _, in := range answers[a] {
			of, all = append(of, a), append(all, in)
		}
	}
	return of, all, nil
}

// ask asks the members for samples, each attribute once. The first member is always asked, because it
// rejects invalid times.
func (h *History) ask(ctx context.Context, attributes []history.Attribute, times []int64) (map[history.Attribute][]history.Interval, error) {
	answers := make(map[history.Attribute][]history.Interval, len(attributes))
	lists := make([][]history.Attribute, len(h.members))
	lists[0] = []history.Attribute{} // not nil, because nil would mean all
	for _, a := range attributes {
		p, err := h.place(a)
		if err != nil {
			return nil, err
		}
		if _, asked := answers[a]; !asked {
			answers[a] = nil
			lists[p.member] = append(lists[p.member], p.attribute)
		}
	}
	for i, list := range lists {
		if list == nil {
			continue
		}
		of, all, err := h.members[i].Sample(ctx, list, times)
		if err != nil {
			return nil, fmt.Errorf("member %d: %w", i, err)
		}
		for len(of) > 0 {
			n := 1
			for n < len(of) && of[n] == of[0] {
				n++
			}
			answers[h.joined[i][of[0]]] = all[:n:n]
			of, all = of[n:], all[n:]
		}
	}
	return answers, nil
}

// Pixels is Sample at instants spread evenly over [from, to], like history.View.Pixels. It returns the
// errors of Sample, and history.ErrQuery if pixels or the range is invalid.
func (h *History) Pixels(ctx context.Context, attributes []history.Attribute, from, to int64, pixels int) ([]history.Attribute, []history.Interval, error) {
	times := history.PixelTimes(from, to, pixels)
	if times == nil {
		return nil, nil, fmt.Errorf("%w: %d pixels from %d to %d", history.ErrQuery, pixels, from, to)
	}
	if _, _, err := h.Sample(ctx, []history.Attribute{}, []int64{from, to}); err != nil {
		return nil, nil, err
	}
	return h.Sample(ctx, attributes, times)
}
