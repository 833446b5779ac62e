package history

import (
	"iter"
	"slices"
)

// RangeColumns yields the intervals of Range, attribute by attribute. Each Columns has `rows` rows, except
// that the last may have fewer. It is valid until the next one is yielded. RangeColumns costs as much as
// Range, and memory for one Columns.
//
// An error of Range is the last element, with nil columns. The error of an invalid argument is the only
// element. The bounds are checked even if there are no attributes.
func (v *View) RangeColumns(attributes []Attribute, from, to, resolution int64, rows int) iter.Seq2[*Columns, error] {
	attributes = v.list(attributes)
	check := func() error { return v.checkRange(from, to, resolution) }
	return inBatches(v, attributes, rows, check, func(b *batches) {
		for _, a := range attributes {
			if v.addForward(b, a, from, to, resolution); b.done {
				return
			}
		}
	})
}

// addForward adds the intervals that forward yields to b, each with the word of its value.
func (v *View) addForward(b *batches, a Attribute, from, to, resolution int64) {
	w := newWalker(v, a)
	for t := from; ; {
		w.seek(t)
		in := w.interval()
		v.checkProgress(&in, t)
		if !b.add(a, &in, w.found.word) || in.End >= to {
			return
		}
		t = onGrid(in.End+1, from, to, resolution)
	}
}

// SliceColumns yields the states of attributes at t, in the order of attributes. Each Columns has `rows` rows,
// except that the last may have fewer. It is valid until the next one is yielded. If Slice returns an error,
// that error is the only element, with nil columns. SliceColumns costs as much as Slice, plus about 10 ns per
// attribute.
func (v *View) SliceColumns(t int64, attributes []Attribute, rows int) iter.Seq2[*Columns, error] {
	attributes = v.list(attributes)
	check := func() error { return v.checkTime(t) }
	return inBatches(v, attributes, rows, check, func(b *batches) {
		s := newSlice(v, attributes)
		s.fill(t)
		for _, a := range attributes {
			in, word := s.state(a)
			if !b.add(a, &in, word) {
				return
			}
		}
	})
}

// sampleCells bounds the number of intervals that are sampled at once. A single attribute may have more.
const sampleCells = 64 << 10

// SampleColumns yields the intervals of Sample. Each Columns has `rows` rows, except that the last may have
// fewer. It is valid until the next one is yielded. An error of Sample is the last element, with nil columns.
// The error of an invalid argument is the only element. SampleColumns takes memory for 65,536 intervals, or
// for the intervals of one attribute if that has more.
func (v *View) SampleColumns(attributes []Attribute, times []int64, rows int) iter.Seq2[*Columns, error] {
	if !slices.IsSorted(times) {
		times = slices.Clone(times)
		slices.Sort(times)
	}
	attributes = v.list(attributes)
	check := func() error {
		_, err := v.Sample([]Attribute{}, times)
		return err
	}
	return inBatches(v, attributes, rows, check, func(b *batches) { v.addSample(b, attributes, times) })
}

// addSample adds to b the intervals that contain at least one of times, which must be sorted.
func (v *View) addSample(b *batches, attributes []Attribute, times []int64) {
	if len(times) == 0 {
		return
	}
	var found *Intervals
	var err error
	for part := range slices.Chunk(attributes, max(1, sampleCells/len(times))) {
		if found, err = v.SampleInto(found, part, times); err != nil {
			b.yield(nil, err)
			b.done = true
			return
		}
		for i := range found.rows {
			a, in := found.At(i)
			if !b.add(a, &in, found.rows[i].word) {
				return
			}
		}
	}
}
