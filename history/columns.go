package history

import (
	"cmp"
	"iter"
)

// Columns holds intervals as plain columns, one element per row in each, for building records (package
// columnstore). An interval takes 30 bytes.
type Columns struct {
	Attributes   []Attribute
	Starts, Ends []int64 // both included, whole intervals
	Open         []bool
	Kinds        []Kind
	// Words are the values: 0 or 1 for a bool, an int, a float's bits, or the code of a string or
	// bytes, for Text in the same view. The word of null has no meaning.
	Words []uint64
}

// resize sets the number of rows to n, which must fit the capacity.
func (c *Columns) resize(n int) {
	c.Attributes, c.Starts, c.Ends = c.Attributes[:n], c.Starts[:n], c.Ends[:n]
	c.Open, c.Kinds, c.Words = c.Open[:n], c.Kinds[:n], c.Words[:n]
}

// grow makes room for n rows.
func (c *Columns) grow(n int) {
	c.Attributes = append(make([]Attribute, 0, n), c.Attributes...)
	c.Starts = append(make([]int64, 0, n), c.Starts...)
	c.Ends = append(make([]int64, 0, n), c.Ends...)
	c.Open = append(make([]bool, 0, n), c.Open...)
	c.Kinds = append(make([]Kind, 0, n), c.Kinds...)
	c.Words = append(make([]uint64, 0, n), c.Words...)
}

// append adds an interval and the word of its value. There must be room for it.
func (c *Columns) append(a Attribute, in *Interval, word uint64) {
	n := len(c.Attributes)
	c.resize(n + 1)
	c.Attributes[n], c.Starts[n], c.Ends[n] = a, in.Start, in.End
	c.Open[n], c.Kinds[n], c.Words[n] = in.Open, in.Value.kind, word
}

// batches hands out columns in batches with a fixed number of rows.
type batches struct {
	Columns
	room  int // rows
	most  int
	yield func(*Columns, error) bool
	done  bool
}

// add adds an interval; more is false if the receiver has enough.
func (b *batches) add(a Attribute, in *Interval, word uint64) (more bool) {
	if len(b.Attributes) == b.room {
		b.room = min(b.most, max(256, 4*b.room))
		b.grow(b.room)
	}
	b.append(a, in, word)
	return len(b.Attributes) < b.most || b.flush()
}

func (b *batches) flush() (more bool) {
	if len(b.Attributes) > 0 && !b.done {
		given := b.Columns // the receiver may shorten it
		b.done = !b.yield(&given, nil)
		b.resize(0)
	}
	return !b.done
}

// inBatches yields the intervals that fill adds. If check or an attribute fails, it yields only the error
// and does not call fill.
func inBatches(v *View, attributes []Attribute, rows int, check func() error, fill func(b *batches)) iter.Seq2[*Columns, error] {
	return func(yield func(*Columns, error) bool) {
		if err := cmp.Or(check(), v.checkAttributes(attributes)); err != nil {
			yield(nil, err)
			return
		}
		b := batches{most: max(1, rows), yield: yield}
		if err := v.reading(func() { fill(&b) }); err != nil {
			yield(nil, err)
			return
		}
		b.flush()
	}
}
