package history

import (
	"fmt"
	"math/bits"
	"slices"
)

// Intervals is intervals of attributes. It belongs to the caller; any number of goroutines
// may read it. 32 bytes an interval.
type Intervals struct {
	view *View
	rows []row
}

type row struct {
	start, end int64
	word       uint64
	attribute  Attribute
	kind       Kind
	open       bool
}

// Len returns the number of intervals.
func (r *Intervals) Len() int { return len(r.rows) }

// At returns interval i and whose it is.
func (r *Intervals) At(i int) (Attribute, Interval) {
	w := &r.rows[i]
	return w.attribute, Interval{w.start, w.end, r.view.history.value(w.kind, w.word), w.open}
}

// Sample returns the intervals of attributes in which one of the times is, each once:
// those of one attribute in the order of time, the attributes in the order in which
// they were asked for, which ones asked for twice are in twice. Times may come in any
// order and more than once. This is the 2D query of the state history papers. 10 to 40
// ns an interval, 50 to 100 an attribute. The errors are those of View.At, for any of
// the attributes and times, and nothing else is returned then.
func (v *View) Sample(attributes []Attribute, times []int64) (*Intervals, error) {
	return v.SampleInto(nil, attributes, times)
}

// SampleInto is Sample in the memory of intervals that nobody reads any more, of any view of
// any history, which become the result; nil has none. The errors are those of Sample: then the
// result is nil, and the old intervals are as they were.
func (v *View) SampleInto(old *Intervals, attributes []Attribute, times []int64) (*Intervals, error) {
	if !slices.IsSorted(times) {
		times = slices.Clone(times)
		slices.Sort(times)
	}
	if len(times) > 0 {
		if err := v.checkTime(times[0]); err != nil {
			return nil, err
		}
		if err := v.checkTime(times[len(times)-1]); err != nil {
			return nil, err
		}
	}
	for _, a := range attributes {
		if int64(a) >= int64(v.n) {
			return nil, v.checkAttribute(a)
		}
	}
	if old == nil {
		old = new(Intervals)
	}
	old.view, old.rows = v, old.rows[:0]
	if len(times) > 0 && len(attributes) > 0 {
		old.rows = v.sample(old.rows, attributes, times)
	}
	return old, nil
}

// maxPixels is more than any picture has.
const maxPixels = 1 << 20

// Pixels is Sample at so many instants, evenly from from to to: what a picture of that
// many columns shows; at every instant, if there are no more. It returns ErrQuery if
// pixels is not from 1 to 1,048,576 or to is before from.
func (v *View) Pixels(attributes []Attribute, from, to int64, pixels int) (*Intervals, error) {
	return v.PixelsInto(nil, attributes, from, to, pixels)
}

// PixelsInto is to Pixels what SampleInto is to Sample.
func (v *View) PixelsInto(old *Intervals, attributes []Attribute, from, to int64, pixels int) (*Intervals, error) {
	if pixels <= 0 || pixels > maxPixels || to < from {
		return nil, fmt.Errorf("%w: %d pixels from %d to %d", ErrQuery, pixels, from, to)
	}
	if err := v.checkTime(from); err != nil {
		return nil, err
	}
	if err := v.checkTime(to); err != nil {
		return nil, err
	}
	return v.SampleInto(old, attributes, pixelTimes(from, to, pixels))
}

// pixelTimes returns the instant in the middle of each pixel: of so many parts of a range
// of N instants, the middle of part i is (2i+1)N/2n behind its start.
func pixelTimes(from, to int64, pixels int) []int64 {
	span, n := uint64(to)-uint64(from), uint64(pixels)
	if span < n {
		times := make([]int64, span+1)
		for i := range times {
			times[i] = from + int64(i)
		}
		return times
	}
	var high uint64 // of N, which is 2^64 for all of int64
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
