package partial

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/granarydb/granary/history"
)

// NotYetError is returned by queries behind the last checkpoint of a history that goes on, because its
// states are not known yet. It is a history.ErrOutside.
type NotYetError struct {
	At    int64 // the queried instant
	Until int64 // last known instant; one before the start if none is known
}

// Error returns both instants.
func (e *NotYetError) Error() string {
	return fmt.Sprintf("%v: %d, the history goes on behind %d", history.ErrOutside, e.At, e.Until)
}

// Unwrap returns history.ErrOutside.
func (e *NotYetError) Unwrap() error { return history.ErrOutside }

// kept is the kept part of a history: the intervals in a view, and, if the history goes on, the intervals
// that hold at the last checkpoint.
type kept struct {
	view    *history.View
	end     int64
	ongoing []history.Interval // by attribute; nil if the view is closed, and has all
}

// goesOn reports whether events may follow.
func (k *kept) goesOn() bool { return !k.view.Closed() }

// changed returns the number of ongoing intervals without the attributes that never changed.
func (k *kept) changed() (n int) {
	for a := range k.ongoing {
		if k.isChanged(a) {
			n++
		}
	}
	return n
}

func (k *kept) isChanged(a int) bool {
	return k.ongoing[a].Start != k.view.Start() || !k.ongoing[a].Value.IsNull()
}

// check returns an error for an instant outside the history.
func (k *kept) check(t int64) error {
	switch {
	case t > k.end && k.goesOn():
		return &NotYetError{t, k.end}
	case t < k.view.Start() || t > k.end:
		return fmt.Errorf("%w: %d, the history is from %d to %d", history.ErrOutside, t, k.view.Start(), k.end)
	}
	return nil
}

// checkAt returns an error if an interval that was found at t does not contain t, because a file's bytes
// can be wrong although their checksums are right.
func (k *kept) checkAt(a history.Attribute, in history.Interval, t int64) error {
	if in.Start > t || in.End < t || in.Start < k.view.Start() || in.End > k.end {
		return fmt.Errorf("%w: attribute %d is kept from %d to %d, found at %d", ErrImage, a, in.Start, in.End, t)
	}
	return nil
}

// at returns the interval that contains t.
func (k *kept) at(a history.Attribute, t int64) (in history.Interval, err error) {
	if k.goesOn() {
		if err := cmp.Or(k.check(t), k.view.Known(a)); err != nil {
			return in, err
		}
		if t >= k.ongoing[a].Start {
			return k.ongoing[a], nil
		}
		if t > k.view.End() {
			return in, fmt.Errorf("%w: attribute %d is not kept at %d", ErrImage, a, t)
		}
	}
	if in, err = k.view.At(a, t); err != nil {
		return in, err
	}
	if k.goesOn() && (in.Open || in.End >= k.ongoing[a].Start) {
		return in, fmt.Errorf("%w: attribute %d is kept from %d to %d and from %d", ErrImage, a, in.Start, in.End, k.ongoing[a].Start)
	}
	return in, k.checkAt(a, in, t)
}

// slice returns the intervals of all attributes that contain t, in the memory of old.
func (k *kept) slice(t int64, old []history.Interval) ([]history.Interval, error) {
	if k.goesOn() {
		if err := k.check(t); err != nil {
			return nil, err
		}
		all := slices.Grow(old[:0], len(k.ongoing))
		for a := range k.ongoing {
			in, err := k.at(history.Attribute(a), t)
			if err != nil {
				return nil, err
			}
			all = append(all, in)
		}
		return all, nil
	}
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
		if !k.goesOn() {
			for in, err := range k.view.Range(a, from, to, history.RangeOptions{}) {
				if err == nil {
					err = k.checkAt(a, in, max(in.Start, from))
				}
				if !yield(in, err) || err != nil {
					return
				}
			}
			return
		}
		err := cmp.Or(k.check(from), k.check(to))
		if to < from {
			err = fmt.Errorf("%w: range [%d, %d]", history.ErrQuery, from, to)
		}
		for t := from; err == nil; {
			var in history.Interval
			if in, err = k.at(a, t); err == nil && (!yield(in, nil) || in.End >= to) {
				return
			}
			t = in.End + 1
		}
		yield(history.Interval{}, err)
	}
}

// sample returns the intervals of attributes that contain one of the times, which are sorted, and the
// attribute of each.
func (k *kept) sample(attributes []history.Attribute, times []int64) (of []history.Attribute, all []history.Interval, err error) {
	if !k.goesOn() {
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
	if len(times) > 0 {
		if err := cmp.Or(k.check(times[0]), k.check(times[len(times)-1])); err != nil {
			return nil, nil, err
		}
	}
	if attributes == nil {
		attributes = k.view.All()
	}
	for _, a := range attributes {
		if err := k.view.Known(a); err != nil {
			return nil, nil, err
		}
		for rest := times; len(rest) > 0; {
			in, err := k.at(a, rest[0])
			if err != nil {
				return nil, nil, err
			}
			of, all = append(of, a), append(all, in)
			behind, _ := slices.BinarySearch(rest, in.End)
			for behind < len(rest) && rest[behind] == in.End {
				behind++
			}
			rest = rest[behind:]
		}
	}
	return of, all, nil
}
