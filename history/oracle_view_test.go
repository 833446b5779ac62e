package history_test

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"

	"github.com/granarydb/granary/history"
)

// oracleView has the methods of a View.
type oracleView struct {
	start int64
	state state
}

// refuse returns the errors of a question about an attribute at t.
func (v *oracleView) refuse(a history.Attribute, times ...int64) (r refusals) {
	r.when(int(a) >= len(v.state.attributes), history.ErrAttribute)
	for _, t := range times {
		r.when(v.outside(t), history.ErrOutside)
	}
	return r
}

func (v *oracleView) outside(t int64) bool {
	last, _ := v.state.last()
	return !last.is || t < v.start || t > last.at
}

func (v *oracleView) end() int64 {
	last, _ := v.state.last()
	return last.at
}

// each calls yield with the intervals of an attribute in order of time. Intervals begin at the
// view's start at the earliest if earlier ones have been dropped.
func (v *oracleView) each(a history.Attribute, yield func(history.Interval) bool) {
	at := &v.state.attributes[a]
	for _, in := range at.done {
		if in.End < v.start {
			continue
		}
		in.Start = max(in.Start, v.start)
		if !yield(in) {
			return
		}
	}
	if in, ok := v.ongoing(at); ok {
		yield(in)
	}
}

// ongoing returns the interval of an attribute that has not ended.
func (v *oracleView) ongoing(at *attribute) (in history.Interval, ok bool) {
	last, closed := v.state.last()
	if closed || !last.is || at.full || at.began > last.at {
		return in, false
	}
	return history.Interval{Start: max(at.began, v.start), End: last.at, Value: at.value, Open: true}, true
}

func (v *oracleView) list(a history.Attribute, keep func(history.Interval) bool) (list []history.Interval) {
	v.each(a, func(in history.Interval) bool {
		if keep(in) {
			list = append(list, in)
		}
		return true
	})
	return list
}

// first returns the first of the intervals that list returns.
func (v *oracleView) first(a history.Attribute, keep func(history.Interval) bool) (first history.Interval, ok bool) {
	v.each(a, func(in history.Interval) bool {
		if ok = keep(in); ok {
			first = in
		}
		return !ok
	})
	return first, ok
}

// at finds the interval by bisection: most questions come down to this one.
func (v *oracleView) at(a history.Attribute, t int64) (history.Interval, refusals) {
	if r := v.refuse(a, t); r != nil {
		return history.Interval{}, r
	}
	at := &v.state.attributes[a]
	i, _ := slices.BinarySearchFunc(at.done, t, func(in history.Interval, t int64) int { return cmp.Compare(in.End, t) })
	if i == len(at.done) {
		in, _ := v.ongoing(at)
		return in, nil
	}
	in := at.done[i]
	in.Start = max(in.Start, v.start)
	return in, nil
}

// next returns the first interval that begins after t.
func (v *oracleView) next(a history.Attribute, t int64) (in history.Interval, ok bool, r refusals) {
	if r = v.refuse(a, t); r == nil {
		in, ok = v.first(a, func(in history.Interval) bool { return in.Start > t })
	}
	return in, ok, r
}

// previous returns the last interval that ends before t.
func (v *oracleView) previous(a history.Attribute, t int64) (last history.Interval, ok bool, r refusals) {
	if r = v.refuse(a, t); r == nil {
		v.each(a, func(in history.Interval) bool {
			if in.End >= t {
				return false
			}
			last, ok = in, true
			return true
		})
	}
	return last, ok, r
}

func (v *oracleView) nextNonNull(a history.Attribute, t int64) (in history.Interval, ok bool, r refusals) {
	if r = v.refuse(a, t); r == nil {
		in, ok = v.first(a, func(in history.Interval) bool { return in.End >= t && !in.Value.IsNull() })
	}
	return in, ok, r
}

// rangeOf returns the intervals that Range yields.
func (v *oracleView) rangeOf(a history.Attribute, from, to int64, opts history.RangeOptions) ([]history.Interval, refusals) {
	r := v.refuse(a, from, to)
	r.when(to < from || opts.Resolution < 0, history.ErrQuery)
	if r != nil {
		return nil, r
	}
	list := v.list(a, func(in history.Interval) bool {
		if in.End < from || in.Start > to {
			return false
		}
		return opts.Resolution == 0 || in.Start <= from || in.End >= to || onGrid(in, from, opts.Resolution)
	})
	if opts.Reverse {
		slices.Reverse(list)
	}
	return list, nil
}

// onGrid reports whether some from + k*step is in an interval that begins after from.
func onGrid(in history.Interval, from, step int64) bool {
	// Distances are up to 64 bits: the last multiple up to End is at or after Start.
	toEnd, toStart := uint64(in.End)-uint64(from), uint64(in.Start)-uint64(from)
	return toEnd/uint64(step)*uint64(step) >= toStart
}

// sample returns the intervals of an attribute that contain one of the times.
func (v *oracleView) sample(a history.Attribute, times []int64) []history.Interval {
	times = slices.Sorted(slices.Values(times))
	return v.list(a, func(in history.Interval) bool {
		i, _ := slices.BinarySearch(times, in.Start)
		return i < len(times) && times[i] <= in.End
	})
}

// top returns the interval of the newest value of a stack at t.
func (v *oracleView) top(a history.Attribute, t int64) (history.Interval, bool, refusals) {
	in, r := v.at(a, t)
	if r != nil {
		return history.Interval{}, false, r
	}
	depth := in.Value.Int()
	r.when(!in.Value.IsNull() && in.Value.Kind() != history.KindInt, history.ErrKind)
	r.when(depth < 0 || depth > maxStack, history.ErrDepth)
	if r != nil || depth == 0 {
		return history.Interval{}, false, r
	}
	i := slices.IndexFunc(v.state.attributes, func(c attribute) bool {
		return c.place == place{a, strconv.FormatInt(depth, 10)}
	})
	if i < 0 {
		return history.Interval{}, false, refusals{history.ErrDepth}
	}
	in, _ = v.at(history.Attribute(i), t)
	return in, true, nil
}

// pixel returns the first and the last instant that overlap column i of a picture of n
// columns, of a range of at least n instants.
func pixel(from, to int64, n, i uint64) (lo, hi int64) {
	share := func(i uint64) (whole, rest uint64) { // i/n of the instants, one more than their distance
		high, low := bits.Mul64(uint64(to)-uint64(from), i)
		whole, rest = bits.Div64(high, low, n)
		return whole + (rest+i)/n, (rest + i) % n
	}
	before, _ := share(i)
	after, rest := share(i + 1)
	if rest == 0 {
		after--
	}
	return int64(uint64(from) + before), int64(uint64(from) + after)
}
