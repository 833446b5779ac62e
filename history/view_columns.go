package history

import (
	"iter"
	"slices"
)

// RangeColumns yields the intervals of Range, attribute by attribute. Each Columns has `rows` rows, the
// last fewer, and belongs to the caller until the next. It costs as much as Range, and memory for one
// Columns.
//
// If Range has an error, it is the only element, without columns. The bounds are checked even if there are
// no attributes.
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

// addForward is forward, with words.
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

// SliceColumns yields the states of attributes at t in their order, at most `rows` at a time. A Columns
// belongs to the caller until the next. If View.At has an error, it is the only element. It costs as much
// as Slice, and some 10 ns an attribute.
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

// sampleCells bounds the intervals that are sampled at once.
const sampleCells = 64 << 10

// SampleColumns yields the intervals of Sample, at most `rows` at a time. A Columns belongs to the caller
// until the next. If Sample has an error, it is the only element. It takes memory for 65,536 intervals, or
// for one attribute if it has more.
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

// addSample adds the intervals that contain one of times, which are sorted.
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
