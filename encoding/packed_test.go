package encoding

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A number divides its multiples and nothing else, with any power of two in it. Words near a
// multiple are not multiples.
func TestDivides(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 71))
	for range 20_000 {
		by := rng.Uint64()>>rng.IntN(64) | 1
		by <<= rng.IntN(64)
		if by == 0 {
			continue
		}
		d := divide(by)
		times := rng.Uint64() >> rng.IntN(64) % (^uint64(0)/by + 1 | 1)
		for _, v := range []uint64{0, by, by * times, by*times + 1, by*times - 1, by / 2, by << 1, rng.Uint64(), ^uint64(0), 1 << 63} {
			if got, want := d.divides(v), v%by == 0; got != want {
				t.Fatalf("%d divides %d: %v, want %v", by, v, got, want)
			}
			if v%by == 0 && d.exact(v) != v/by {
				t.Fatalf("%d / %d = %d, want %d", v, by, d.exact(v), v/by)
			}
		}
	}
}

func TestDivisor(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 73))
	for range 2_000 {
		step, low := 1+rng.Uint64()>>(20+rng.IntN(44)), rng.Uint64()
		words := make([]uint64, 2+rng.IntN(100))
		want := uint64(0)
		for i := range words {
			words[i] = low + step*(rng.Uint64()>>(44+rng.IntN(20)))
			for a, b := want, words[i]-low; ; {
				if b == 0 {
					want = a
					break
				}
				a, b = b, a%b
			}
		}
		if want == 0 {
			continue // all are equal
		}
		if got := divisor(words, low); got != want {
			t.Fatalf("divisor of %d above %d: %d, want %d", words, low, got, want)
		}
	}
}

// TestUnpack reads words of every width from every place in a byte, as the slower
// form does.
func TestUnpack(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	for width := uint(1); width <= 64; width++ {
		for bit := range 70 {
			n := rng.IntN(40)
			src := make([]uint64, packedLen(n, int(width))+bit/64+2)
			for i := range src {
				src[i] = rng.Uint64()
			}
			got, want := make([]uint64, n), make([]uint64, n)
			unpack(got, src, bit, width)
			unpackWide(want, src, bit, width)
			if !slices.Equal(got, want) {
				t.Fatalf("%d words of %d bits from bit %d on: %x, want %x", n, width, bit, got, want)
			}
		}
	}
}
