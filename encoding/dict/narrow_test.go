package dict

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/granarydb/granary/internal/effort"
)

// widest is the greatest code of each width, by width less 1.
var widest = [...]uint32{1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1}

// TestNarrow reads codes of all widths back, at every distance from the end of the memory.
func TestNarrow(t *testing.T) {
	for width := 1; width <= 4; width++ {
		codes := []uint32{1, widest[width-1], 7, widest[width-1] - 1, 0, widest[width-1] / 3, 9}
		if got := widthOf(codes); got != width {
			t.Fatalf("%d: width %d, want %d", codes, got, width)
		}
		for behind := range 10 {
			bytes := append(appendNarrow(nil, codes, width), slices.Repeat([]byte{0xff}, behind)...)
			c := narrow{slices.Clip(bytes), width}
			for k, code := range codes {
				if got := c.at(k); got != code {
					t.Fatalf("width %d: code %d is %d, want %d", width, k, got, code)
				}
			}
		}
	}
}

// TestMarks_First finds each code among codes of all widths and numbers, after any bytes and
// at every distance from the start of the memory.
func TestMarks_First(t *testing.T) {
	apart := 1
	if effort.Brief() { // one goroutine looks
		apart = 7
	}
	for width := 1; width <= 4; width++ {
		for n := range 30 {
			var codes []uint32
			for k := range n {
				codes = append(codes, uint32(k)+min(widest[width-1], 1<<17)-29)
			}
			for before := 0; before < 30; before += apart {
				// The bytes before are those of a marked code.
				b := slices.Repeat([]byte{1}, before)
				b = appendNarrow(b, codes, width)
				for k := range n + 1 {
					var set []uint64
					for _, code := range append(codes[k:], 1, 1<<8+1, 1<<16+1<<8+1) {
						set = withBit(set, code)
					}
					m := newMarks(1<<18, set)
					if got := m.first(b, n, width); got != k {
						t.Fatalf("width %d, %d bytes before: of %d codes the first is at %d, want %d", width, before, n, got, k)
					}
					m.done()
				}
			}
		}
	}
}

// withBit returns a set with one more code.
func withBit(set []uint64, code uint32) []uint64 {
	set = append(set, make([]uint64, max(0, int(code/64)+1-len(set)))...)
	set[code/64] |= 1 << (code % 64)
	return set
}

// TestMarks_Kept keeps no mark of an earlier set, of any size.
func TestMarks_Kept(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 50 {
		most := 1 + rng.IntN(1<<rng.IntN(22))
		var set []uint64
		for range 20 {
			set = withBit(set, rng.Uint32N(2*uint32(most)))
		}
		m := newMarks(most, set)
		if len(m.of) <= most {
			t.Fatalf("%d places for codes up to %d", len(m.of), most)
		}
		for code, mark := range m.of {
			if want := byte(bit(isSet(set, uint32(code)))); mark != want {
				t.Fatalf("of codes up to %d, %d is marked %d, want %d", most, code, mark, want)
			}
		}
		m.done()
	}
}

// isSet reports whether a set of codes, which may be too short for all codes, has one.
func isSet(set []uint64, code uint32) bool {
	return int(code/64) < len(set) && set[code/64]>>(code%64)&1 == 1
}

// TestFront_With finds lists of codes of all widths, of which none is as the one before.
func TestFront_With(t *testing.T) {
	for _, most := range []uint32{100, 1 << 10, 1 << 17, 1 << 25} {
		t.Run(fmt.Sprint("most=", most), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(most)))
			var f frontCoded
			var lists [][]uint32
			wanted := make([]uint64, most/2/64+1)
			for range len(wanted) {
				code := rng.Uint32N(most / 2)
				wanted[code/64] |= 1 << (code % 64)
			}
			for range 2000 {
				var list []uint32
				if n := len(lists); n > 0 {
					before := lists[n-1]
					list = slices.Clone(before[:rng.IntN(len(before)+1)])
				}
				for range rng.IntN(8) << (3 * rng.IntN(2) * rng.IntN(2)) { // seldom more than 32
					list = append(list, rng.Uint32N(most)>>rng.IntN(20))
				}
				lists = append(lists, list[:min(len(list), 80)])
				if err := f.add(lists[len(lists)-1]); err != nil {
					t.Fatal(err)
				}
			}
			found := make([]uint64, len(lists)/64+1)
			m := newMarks(int(most), wanted)
			defer m.done()
			for lo := 0; lo < len(lists); lo += 3 * restart {
				f.with(found, lo, min(lo+3*restart, len(lists)), m)
			}
			for i, list := range lists {
				want := slices.ContainsFunc(list, func(code uint32) bool { return isSet(wanted, code) })
				if got := isSet(found, uint32(i+1)); got != want {
					t.Fatalf("list %d, %d: %v, want %v", i, list, got, want)
				}
			}
		})
	}
}
