package partial

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/granarydb/granary/history"
)

// Range yields the attribute's whole intervals that hold at some instant in [from, to], in the order of
// time. Each gap on the way is a replay. An error is the last element, without an interval. It returns the
// errors of history.View.Range and At.
func (h *History[E]) Range(ctx context.Context, a history.Attribute, from, to int64) iter.Seq2[history.Interval, error] {
	return func(yield func(history.Interval, error) bool) {
		for in, err := range h.kept.rangeOf(a, from, to) {
			if err != nil {
				yield(history.Interval{}, err)
				return
			}
			stretch, ok := h.marks.gap(in)
			if !ok {
				if !yield(in, nil) {
					return
				}
				continue
			}
			g := newGap(in, min(to, in.End), func(in history.Interval) bool { return in.End >= from && in.Start <= to })
			if err := h.fill(ctx, stretch, map[history.Attribute]*gap{a: g}); err != nil {
				yield(history.Interval{}, err)
				return
			}
			for _, in := range g.found {
				if !yield(in, nil) {
					return
				}
			}
		}
	}
}

// held is an interval of an attribute.
type held struct {
	attribute history.Attribute
	history.Interval
}

// RangeAll calls f with what Range yields of each attribute of a list, of an attribute in the order of time. Each stretch is
// replayed once for all of them. It takes memory for the kept intervals of the range, and for what a stretch replays to. An
// error of f ends it. The errors are as for Range.
func (h *History[E]) RangeAll(ctx context.Context, attributes []history.Attribute, from, to int64, f func(history.Attribute, history.Interval) error) error {
	stretches := map[int][]held{} // by the stretch that they begin in
	for _, a := range attributes {
		for in, err := range h.kept.rangeOf(a, from, to) {
			if err != nil {
				return err
			}
			stretch, _ := slices.BinarySearch(h.marks.times, in.Start)
			stretches[stretch] = append(stretches[stretch], held{a, in})
		}
	}
	for _, stretch := range slices.Sorted(maps.Keys(stretches)) {
		gaps := map[history.Attribute]*gap{}
		for _, k := range stretches[stretch] {
			if _, isGap := h.marks.gap(k.Interval); isGap {
				gaps[k.attribute] = newGap(k.Interval, min(to, k.End), func(in history.Interval) bool { return in.End >= from && in.Start <= to })
			}
		}
		if err := h.fill(ctx, stretch, gaps); err != nil {
			return err
		}
		for _, k := range stretches[stretch] {
			all := []history.Interval{k.Interval}
			if _, isGap := h.marks.gap(k.Interval); isGap {
				all = gaps[k.attribute].found
			}
			for _, in := range all {
				if err := f(k.attribute, in); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Sample returns the intervals of attributes that contain one of the times, as history.View.Sample does,
// and the attribute of each. It returns the errors of Sample and At.
func (h *History[E]) Sample(ctx context.Context, attributes []history.Attribute, times []int64) ([]history.Attribute, []history.Interval, error) {
	times = slices.Clone(times)
	slices.Sort(times)
	keptOf, kept, err := h.kept.sample(attributes, times)
	if err != nil {
		return nil, nil, err
	}
	has := func(in history.Interval) bool {
		i, _ := slices.BinarySearch(times, in.Start)
		return i < len(times) && times[i] <= in.End
	}
	stretches := map[int]map[history.Attribute]*gap{}
	for i, in := range kept {
		a := keptOf[i]
		behind, found := slices.BinarySearch(times, in.End)
		if !found {
			behind--
		}
		if err := h.kept.checkAt(a, in, times[max(behind, 0)]); err != nil {
			return nil, nil, err
		}
		stretch, ok := h.marks.gap(in)
		if !ok {
			continue
		}
		if stretches[stretch] == nil {
			stretches[stretch] = map[history.Attribute]*gap{}
		}
		stretches[stretch][a] = newGap(in, times[behind], has)
	}
	for _, stretch := range slices.Sorted(maps.Keys(stretches)) {
		if err := h.fill(ctx, stretch, stretches[stretch]); err != nil {
			return nil, nil, err
		}
	}
	if len(stretches) == 0 {
		return keptOf, kept, nil
	}
	var of []history.Attribute
	var all []history.Interval
	for i, in := range kept {
		found := kept[i : i+1]
		if stretch, ok := h.marks.gap(in); ok {
			found = stretches[stretch][keptOf[i]].found
		}
		for _, in := range found {
			of, all = append(of, keptOf[i]), append(all, in)
		}
	}
	return of, all, nil
}

// Pixels is Sample at instants spread evenly over [from, to], like history.View.Pixels. It returns the
// errors of Sample and At.
func (h *History[E]) Pixels(ctx context.Context, attributes []history.Attribute, from, to int64, pixels int) ([]history.Attribute, []history.Interval, error) {
	times := history.PixelTimes(from, to, pixels)
	if len(times) == 0 {
		return nil, nil, fmt.Errorf("%w: %d pixels from %d to %d", history.ErrQuery, pixels, from, to)
	}
	if err := cmp.Or(h.kept.check(from), h.kept.check(to)); err != nil {
		return nil, nil, err
	}
	return h.Sample(ctx, attributes, times)
}
