package order

import (
	"math"
	"slices"
	"testing"

	"github.com/granarydb/granary/encoding"
)

// Words of a fixed type are in the order of their values, a NaN before every number and -0
// before 0, and come back.
func TestWords(t *testing.T) {
	floats := []float64{math.NaN(), math.Inf(-1), -1, -math.SmallestNonzeroFloat64, math.Copysign(0, -1), 0, math.SmallestNonzeroFloat64, 1, math.Inf(1)}
	ints := []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}
	uints := []uint64{0, 1, 1 << 63, math.MaxUint64}
	words := map[encoding.Type][]uint64{encoding.Uint64: uints, encoding.Bool: {0, 1}}
	for _, f := range floats {
		words[encoding.Float64] = append(words[encoding.Float64], encoding.FromFloat64(f))
	}
	for _, i := range ints {
		words[encoding.Int64] = append(words[encoding.Int64], encoding.FromInt64(i))
	}
	for typ, sorted := range words {
		ordered := slices.Clone(sorted)
		Words(typ, ordered)
		if !slices.IsSorted(ordered) || len(slices.Compact(slices.Clone(ordered))) != len(ordered) {
			t.Errorf("%v: %x is not in order", typ, ordered)
		}
		for i, w := range ordered {
			if got := Unordered(typ, w); got != sorted[i] {
				t.Errorf("%v: %x comes back as %x", typ, sorted[i], got)
			}
		}
	}
	other := []uint64{math.Float64bits(math.NaN()) | 1<<63}
	if Words(encoding.Float64, other); other[0] != 0 {
		t.Errorf("another NaN becomes %x", other[0])
	}
}
