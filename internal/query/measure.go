package query

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/query/order"
)

// measure is an Aggregate in the making: a cell for each group.
type measure struct {
	Aggregate
	typ   encoding.Type // of the result
	input *byColumn     // the values; nil: rows
	groupFold
	cells []cell
}

// cell is an aggregate's state for one group: the number of values, and for an integer sum 128 bits, for
// one of floats the sum and its error, for an extreme its word.
type cell struct {
	count int64
	a, b  uint64
}

const cellSize = 24

// groupFold is a function of an aggregate, over any number of groups at once.
type groupFold struct {
	// fold adds the word of each row to the cell of its group. Null rows are left out before.
	fold func(cells []cell, groups []int32, words []uint64)
	// merge adds other values to a cell.
	merge func(to, from *cell)
	// ordered asks for words as order.Words makes them.
	ordered bool
}

// newGroupFold returns the function of an aggregate of words of a type. Words of a type that is not fixed
// are codes in the dictionary.
func newGroupFold(op AggregateOp, t encoding.Type, dict *queryDicts) groupFold {
	switch {
	case op == Count:
		return groupFold{fold: foldCount, merge: mergeCount}
	case (op == Sum || op == Mean) && t == encoding.Int64:
		return groupFold{fold: foldInts, merge: mergeInts}
	case (op == Sum || op == Mean) && t == encoding.Uint64:
		return groupFold{fold: foldUints, merge: mergeInts}
	case op == Sum || op == Mean:
		return groupFold{fold: foldFloats, merge: mergeFloats}
	case t.Fixed() && op == Min:
		return newExtreme(true, func(x, y uint64) bool { return x < y })
	case t.Fixed():
		return newExtreme(true, func(x, y uint64) bool { return x > y })
	}
	value := func(code uint64) []byte { return dict.strings().Value(uint32(code)) }
	if op == Min {
		return newExtreme(false, func(x, y uint64) bool { return x != y && bytes.Compare(value(x), value(y)) < 0 })
	}
	return newExtreme(false, func(x, y uint64) bool { return x != y && bytes.Compare(value(x), value(y)) > 0 })
}

func foldCount(cells []cell, groups []int32, _ []uint64) {
	for _, g := range groups {
		cells[g].count++
	}
}

func mergeCount(to, from *cell) { to.count += from.count }

// foldInts adds signed integers to sums of 128 bits, with the lower half in a. A sum cannot overflow on
// the way, because it has 128 bits, so the order of the rows changes nothing.
func foldInts(cells []cell, groups []int32, words []uint64) {
	words = words[:len(groups)]
	for i, g := range groups {
		c, carry := &cells[g], uint64(0)
		c.count++
		c.a, carry = bits.Add64(c.a, words[i], 0)
		c.b += uint64(int64(words[i])>>63) + carry
	}
}

func foldUints(cells []cell, groups []int32, words []uint64) {
	words = words[:len(groups)]
	for i, g := range groups {
		c, carry := &cells[g], uint64(0)
		c.count++
		c.a, carry = bits.Add64(c.a, words[i], 0)
		c.b += carry
	}
}

func mergeInts(to, from *cell) {
	var carry uint64
	to.count += from.count
	to.a, carry = bits.Add64(to.a, from.a, 0)
	to.b += from.b + carry
}

// foldFloats adds floats with their rounding errors: see Aggregate.
func foldFloats(cells []cell, groups []int32, words []uint64) {
	words = words[:len(groups)]
	for i, g := range groups {
		c := &cells[g]
		c.count++
		c.addFloat(math.Float64frombits(words[i]))
	}
}

// addFloat adds x to a, and the rounding error of the addition to b (Knuth, TwoSum).
func (c *cell) addFloat(x float64) {
	sum := math.Float64frombits(c.a)
	next := sum + x
	of := next - sum // the part of x that reached the sum
	lost := (sum - (next - of)) + (x - of)
	c.a, c.b = math.Float64bits(next), math.Float64bits(math.Float64frombits(c.b)+lost)
}

func mergeFloats(to, from *cell) {
	to.count += from.count
	to.addFloat(math.Float64frombits(from.a))
	to.b = math.Float64bits(math.Float64frombits(to.b) + math.Float64frombits(from.b))
}

// float returns the sum of floats.
func (c *cell) float() float64 {
	sum, lost := math.Float64frombits(c.a), math.Float64frombits(c.b)
	switch all := sum + lost; {
	case sum != sum:
		return math.NaN() // of one sign
	case math.IsInf(sum, 0) || all != all: // where it left the range of floats, lost is NaN
		return sum
	default:
		return all
	}
}

// newExtreme returns Min or Max, by the order of words.
func newExtreme(ordered bool, before func(x, y uint64) bool) groupFold {
	return groupFold{
		ordered: ordered,
		fold: func(cells []cell, groups []int32, words []uint64) {
			for i, g := range groups {
				c := &cells[g]
				if c.count == 0 || before(words[i], c.a) {
					c.a = words[i]
				}
				c.count++
			}
		},
		merge: func(to, from *cell) {
			if from.count > 0 && (to.count == 0 || before(from.a, to.a)) {
				to.a = from.a
			}
			to.count += from.count
		},
	}
}

// word returns the result of a cell that has values, as a word of the result's type.
func (m *measure) word(c *cell) (uint64, error) {
	switch {
	case m.Op == Count:
		return encoding.FromInt64(c.count), nil
	case m.Op == Mean:
		return encoding.FromFloat64(m.mean(c)), nil
	case m.Op == Sum && m.typ == encoding.Float64:
		return encoding.FromFloat64(c.float()), nil
	case m.Op == Sum && m.typ == encoding.Uint64 && c.b != 0,
		m.Op == Sum && m.typ == encoding.Int64 && int64(c.b) != int64(c.a)>>63:
		return 0, fmt.Errorf("%w: %v of %d values is beyond %v; mean is not", ErrOverflow, m.Aggregate, c.count, m.typ)
	case m.ordered:
		return order.Unordered(m.typ, c.a), nil
	}
	return c.a, nil
}

// mean returns the mean of a cell that has values.
func (m *measure) mean(c *cell) float64 {
	n := uint64(c.count)
	if m.input.typ == encoding.Float64 {
		return c.float() / float64(n)
	}
	lo, hi := c.a, c.b
	negative := m.input.typ == encoding.Int64 && int64(hi) < 0
	if negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	whole, rest := bits.Div64(hi, lo, n) // hi < n: no value has more than 64 bits
	mean := float64(whole) + float64(rest)/float64(n)
	if negative {
		return -mean
	}
	return mean
}
