package encoding

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Words of every width, in slices: read together and one by one, and compared.
func TestSliced(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for width := 1; width <= 64; width++ {
		most := ^uint64(0) >> (64 - width)
		for _, n := range []int{1, 7, 8, 9, 63, 64, 65, 100, 127, 128} {
			words := make([]uint64, n)
			for i := range words {
				words[i] = r.Uint64() & most
			}
			src := make([]uint64, slicedLen(n, width))
			putSliced(src, words, width)
			got := slices.Repeat([]uint64{7}, n)
			if readSliced(got, src, width); !slices.Equal(got, words) {
				t.Fatalf("%d words of %d bits: %v, want %v", n, width, got, words)
			}
			from, to := r.Uint64()&most, r.Uint64()&most
			for i, word := range words {
				if got := slicedAt(src, i, uint(width)); got != word {
					t.Fatalf("word %d of %d of %d bits: %d, want %d", i, n, width, got, word)
				}
				in := slicedInRange(src[i/64*width:(i/64+1)*width], from, to)>>(i%64)&1 != 0
				if want := from <= word && word <= to; in != want {
					t.Fatalf("%d of %d bits in %d to %d: %v", word, width, from, to, in)
				}
			}
		}
	}
}

// EncodeOrdinals takes slices where nothing else has less than four fifths of their size.
func TestEncodeOrdinals(t *testing.T) {
	for name, tt := range map[string]struct {
		ordinal func(r *rand.Rand, i int) uint64
		want    layout
	}{
		"any":                      {func(r *rand.Rand, _ int) uint64 { return r.Uint64N(87) }, layoutSliced},
		"any of a series, others":  {func(r *rand.Rand, i int) uint64 { return uint64(i)/1000*30 + r.Uint64N(30) }, layoutSliced},
		"each of a series in turn": {func(_ *rand.Rand, i int) uint64 { return uint64(i % 87) }, layoutRises},
		"two":                      {func(_ *rand.Rand, i int) uint64 { return uint64(i) / 2500 }, layoutRuns},
		"one":                      {func(*rand.Rand, int) uint64 { return 3 }, layoutPacked},
	} {
		r := rand.New(rand.NewPCG(1, 1))
		words := counted(5000, func(i uint64) uint64 { return tt.ordinal(r, int(i)) })
		if got := EncodeOrdinals(words); got.layout != tt.want {
			t.Errorf("%s: %v, want %v", name, got.layout, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		words := drawWords(t)
		w, other := EncodeOrdinals(words), Encode(DictionaryRLE, words)
		checkWords(t, &w, words)
		if slack := other.Size()*2/5 + blocksSize; w.Size() > other.Size()+slack {
			t.Errorf("%v of %d bytes, %v has %d", w.layout, w.Size(), other.layout, other.Size())
		}
	})
}
