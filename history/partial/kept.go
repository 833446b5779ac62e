package partial

import (
	"fmt"
	"iter"
	"slices"

	"github.com/granarydb/granary/history"
)

// kept is the kept part of a history.
type kept struct{ view *history.View }

// check returns an error for an instant outside the history.
func (k *kept) check(t int64) error {
	if t < k.view.Start() || t > k.view.End() {
		return fmt.Errorf("%w: %d, the history is from %d to %d", history.ErrOutside, t, k.view.Start(), k.view.End())
	}
	return nil
}

// checkAt returns an error if an interval that was found at t does not contain t, because a file's bytes
// can be wrong although their checksums are right.
func (k *kept) checkAt(a history.Attribute, in history.Interval, t int64) error {
	if in.Start > t || in.End < t || in.Start < k.view.Start() || in.End > k.view.End() {
		return fmt.Errorf("%w: attribute %d is kept from %d to %d, found at %d", ErrImage, a, in.Start, in.End, t)
	}
	return nil
}

// at returns the interval that contains t.
func (k *kept) at(a history.Attribute, t int64) (history.Interval, error) {
	in, err := k.view.At(a, t)
	if err != nil {
		return in, err
	}
	return in, k.checkAt(a, in, t)
}

// slice returns the intervals of all attributes that contain t, and reuses the memory of old.
func (k *kept) slice(t int64, old []history.Interval) ([]history.Interval, error) {
	s, err := k.view.Slice(t)
	if err != nil {
		return nil, err
	}
	all := slices.Grow(old[:0], s.Len())
	for a, in := range s.All() {
		if err := k.checkAt(a, in, t); err != nil {
			return nil, err
		}
		all = append(all, in)
	}
	return all, nil
}

// rangeOf yields an attribute's intervals in [from, to]. An error is the last element.
func (k *kept) rangeOf(a history.Attribute, from, to int64) iter.Seq2[history.Interval, error] {
	return func(yield func(history.Interval, error) bool) {
		for in, err := range k.view.Range(a, from, to, history.RangeOptions{}) {
			if err == nil {
				err = k.checkAt(a, in, max(in.Start, from))
			}
			if !yield(in, err) || err != nil {
				return
			}
		}
	}
}

// sample returns the intervals of attributes that contain one of the times, which are sorted, and the
// attribute of each.
func (k *kept) sample(attributes []history.Attribute, times []int64) (of []history.Attribute, all []history.Interval, err error) {
	s, err := k.view.Sample(attributes, times)
	if err != nil {
		return nil, nil, err
	}
	of, all = make([]history.Attribute, s.Len()), make([]history.Interval, s.Len())
	for i := range of {
		of[i], all[i] = s.At(i)
	}
	return of, all, nil
}
