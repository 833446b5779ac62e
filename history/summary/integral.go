package summary

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/granarydb/granary/history"
)

// integral is a sum of values, each times the instants that it held. 0 instants mean 2^64. For ints and
// bools it is exact, because 2^64 instants with 64-bit values fit 128 bits. For floats it is a sum of two
// floats, where the second corrects the first, so it is off by less than 2^-90 of the sum of the
// magnitudes. Values that are not finite are kept apart.
type integral struct {
	hi, lo uint64 // a 128-bit int, or two floats
	odd    byte   // which infinities and NaNs there were
}

const (
	oddNaN = 1 << iota
	oddPlus
	oddMinus
)

func (s *integral) addInt(v int64, time uint64) {
	hi, lo := bits.Mul64(uint64(v), time)
	if v < 0 {
		hi -= time
	}
	if time == 0 {
		hi = uint64(v)
	}
	s.addWide(hi, lo)
}

func (s *integral) addWide(hi, lo uint64) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi, _ = bits.Add64(s.hi, hi, carry)
}

func (s *integral) addFloat(v float64, time uint64) {
	switch {
	case math.IsNaN(v):
		s.odd |= oddNaN
		return
	case math.IsInf(v, 1):
		s.odd |= oddPlus
		return
	case math.IsInf(v, -1):
		s.odd |= oddMinus
		return
	}
	// Each half of the time converts to a float without rounding.
	high, low := float64(time>>32)*(1<<32), float64(time&math.MaxUint32)
	if time == 0 {
		high = 1 << 64
	}
	s.addProduct(v, high)
	if low != 0 {
		s.addProduct(v, low)
	}
}

// addProduct adds v*t and the product's rounding error.
func (s *integral) addProduct(v, t float64) {
	product := v * t
	s.addPair(product, math.FMA(v, t, -product))
}

// addPair adds a float and a small float.
func (s *integral) addPair(b, small float64) {
	a, low := math.Float64frombits(s.hi), math.Float64frombits(s.lo)
	sum := a + b
	if math.IsInf(sum, 0) || math.IsInf(a, 0) {
		s.hi, s.lo = math.Float64bits(sum), 0 // too large from here on
		return
	}
	rest := sum - a
	low += (a - (sum - rest)) + (b - rest) + small
	s.hi = math.Float64bits(sum + low)
	s.lo = math.Float64bits(low - (sum + low - sum))
}

func (s *integral) merge(kind history.Kind, o *integral) {
	s.odd |= o.odd
	if kind == history.KindFloat {
		s.addPair(math.Float64frombits(o.hi), math.Float64frombits(o.lo))
		return
	}
	s.addWide(o.hi, o.lo)
}

// mean returns the sum divided by time.
func (s *integral) mean(kind history.Kind, time uint64) float64 {
	t := float64(time)
	if time == 0 {
		t = 1 << 64
	}
	if kind == history.KindFloat {
		switch s.odd {
		case 0:
			return math.Float64frombits(s.hi) / t
		case oddPlus:
			return math.Inf(1)
		case oddMinus:
			return math.Inf(-1)
		}
		return math.NaN()
	}
	hi, lo, sign := s.hi, s.lo, 1.0
	if int64(hi) < 0 {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
		sign = -1
	}
	return sign * (float64(hi)*(1<<64) + float64(lo)) / t
}

func (s *integral) append(b []byte, kind history.Kind) []byte {
	if kind == history.KindFloat {
		b = append(binary.LittleEndian.AppendUint64(b, s.hi), s.odd)
	} else {
		b = binary.AppendVarint(b, int64(s.hi))
	}
	return binary.LittleEndian.AppendUint64(b, s.lo)
}

func (s *integral) read(b []byte, kind history.Kind) {
	if kind == history.KindFloat {
		s.hi, s.odd, b = binary.LittleEndian.Uint64(b), b[8], b[9:]
	} else {
		x, n := binary.Varint(b)
		s.hi, b = uint64(x), b[n:]
	}
	s.lo = binary.LittleEndian.Uint64(b)
}
