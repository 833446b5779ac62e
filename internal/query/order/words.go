package order

import (
	"math"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// Words replaces words of a fixed type with unsigned integers that compare like their values. The order of
// floats is the order of conditions: a NaN is below every number, and -0 is below 0.
func Words(t encoding.Type, words []uint64) {
	switch t {
	case encoding.Int64:
		for i, w := range words {
			words[i] = schema.OrderedWord(encoding.Int64, w)
		}
	case encoding.Float64:
		for i, w := range words {
			words[i] = Float(encoding.ToFloat64(w))
		}
	}
}

// Float returns the word that Words makes for f.
func Float(f float64) uint64 {
	if f != f {
		return 0 // the word of -Inf is greater
	}
	return schema.OrderedWord(encoding.Float64, encoding.FromFloat64(f))
}

// Unordered is the inverse of Words. All NaNs become the same NaN.
func Unordered(t encoding.Type, ordered uint64) uint64 {
	switch {
	case t == encoding.Int64:
		return ordered ^ 1<<63
	case t == encoding.Float64 && ordered == 0:
		return encoding.FromFloat64(math.NaN())
	case t == encoding.Float64 && ordered>>63 == 1:
		return ordered ^ 1<<63
	case t == encoding.Float64:
		return ^ordered
	}
	return ordered
}
