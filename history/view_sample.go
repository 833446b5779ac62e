package history

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
)

// Sample returns the intervals of attributes that contain at least one of times, each once. They are in the
// order of the argument's attributes, then of time; an attribute that is named twice is in twice. Times may
// come in any order and more than once. This is the 2D query of the state history papers. It costs 10 to 40
// ns an interval, and 50 to 100 ns an attribute. It returns the errors of View.At, for any attribute and
// time.
func (v *View) Sample(attributes []Attribute, times []int64) (*Intervals, error) {
	return v.SampleInto(nil, attributes, times)
}

// SampleInto is Sample, and reuses the memory of old. old may come from any view of any history, and must have
// no readers. old becomes the result. A nil old has no memory to reuse. SampleInto returns the errors of
// Sample. After an error the result is nil, and old is unchanged.
func (v *View) SampleInto(old *Intervals, attributes []Attribute, times []int64) (*Intervals, error) {
	if !slices.IsSorted(times) {
		times = slices.Clone(times)
		slices.Sort(times)
	}
	if len(times) > 0 {
		if err := cmp.Or(v.checkTime(times[0]), v.checkTime(times[len(times)-1])); err != nil {
			return nil, err
		}
	}
	attributes = v.list(attributes)
	if err := v.checkAttributes(attributes); err != nil {
		return nil, err
	}
	if old == nil {
		old = new(Intervals)
	}
	rows := old.rows[:0]
	if len(times) > 0 && len(attributes) > 0 {
		if err := v.reading(func() { rows = sample(v, rows, attributes, times) }); err != nil {
			return nil, err
		}
	}
	old.view, old.rows = v, rows
	return old, nil
}

// maxPixels bounds the pixels of a query, because no picture has more.
const maxPixels = 1 << 20

// isPixels reports whether a query of pixels has an answer in some view.
func isPixels(from, to int64, pixels int) bool {
	return pixels > 0 && pixels <= maxPixels && from <= to
}

// Pixels is Sample at instants spread evenly over [from, to]: the columns of a picture. If the range has
// fewer instants than pixels, it is Sample at each instant. It returns the errors of Sample, and ErrQuery
// if pixels is not from 1 to 1,048,576 or to is before from.
func (v *View) Pixels(attributes []Attribute, from, to int64, pixels int) (*Intervals, error) {
	return v.PixelsInto(nil, attributes, from, to, pixels)
}

// PixelsInto is Pixels, and reuses the memory of old as SampleInto does.
func (v *View) PixelsInto(old *Intervals, attributes []Attribute, from, to int64, pixels int) (*Intervals, error) {
	if !isPixels(from, to, pixels) {
		return nil, fmt.Errorf("%w: %d pixels from %d to %d", ErrQuery, pixels, from, to)
	}
	if err := cmp.Or(v.checkTime(from), v.checkTime(to)); err != nil {
		return nil, err
	}
	return v.SampleInto(old, attributes, PixelTimes(from, to, pixels))
}

// PixelTimes returns the instants of a Pixels query: the middle of each pixel, in order. In a range of N
// instants in n parts, the middle of part i is (2i+1)N/2n behind the start. It returns none where Pixels
// returns ErrQuery.
func PixelTimes(from, to int64, pixels int) []int64 {
	if !isPixels(from, to, pixels) {
		return nil
	}
	span, n := uint64(to)-uint64(from), uint64(pixels)
	if span < n {
		times := make([]int64, span+1)
		for i := range times {
			times[i] = from + int64(i)
		}
		return times
	}
	var high uint64 // high word of N, which is 2^64 for all of int64
	if span+1 == 0 {
		high = 1
	}
	// From part to part the offset grows by N/n. Its fraction is counted in 2n-ths.
	offset, fraction := bits.Div64(high, span+1, 2*n)
	var step, rest uint64
	if n > 1 {
		step, rest = bits.Div64(high, span+1, n)
	}
	times := make([]int64, n)
	for i := range times {
		times[i] = int64(uint64(from) + offset)
		offset += step
		if fraction += 2 * rest; fraction >= 2*n {
			offset++
			fraction -= 2 * n
		}
	}
	return times
}
