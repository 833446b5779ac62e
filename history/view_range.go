package history

import (
	"cmp"
	"fmt"
	"iter"

	"github.com/granarydb/granary/internal/tile"
)

// RangeOptions select the intervals of a range.
type RangeOptions struct {
	// Reverse makes Range yield the last interval first.
	Reverse bool
	// Resolution, if above 0, leaves out intervals that lie wholly between two adjacent instants
	// `from + k*Resolution`. Intervals that hold at one of these instants, or at the end of the range,
	// are kept.
	Resolution int64
}

// Range yields an attribute's intervals that hold at some instant in [from, to], in the order of time. They
// are whole, not clipped to the range. An interval costs 5 to 50 ns.
//
// An error is the last element, with a zero Interval. The error of an invalid argument is the only element:
// ErrOutside for a bound outside the view, ErrQuery if to is before from or a resolution is negative, or
// ErrAttribute.
func (v *View) Range(a Attribute, from, to int64, opts RangeOptions) iter.Seq2[Interval, error] {
	return func(yield func(Interval, error) bool) {
		if err := cmp.Or(v.Known(a), v.checkRange(from, to, opts.Resolution)); err != nil {
			yield(Interval{}, err)
			return
		}
		// walk is called directly, because yield would escape to the heap if it were passed to a function
		// value.
		if !v.paged {
			v.walk(a, from, to, opts, yield)
		} else if err := v.reading(func() { v.walk(a, from, to, opts, yield) }); err != nil {
			yield(Interval{}, err)
		}
	}
}

func (v *View) walk(a Attribute, from, to int64, opts RangeOptions, yield func(Interval, error) bool) {
	if opts.Reverse {
		v.backward(a, from, to, opts.Resolution, yield)
	} else {
		v.forward(a, from, to, opts.Resolution, yield)
	}
}

// NextNonNull returns the attribute's first interval that ends at or after t and has a value. ok is false
// if the view has none. The errors are the same as for At. It visits each null interval on the way.
func (v *View) NextNonNull(a Attribute, t int64) (in Interval, ok bool, err error) {
	if _, err := v.At(a, t); err != nil {
		return Interval{}, false, err
	}
	for in, err := range v.Range(a, t, v.end, RangeOptions{}) {
		if err != nil || !in.Value.IsNull() {
			return in, err == nil, err
		}
	}
	return Interval{}, false, nil
}

func (v *View) checkRange(from, to, resolution int64) error {
	if to < from || resolution < 0 {
		return fmt.Errorf("%w: range [%d, %d] at a resolution of %d", ErrQuery, from, to, resolution)
	}
	return cmp.Or(v.checkTime(from), v.checkTime(to))
}

func (v *View) forward(a Attribute, from, to, resolution int64, yield func(Interval, error) bool) {
	w := newWalker(v, a)
	for t := from; ; {
		w.seek(t)
		in := w.interval()
		v.checkProgress(&in, t)
		if !yield(in, nil) || in.End >= to {
			return
		}
		t = onGrid(in.End+1, from, to, resolution)
	}
}

func (v *View) backward(a Attribute, from, to, resolution int64, yield func(Interval, error) bool) {
	for t := to; ; {
		var in Interval
		v.at(&in, a, t)
		v.checkProgress(&in, t)
		if !yield(in, nil) || in.Start <= from {
			return
		}
		t = in.Start - 1
		if resolution > 1 {
			t -= int64(uint64(t-from) % uint64(resolution))
		}
	}
}

// checkProgress fails a query if the intervals in a file are not in order, because the query could loop for
// ever.
func (v *View) checkProgress(in *Interval, t int64) {
	if in.Start > t || in.End < t {
		tile.Fail("an interval from %d to %d at %d", in.Start, in.End, t)
	}
}

// onGrid returns the first instant >= t that is from + k*resolution, or to if that is earlier.
func onGrid(t, from, to, resolution int64) int64 {
	if resolution <= 1 {
		return t
	}
	past := uint64(t-from) % uint64(resolution)
	if past == 0 {
		return t
	}
	step := uint64(resolution) - past
	if step >= uint64(to-t) {
		return to
	}
	return t + int64(step)
}
