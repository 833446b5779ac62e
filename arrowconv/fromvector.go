package arrowconv

import (
	"fmt"

	"github.com/apache/arrow/go/v14/arrow"

	"github.com/granarydb/granary/encoding"
)

// appendVector appends a vector's rows.
func (c *column) appendVector(v *encoding.Vector) error {
	if err := c.checkType(v.Type); err != nil {
		return err
	}
	if v.Type == encoding.UUIDList {
		return fmt.Errorf("a vector of type %v", v.Type)
	}
	if v.Valid != nil && len(v.Valid) != v.Len() {
		return fmt.Errorf("%d values and %d valid flags", v.Len(), len(v.Valid))
	}
	if v.Type.Fixed() && c.runs == nil {
		c.cells.appendVector(v)
		return nil
	}
	for lo := 0; lo < v.Len(); {
		hi := lo + 1
		for hi < v.Len() && sameRow(v, lo, hi) {
			hi++
		}
		if err := c.times(hi-lo, func(n int) error { return c.cells.value(v, lo, n) }); err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

// appendVector appends the rows of a vector of a fixed type.
func (c *cells) appendVector(v *encoding.Vector) {
	c.reserve(v.Len())
	if v.Type == encoding.Int64 && v.Valid == nil {
		copy(c.words.grow(8*v.Len()), arrow.Int64Traits.CastToBytes(v.Int64s))
		c.n += v.Len()
		return
	}
	var words [512]uint64
	for lo := 0; lo < v.Len(); lo += len(words) {
		n := min(len(words), v.Len()-lo)
		for i := range n {
			words[i] = wordOf(v, lo+i)
		}
		var valid []bool
		if v.Valid != nil {
			valid = v.Valid[lo : lo+n]
		}
		c.appendFixed(words[:n], valid)
	}
}

// sameRow reports whether two rows of a vector are equal.
func sameRow(v *encoding.Vector, i, j int) bool {
	if v.Null(i) || v.Null(j) {
		return v.Null(i) && v.Null(j)
	}
	switch v.Type {
	case encoding.String:
		return v.Strings[i] == v.Strings[j]
	case encoding.UUID:
		return v.UUIDs[i] == v.UUIDs[j]
	}
	return wordOf(v, i) == wordOf(v, j)
}

// wordOf returns the value in row i of v, whose type is fixed, as a 64-bit word.
func wordOf(v *encoding.Vector, i int) uint64 {
	switch v.Type {
	case encoding.Int64:
		return encoding.FromInt64(v.Int64s[i])
	case encoding.Uint64:
		return v.Uint64s[i]
	case encoding.Float64:
		return encoding.FromFloat64(v.Float64s[i])
	default:
		return encoding.FromBool(v.Bools[i])
	}
}

// value appends row i of a vector n times.
func (c *cells) value(v *encoding.Vector, i, n int) error {
	switch {
	case v.Null(i):
		return c.nulls(n)
	case v.Type == encoding.String:
		return repeatValue(c, v.Strings[i], n)
	case v.Type == encoding.UUID:
		return repeatValue(c, v.UUIDs[i][:], n)
	}
	return c.constant(nil, wordOf(v, i), n)
}
