package tile

import (
	"math/rand/v2"
	"testing"
)

// TestPack packs numbers of each width behind each other, and reads them as tiles do: each
// survives, and only seven zero bytes follow them.
func TestPack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const from = 5
	for width := range uint(65) {
		for n := range 70 {
			numbers := make([]uint64, n)
			for i := range numbers {
				numbers[i] = rng.Uint64() & Ones(width)
				if rng.IntN(3) == 0 {
					numbers[i] = Ones(width)
				}
			}
			want := append([]uint64(nil), numbers...)
			c := new(Chunk)
			for i := range c[:1000] {
				c[i] = 0xaa
			}
			size := PackedBytes(n, width)
			if behind := pack(c[:], from, numbers, width); behind != from+size {
				t.Fatalf("%d numbers of %d bits: offset %d, want %d", n, width, behind, from+size)
			}
			for i, x := range want {
				if got := c.UnpackWide(from, i, width); got != x {
					t.Fatalf("number %d of %d of %d bits is %x, want %x", i, n, width, got, x)
				}
			}
			for i, b := range c[:1000] {
				if b != 0xaa && (i < from || i >= from+size+7 || i >= from+size && b != 0) {
					t.Fatalf("%d numbers of %d bits: byte %d behind them is %x", n, width, i-from-size, b)
				}
			}
		}
	}
}
