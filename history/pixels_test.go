package history

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/granarydb/granary/internal/effort"
)

// TestPixelTimes compares the instants with big arithmetic: the middle of part i of N instants
// is (2i+1)N/2n behind the first.
func TestPixelTimes(t *testing.T) {
	effort.Alone(t)
	check := func(from, to int64, pixels int) {
		t.Helper()
		n := new(big.Int).Add(new(big.Int).Sub(big.NewInt(to), big.NewInt(from)), big.NewInt(1))
		if n.Cmp(big.NewInt(int64(pixels))) <= 0 {
			return // at every instant
		}
		times := PixelTimes(from, to, pixels)
		if len(times) != pixels {
			t.Fatalf("%d to %d in %d: %d instants", from, to, pixels, len(times))
		}
		for i, got := range times {
			want := new(big.Int).Mul(n, big.NewInt(int64(2*i+1)))
			want.Add(want.Div(want, big.NewInt(int64(2*pixels))), big.NewInt(from))
			if want.Cmp(big.NewInt(got)) != 0 {
				t.Fatalf("%d to %d in %d: instant %d is %d, want %v", from, to, pixels, i, got, want)
			}
		}
	}
	for _, pixels := range []int{1, 2, 3, 1000, effort.Less(1<<20, 16)} {
		check(math.MinInt64, math.MaxInt64, pixels)
		check(math.MinInt64, math.MaxInt64-1, pixels)
		check(math.MinInt64, 0, pixels)
		check(0, 1<<21, pixels)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range effort.Less(2000, 4) {
		from, to := int64(rng.Uint64())>>rng.IntN(64), int64(rng.Uint64())>>rng.IntN(64)
		check(min(from, to), max(from, to), 1+rng.IntN(200))
	}
}
