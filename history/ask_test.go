package history_test

import (
	"math/rand/v2"
	"slices"

	"github.com/granarydb/granary/history"
)

// The questions of a checker.

// whole compares everything in a small view.
func (c *checker) whole(rng *rand.Rand) {
	c.Helper()
	first, last := c.oracle.start, c.oracle.end()
	var all []history.Attribute
	var times []int64
	for i := range c.oracle.state.attributes {
		a := history.Attribute(i)
		all = append(all, a)
		c.rangeOf(a, first, last, history.RangeOptions{})
		c.rangeOf(a, first, last, history.RangeOptions{Reverse: true})
		c.oracle.each(a, func(in history.Interval) bool {
			for _, t := range []int64{in.Start - 1, in.Start, in.End, in.End + 1} { // may overflow
				c.at(a, t)
				if rng.IntN(4) == 0 {
					c.neighbours(a, t)
				}
				if rng.IntN(16) == 0 {
					times = append(times, t)
				}
			}
			return true
		})
	}
	for _, t := range append(times, first, last) {
		c.move(1+rng.IntN(3), t)
		if rng.IntN(4) == 0 {
			c.slice(t)
			c.slice(t, all[:rng.IntN(len(all)+1)]...)
		}
	}
	inside := slices.DeleteFunc(times, c.oracle.outside)
	c.sample(all, inside)
	from, to := c.drawTime(rng), c.drawTime(rng)
	c.rangeOf(0, from, to, history.RangeOptions{Reverse: rng.IntN(2) == 0, Resolution: rng.Int64N(9) - 1})
	c.pixels(all, from, to, rng.IntN(20))
}

// ask asks that many random questions of each kind. Slices of all attributes are fewer, since
// each has as many answers as attributes.
func (c *checker) ask(rng *rand.Rand, questions int) {
	c.Helper()
	if !c.view.Instants() {
		return
	}
	slicesOfAll := min(questions, questions*50/c.view.Len()+3)
	keep := 1 + rng.IntN(4)
	for q := range questions {
		a, t := c.drawAttribute(rng), c.drawTime(rng)
		c.at(a, t)
		c.at(a, c.drawEdge(rng, a))
		c.neighbours(a, t)
		from, to := t, c.drawTime(rng)
		if rng.IntN(50) > 0 && to < from {
			from, to = to, from
		}
		c.rangeOf(a, from, to, history.RangeOptions{Reverse: rng.IntN(2) == 0, Resolution: drawResolution(rng, from, to)})
		some := make([]history.Attribute, 1+rng.IntN(8))
		for i := range some {
			some[i] = c.drawAttribute(rng)
		}
		c.slice(t, some...)
		times := make([]int64, rng.IntN(40))
		for i := range times {
			times[i] = c.drawTime(rng)
		}
		c.sample(some, times)
		c.pixels(some, from, to, rng.IntN(50))
		if q < slicesOfAll {
			c.slice(t)
			c.move(keep, c.drawTime(rng))
		}
	}
}

// drawResolution returns 0, for none, or up to a share of the range.
func drawResolution(rng *rand.Rand, from, to int64) int64 {
	span := uint64(to) - uint64(from)
	if to < from || rng.IntN(2) == 0 {
		return 0
	}
	return rng.Int64N(int64(min(span, 1<<62)/(1+rng.Uint64N(100))) + 2)
}

// drawAttribute returns any attribute, or the busiest of a few, or rarely an unknown one.
func (c *checker) drawAttribute(rng *rand.Rand) history.Attribute {
	attributes := c.oracle.state.attributes
	switch rng.IntN(200) {
	case 0:
		return history.Attribute(len(attributes))
	case 1:
		return history.Top
	}
	a := rng.IntN(len(attributes))
	if rng.IntN(3) == 0 {
		for range 16 {
			if b := rng.IntN(len(attributes)); len(attributes[b].done) > len(attributes[a].done) {
				a = b
			}
		}
	}
	return history.Attribute(a)
}

// drawEdge returns an end of an interval of an attribute, or an instant beside it.
func (c *checker) drawEdge(rng *rand.Rand, a history.Attribute) int64 {
	if int(a) >= len(c.oracle.state.attributes) {
		return c.oracle.end()
	}
	if done := c.oracle.state.attributes[a].done; len(done) > 0 {
		return done[rng.IntN(len(done))].End + rng.Int64N(3) - 1
	}
	return c.oracle.start
}

// drawTime returns an end or an instant beside one, any instant, or rarely one outside of the
// view.
func (c *checker) drawTime(rng *rand.Rand) int64 {
	end := c.oracle.end()
	switch rng.IntN(100) {
	case 0:
		return end + rng.Int64N(3)
	case 1:
		return c.oracle.start + rng.Int64N(3) - 1
	case 2:
		return end
	}
	if n := len(c.oracle.state.attributes); n > 0 && rng.IntN(2) == 0 {
		if t := c.drawEdge(rng, history.Attribute(rng.IntN(n))); t >= c.oracle.start && t <= end {
			return t
		}
	}
	return between(rng, c.oracle.start, end)
}

// between returns an instant from lo to hi, which may be 64 bits apart.
func between(rng *rand.Rand, lo, hi int64) int64 {
	if hi < lo {
		return lo
	}
	if span := uint64(hi) - uint64(lo) + 1; span != 0 {
		return int64(uint64(lo) + rng.Uint64N(span))
	}
	return int64(rng.Uint64())
}
