package history_test

import (
	"slices"
	"sync"

	"github.com/granarydb/granary/history"
)

// tester is the common part of *testing.T and *rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// begun returns a new history and its first transaction.
func begun(t tester) (*history.History, *history.Draft) {
	t.Helper()
	h, err := history.New(history.Options{})
	if err != nil {
		t.Fatalf("a new history: %v", err)
	}
	tx, err := h.Begin()
	if err != nil {
		t.Fatalf("its first transaction: %v", err)
	}
	return h, tx
}

// checker asks a view and the oracle's view the same questions. A failure names the view and
// the question. It calls no Helper, which takes longer than most questions.
type checker struct {
	tester
	name         string
	view         *history.View
	oracle       *oracleView
	cursor       *history.Cursor
	cursorOfSome *history.Cursor
	some         []history.Attribute
}

func newChecker(t tester, name string, v *history.View, o *oracleView) *checker {
	t.Helper()
	c := &checker{tester: t, name: name, view: v, oracle: o}
	last, closed := o.state.last()
	if v.Len() != len(o.state.attributes) || v.Start() != o.start || v.Instants() != last.is || v.Closed() != closed {
		t.Fatalf("%s: a view of %d attributes from %d, instants %v, closed %v; want %d, %d, %v, %v",
			name, v.Len(), v.Start(), v.Instants(), v.Closed(), len(o.state.attributes), o.start, last.is, closed)
	}
	want := last.at
	if !last.is {
		want = o.start - 1
	}
	if v.End() != want {
		t.Fatalf("%s: the view ends at %d, want %d", name, v.End(), want)
	}
	return c
}

func (c *checker) refused(err error, r refusals, what string, args ...any) bool {
	if problem := r.match(err); problem != "" {
		c.Fatalf("%s: "+what+": %s", append(append([]any{c.name}, args...), problem)...)
	}
	return err != nil
}

func (c *checker) same(got, want history.Interval, what string, args ...any) {
	if got.Start != want.Start || got.End != want.End || got.Open != want.Open || !got.Value.Equal(want.Value) {
		c.Fatalf("%s: "+what+": %+v, want %+v", append(append([]any{c.name}, args...), got, want)...)
	}
}

func (c *checker) at(a history.Attribute, t int64) {
	want, r := c.oracle.at(a, t)
	got, err := c.view.At(a, t)
	if !c.refused(err, r, "At(%d, %d)", a, t) {
		c.same(got, want, "At(%d, %d)", a, t)
	}
}

// neighbours checks the intervals next to the one at t.
func (c *checker) neighbours(a history.Attribute, t int64) {
	for _, q := range []struct {
		name string
		got  func(history.Attribute, int64) (history.Interval, bool, error)
		want func(history.Attribute, int64) (history.Interval, bool, refusals)
	}{
		{"Next", c.view.Next, c.oracle.next},
		{"Previous", c.view.Previous, c.oracle.previous},
		{"NextNonNull", c.view.NextNonNull, c.oracle.nextNonNull},
		{"Top", c.view.Top, c.oracle.top},
	} {
		want, is, r := q.want(a, t)
		got, ok, err := q.got(a, t)
		if c.refused(err, r, "%s(%d, %d)", q.name, a, t) {
			continue
		}
		if ok != is {
			c.Fatalf("%s: %s(%d, %d): %+v, %v; want %+v, %v", c.name, q.name, a, t, got, ok, want, is)
		}
		c.same(got, want, "%s(%d, %d)", q.name, a, t)
	}
}

func (c *checker) rangeOf(a history.Attribute, from, to int64, opts history.RangeOptions) {
	want, r := c.oracle.rangeOf(a, from, to, opts)
	var got []history.Interval
	var problem error
	for in, err := range c.view.Range(a, from, to, opts) {
		if problem = err; err != nil {
			break
		}
		got = append(got, in)
	}
	if c.refused(problem, r, "Range(%d, %d, %d, %+v)", a, from, to, opts) {
		if len(got) > 0 {
			c.Fatalf("%s: Range(%d, %d, %d, %+v): %d intervals before %v", c.name, a, from, to, opts, len(got), problem)
		}
		return
	}
	c.sameList(got, want, "Range(%d, %d, %d, %+v)", a, from, to, opts)
}

func (c *checker) sameList(got, want []history.Interval, what string, args ...any) {
	for i := range min(len(got), len(want)) {
		c.same(got[i], want[i], what+", interval %d of %d", append(args, i, len(want))...)
	}
	if len(got) != len(want) {
		c.Fatalf("%s: "+what+": %d intervals, want %d", append(append([]any{c.name}, args...), len(got), len(want))...)
	}
}

// oldSlices holds slices of any history and view, for reuse of their memory.
var oldSlices sync.Pool

func (c *checker) slice(t int64, attributes ...history.Attribute) {
	ask := func() (*history.Slice, error) { return c.view.Slice(t, attributes...) }
	if attributes == nil && t%2 == 0 {
		old, _ := oldSlices.Get().(*history.Slice)
		ask = func() (*history.Slice, error) { return c.view.SliceInto(old, t) }
	}
	s, err := ask()
	if attributes == nil && err == nil {
		defer oldSlices.Put(s)
	}
	var r refusals
	r.when(c.oracle.outside(t), history.ErrOutside)
	for _, a := range attributes {
		r = append(r, c.oracle.refuse(a)...)
	}
	if !c.refused(err, r, "Slice(%d, %v)", t, attributes) {
		c.slices(s, t, attributes)
	}
}

func (c *checker) slices(s *history.Slice, t int64, attributes []history.Attribute) {
	if attributes == nil {
		for a := range c.oracle.state.attributes {
			attributes = append(attributes, history.Attribute(a))
		}
	}
	if s.Len() != len(attributes) || history.Instant(s) != t {
		c.Fatalf("%s: slice of %d at %d, want %d at %d", c.name, s.Len(), history.Instant(s), len(attributes), t)
	}
	i := 0
	for a, got := range s.All() {
		if i >= len(attributes) || a != attributes[i] {
			c.Fatalf("%s: slice at %d: attribute %d in place %d", c.name, t, a, i)
		}
		want, _ := c.oracle.at(a, t)
		c.same(got, want, "Slice(%d), attribute %d", t, a)
		if i%64 == 0 { // All is built on Of
			of, err := s.Of(a)
			if err != nil {
				c.Fatalf("%s: Slice(%d).Of(%d): %v", c.name, t, a, err)
			}
			c.same(of, want, "Slice(%d).Of(%d)", t, a)
		}
		i++
	}
	if i != len(attributes) {
		c.Fatalf("%s: slice at %d: %d attributes, want %d", c.name, t, i, len(attributes))
	}
}

// move moves the checker's cursor, which keeps slices between questions.
func (c *checker) move(keep int, t int64) {
	if c.cursor == nil {
		var err error
		if c.cursor, err = c.view.Cursor(keep); err != nil {
			c.Fatalf("%s: Cursor(%d): %v", c.name, keep, err)
		}
		n := uint64(c.view.Len())
		c.some = []history.Attribute{} // 0 to 3 of them, by t
		for i := range min(n, uint64(t)%4) {
			c.some = append(c.some, history.Attribute((uint64(t)+7*i)%n))
		}
		if c.cursorOfSome, err = c.view.Cursor(keep, c.some...); err != nil {
			c.Fatalf("%s: Cursor(%d, %v): %v", c.name, keep, c.some, err)
		}
	}
	for _, m := range []struct {
		*history.Cursor
		attributes []history.Attribute
	}{{c.cursor, nil}, {c.cursorOfSome, c.some}} {
		s, err := m.MoveTo(t)
		var r refusals
		r.when(c.oracle.outside(t), history.ErrOutside)
		if !c.refused(err, r, "MoveTo(%d)", t) {
			c.slices(s, t, m.attributes)
		}
	}
}

// oldIntervals is like oldSlices.
var oldIntervals sync.Pool

func (c *checker) sample(attributes []history.Attribute, times []int64) {
	ask := c.view.Sample
	if len(attributes)%2 == 0 {
		old, _ := oldIntervals.Get().(*history.Intervals)
		ask = func(attributes []history.Attribute, times []int64) (*history.Intervals, error) {
			return c.view.SampleInto(old, attributes, times)
		}
	}
	got, err := ask(attributes, times)
	if err == nil {
		defer oldIntervals.Put(got)
	}
	var r refusals
	for _, a := range attributes {
		r = append(r, c.oracle.refuse(a)...)
	}
	for _, t := range times {
		r.when(c.oracle.outside(t), history.ErrOutside)
	}
	if c.refused(err, r, "Sample(%v, %v)", attributes, times) {
		return
	}
	at := 0
	for _, a := range attributes {
		want := c.oracle.sample(a, times)
		c.sameList(group(got, &at, a, len(want)), want, "Sample(%v, %v), attribute %d", attributes, times, a)
	}
	if at != got.Len() {
		c.Fatalf("%s: Sample(%v, %v): %d intervals, want %d", c.name, attributes, times, got.Len(), at)
	}
}

// group takes the intervals of an attribute from an answer, as many as expected.
func group(got *history.Intervals, at *int, a history.Attribute, want int) (list []history.Interval) {
	for ; *at < got.Len() && len(list) < want; *at++ {
		b, in := got.At(*at)
		if b != a {
			break
		}
		list = append(list, in)
	}
	return list
}

// pixels checks the contract of a picture: each column has an interval of each attribute that
// holds there, in order, and there are no more intervals than columns.
func (c *checker) pixels(attributes []history.Attribute, from, to int64, n int) {
	got, err := c.view.Pixels(attributes, from, to, n)
	var r refusals
	for _, a := range attributes {
		r = append(r, c.oracle.refuse(a)...)
	}
	r.when(c.oracle.outside(from) || c.oracle.outside(to), history.ErrOutside)
	r.when(to < from || n <= 0, history.ErrQuery)
	if c.refused(err, r, "Pixels(%v, %d, %d, %d)", attributes, from, to, n) {
		return
	}
	columns := uint64(n)
	if span := uint64(to) - uint64(from); span < columns {
		columns = span + 1
	}
	at := 0
	for _, a := range attributes {
		all, _ := c.oracle.rangeOf(a, from, to, history.RangeOptions{})
		var list []history.Interval
		for ; at < got.Len(); at++ {
			b, in := got.At(at)
			if b != a || len(list) > 0 && in.Start <= list[len(list)-1].End {
				break
			}
			i, found := slices.BinarySearchFunc(all, in.Start, func(in history.Interval, start int64) int {
				return compare(in.Start, start)
			})
			if !found {
				c.Fatalf("%s: Pixels(%v, %d, %d, %d), attribute %d: %+v is not in the range", c.name, attributes, from, to, n, a, in)
			}
			c.same(in, all[i], "Pixels(%v, %d, %d, %d), attribute %d", attributes, from, to, n, a)
			list = append(list, in)
		}
		if uint64(len(list)) > columns {
			c.Fatalf("%s: Pixels(%v, %d, %d, %d), attribute %d: %d intervals", c.name, attributes, from, to, n, a, len(list))
		}
		for i, k := uint64(0), 0; i < columns; i++ {
			lo, hi := pixel(from, to, columns, i)
			for k < len(list) && list[k].End < lo {
				k++
			}
			if k == len(list) || list[k].Start > hi {
				c.Fatalf("%s: Pixels(%v, %d, %d, %d), attribute %d: nothing in column %d, [%d, %d]",
					c.name, attributes, from, to, n, a, i, lo, hi)
			}
		}
	}
	if at != got.Len() {
		c.Fatalf("%s: Pixels(%v, %d, %d, %d): %d intervals, want %d", c.name, attributes, from, to, n, got.Len(), at)
	}
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
