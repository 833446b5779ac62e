package means

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Thirds and sixths add up exactly, whatever the order.
func TestTotal_Rounds(t *testing.T) {
	for want, parts := range map[int64][][2]int64{
		1: {{1, 3}, {1, 3}, {1, 3}}, -1: {{-1, 3}, {-1, 3}, {-1, 3}}, 2: {{3, 2}}, 0: {{1, 3}}, math.MaxInt64: {{math.MaxInt64, 1}}, -3: {{-5, 2}, {-1, 4}},
	} {
		var m Total
		for _, p := range parts {
			m.Add(p[0], p[1])
		}
		if m.Value() != want {
			t.Errorf("%v: %d, want %d", parts, m.Value(), want)
		}
	}
}

// A mean is within a half of that in floating point, and does not depend on the order in which its parts are
// added, nor on which parts with one number of times are added up before (M2).
func TestTotal_AnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		parts := make([][2]int64, 1+rng.IntN(8))
		want := 0.0
		for i := range parts {
			parts[i] = [2]int64{rng.Int64N(1e6) - 5e5, 1 + rng.Int64N(6)}
			want += float64(parts[i][0]) / float64(parts[i][1])
		}
		value := func() int64 {
			var m Total
			before := map[int64]int64{}
			for _, i := range rng.Perm(len(parts)) {
				if sum, times := parts[i][0], parts[i][1]; rng.IntN(2) == 0 {
					m.Add(sum, times)
				} else {
					before[times] += sum
				}
			}
			for times, sum := range before {
				m.Add(sum, times)
			}
			return m.Value()
		}
		first := value()
		if math.Abs(float64(first)-want) > 0.5+1e-6 {
			t.Fatalf("%v: %d, want %f", parts, first, want)
		}
		for range 5 {
			if again := value(); again != first {
				t.Fatalf("%v: %d, and in another order %d", parts, first, again)
			}
		}
	}
}
