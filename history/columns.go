package history

import (
	"errors"
	"fmt"
	"iter"
	"slices"
)

// Columns is intervals as plain columns, an element a row in each: for those who make
// records of them (package columnstore). 30 bytes an interval.
type Columns struct {
	Attributes   []Attribute
	Starts, Ends []int64 // both included, whole intervals
	Open         []bool
	Kinds        []Kind
	// Words are the values: of a bool 0 or 1, an int, the bits of a float, the code of a
	// string or bytes, for View.Text. Of null it can be anything.
	Words []uint64
}

// Len returns the number of rows.
func (c *Columns) Len() int { return len(c.Attributes) }

// cut leaves the first n rows.
func (c *Columns) cut(n int) {
	c.Attributes, c.Starts, c.Ends = c.Attributes[:n], c.Starts[:n], c.Ends[:n]
	c.Open, c.Kinds, c.Words = c.Open[:n], c.Kinds[:n], c.Words[:n]
}

// grow makes room for so many rows.
func (c *Columns) grow(n int) {
	c.Attributes = append(make([]Attribute, 0, n), c.Attributes...)
	c.Starts = append(make([]int64, 0, n), c.Starts...)
	c.Ends = append(make([]int64, 0, n), c.Ends...)
	c.Open = append(make([]bool, 0, n), c.Open...)
	c.Kinds = append(make([]Kind, 0, n), c.Kinds...)
	c.Words = append(make([]uint64, 0, n), c.Words...)
}

// append adds an interval, for which there is room, and the word that its value is.
func (c *Columns) append(a Attribute, in *Interval, word uint64) {
	n := len(c.Attributes)
	c.cut(n + 1)
	c.Attributes[n], c.Starts[n], c.Ends[n] = a, in.Start, in.End
	c.Open[n], c.Kinds[n], c.Words[n] = in.Open, in.Value.kind, word
}

// Text returns the bytes of a string or of bytes by its code, which must be one that
// Columns of a view of the history have. They never change and must not be changed.
// Equal strings have one code, and so have equal bytes. About 5 ns.
func (v *View) Text(code uint64) []byte { return v.history.texts.Value(uint32(code)) }

// batches hands out columns of so many rows at a time.
type batches struct {
	Columns
	room  int // rows
	most  int
	yield func(*Columns, error) bool
	done  bool
}

// add adds an interval; more is false if the receiver has enough.
func (b *batches) add(a Attribute, in *Interval, word uint64) (more bool) {
	if b.Len() == b.room {
		b.room = min(b.most, max(256, 4*b.room))
		b.grow(b.room)
	}
	b.append(a, in, word)
	return b.Len() < b.most || b.flush()
}

func (b *batches) flush() (more bool) {
	if b.Len() > 0 && !b.done {
		given := b.Columns // the receiver may cut it
		b.done = !b.yield(&given, nil)
		b.cut(0)
	}
	return !b.done
}

// columns is the sequence of what fill adds. Nothing is filled if check, or one of the
// attributes, is an error.
func (v *View) columns(attributes []Attribute, rows int, check func() error, fill func(b *batches)) iter.Seq2[*Columns, error] {
	return func(yield func(*Columns, error) bool) {
		err := check()
		for i := 0; err == nil && i < len(attributes); i++ {
			err = v.checkAttribute(attributes[i])
		}
		if err != nil {
			yield(nil, err)
			return
		}
		b := batches{most: max(1, rows), yield: yield}
		fill(&b)
		b.flush()
	}
}

// RangeColumns yields what Range does with a resolution, of one attribute after the other,
// at most so many rows at a time: all sets of columns but the last have as many. Columns are
// the caller's until it asks for the next. It costs what Range does, and memory for one set
// of columns.
//
// The only element is an error, and no columns, where Range has one; the bounds are checked
// also if there are no attributes.
func (v *View) RangeColumns(attributes []Attribute, from, to, resolution int64, rows int) iter.Seq2[*Columns, error] {
	check := func() error {
		if to < from || resolution < 0 {
			return fmt.Errorf("%w: range [%d, %d] at a resolution of %d", ErrQuery, from, to, resolution)
		}
		return errors.Join(v.checkTime(from), v.checkTime(to))
	}
	return v.columns(attributes, rows, check, func(b *batches) {
		for _, a := range attributes {
			if v.addForward(b, a, from, to, resolution); b.done {
				return
			}
		}
	})
}

// addForward is forward, with words.
func (v *View) addForward(b *batches, a Attribute, from, to, resolution int64) {
	w := v.walk(a)
	for t := from; ; {
		w.seek(t)
		in := w.interval()
		if !b.add(a, &in, w.found.word) || in.End >= to {
			return
		}
		t = onGrid(in.End+1, from, to, resolution)
	}
}

// SliceColumns yields the states of attributes at t in their order, at most so many rows
// at a time; of none if none is named, unlike Slice. Columns are the caller's until it
// asks for the next. The only element is an error where View.At has one. It costs what
// Slice does, and some 10 ns an attribute.
func (v *View) SliceColumns(t int64, attributes []Attribute, rows int) iter.Seq2[*Columns, error] {
	check := func() error { return v.checkTime(t) }
	return v.columns(attributes, rows, check, func(b *batches) {
		if len(attributes) == 0 {
			return
		}
		s := v.newSlice(attributes)
		s.fill(t)
		for _, a := range attributes {
			in, word := s.state(a)
			if !b.add(a, &in, word) {
				return
			}
		}
	})
}

// state returns the interval and the word of an attribute that the slice is of.
func (s *Slice) state(a Attribute) (in Interval, word uint64) {
	pos := s.view.pos(a)
	if pos == 0 || s.wanted[(pos-1)/laneWidth]>>((pos-1)%laneWidth)&1 == 0 {
		s.view.at(&in, a, s.at)
		return in, 0 // it had no place when the slice was made
	}
	return s.interval(int(pos - 1)), s.words[pos-1]
}

// sampleCells bounds how many intervals are sampled at once.
const sampleCells = 64 << 10

// SampleColumns yields what Sample returns, at most so many rows at a time. Columns are the
// caller's until it asks for the next. The only element is an error where Sample has one.
// Memory is for 65,536 intervals, or for all of one attribute if those are more.
func (v *View) SampleColumns(attributes []Attribute, times []int64, rows int) iter.Seq2[*Columns, error] {
	if !slices.IsSorted(times) {
		times = slices.Clone(times)
		slices.Sort(times)
	}
	check := func() error {
		_, err := v.Sample(nil, times)
		return err
	}
	return v.columns(attributes, rows, check, func(b *batches) { v.addSample(b, attributes, times) })
}

// PixelColumns yields what Pixels returns, as SampleColumns does.
func (v *View) PixelColumns(attributes []Attribute, from, to int64, pixels, rows int) iter.Seq2[*Columns, error] {
	check := func() error {
		_, err := v.Pixels(nil, from, to, pixels)
		return err
	}
	return v.columns(attributes, rows, check, func(b *batches) {
		v.addSample(b, attributes, pixelTimes(from, to, pixels))
	})
}

// addSample adds the intervals that times, which are sorted, hit.
func (v *View) addSample(b *batches, attributes []Attribute, times []int64) {
	if len(times) == 0 {
		return
	}
	var found *Intervals
	var err error
	for part := range slices.Chunk(attributes, max(1, sampleCells/len(times))) {
		if found, err = v.SampleInto(found, part, times); err != nil {
			b.done = !b.yield(nil, err)
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
