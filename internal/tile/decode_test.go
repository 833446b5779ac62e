package tile

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDecode reads tiles entry by entry and by runs: the same ends and words, of all widths, with nulls and dictionaries.
func TestDecode(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var s Sealer
	flags := map[byte]int{}
	for round := range 400 {
		chunks := Chunks{Tiles: map[*Chunk]int{}}
		n := 1 + rng.IntN(Entries)
		run := s.Room(n)
		at := int64(rng.Uint64()) >> 2
		distinct, width := 1+rng.Uint64N(1<<rng.IntN(10)), rng.IntN(65)
		for i := range n {
			at += rng.Int64N(1 << rng.IntN(1+round%50))
			slot, word := uint8(rng.IntN(1+round%Slots)), rng.Uint64N(distinct)*hash>>(64-width)
			if round%3 == 0 && rng.IntN(5) == 0 {
				slot |= Null
			}
			run.At[i], run.Slots[i] = End{at, word}, slot
		}
		slices.SortStableFunc(run.At, func(a, b End) int { return cmp.Compare(a.End, b.End) })
		r := s.Tile(&chunks, run)
		var tl Tile
		tl.Open(&r)
		c := tl.Codes()
		flags[c.Flags&(Nulls|Dictionary)]++
		for slot := range uint(Slots) {
			if r.Mask>>slot&1 == 0 {
				continue
			}
			lo, hi := tl.Slot(slot)
			lo += rng.IntN(hi - lo)
			from := tl.End(lo) - int64(rng.IntN(1000))
			var ends, words [MostEntries]uint64
			var room [MostEntries]bool
			tl.EndsFrom(from, lo, hi, ends[:])
			nulls := c.ValuesOf(lo, hi, words[:], room[:])
			some := false
			for i := lo; i < hi; i++ {
				word, null := tl.Value(i)
				some = some || null
				if ends[i-lo] != uint64(tl.End(i)-from) || words[i-lo] != word || (nulls != nil && nulls[i-lo]) != null {
					t.Fatalf("round %d, slot %d, entry %d: end %d, word %x, want %d, %x, null %v", round, slot, i, ends[i-lo], words[i-lo], uint64(tl.End(i)-from), word, null)
				}
			}
			if some != (nulls != nil) {
				t.Fatalf("round %d, slot %d: nulls %v, want %v", round, slot, nulls != nil, some)
			}
		}
	}
	for f := range byte(4) {
		if flags[f] < 10 {
			t.Errorf("%d tiles with flags %d", flags[f], f)
		}
	}
}

const hash = math.MaxUint64/3*2 + 1
