package encoding

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// widest is the greatest code of each width, by width less 1.
var widest = [...]uint32{1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1}

// TestNarrow reads codes of all widths back, at every distance from the end of what there is
// to read, and finds each of them.
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
				if code > 1<<24 { // the set would be large
					continue
				}
				for n := range len(codes) + 1 {
					want := min(k, n)
					set := make([]uint64, code/64+1)
					set[code/64] |= 1 << (code % 64)
					if got := c.first(n, set); got != want {
						t.Fatalf("width %d, %d bytes behind: %d is the first of %d at %d, want %d", width, behind, code, n, got, want)
					}
				}
			}
		}
	}
}

// TestFront_With finds lists of codes of all widths, of which none is as the one before.
func TestFront_With(t *testing.T) {
	for _, most := range []uint32{100, 1 << 10, 1 << 17, 1 << 25} {
		t.Run(fmt.Sprint("most=", most), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(most)))
			var f frontCoded
			var lists [][]uint32
			wanted := make([]uint64, most/2/64+1) // greater codes are of elements that came later
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
				for range rng.IntN(8) {
					list = append(list, 1+rng.Uint32N(most)>>rng.IntN(20))
				}
				lists = append(lists, list[:min(len(list), 40)])
				if err := f.add(lists[len(lists)-1]); err != nil {
					t.Fatal(err)
				}
			}
			found := make([]uint64, len(lists)/64+1)
			for lo := 0; lo < len(lists); lo += 3 * restart {
				f.with(found, lo, min(lo+3*restart, len(lists)), wanted)
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
