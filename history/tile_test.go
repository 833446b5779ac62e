package history

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/granarydb/granary/internal/tile"
)

// TestTile writes tiles of words of all widths, with no, some and only nulls, and reads each
// entry back. Among them are words that need 65 bits beside null, and words in a dictionary.
// Every form of a tile must occur.
func TestTile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := new(tile.Sealer)
	c := tile.Chunks{Tiles: map[*tile.Chunk]int{}}
	seen := map[byte]int{}
	for round := range 3000 {
		e := someEntries(rng)
		var slots [laneWidth][]int // entries of each slot
		for i, slot := range e.Slots {
			slots[slot%laneWidth] = append(slots[slot%laneWidth], i)
		}
		r := s.Tile(&c, e)
		var tl tile.Tile
		tl.Open(&r)
		codes := tl.Codes()
		seen[codes.Flags]++
		if most := plainWidth(e); codes.Width > most {
			t.Fatalf("round %d: codes of %d bits, %d are enough", round, codes.Width, most)
		}
		for slot, entries := range slots {
			if len(entries) == 0 != (r.Mask>>slot&1 == 0) {
				t.Fatalf("round %d: slots %x, slot %d has %d entries", round, r.Mask, slot, len(entries))
			}
			if len(entries) == 0 {
				continue
			}
			lo, hi := tl.Slot(uint(slot))
			if hi-lo != len(entries) {
				t.Fatalf("round %d, slot %d: %d entries, want %d", round, slot, hi-lo, len(entries))
			}
			for i, entry := range entries {
				word, null := tl.Value(lo + i)
				again, nullAgain := codes.Value(lo + i)
				want, wantNull := e.At[entry].Word, e.Slots[entry] >= tile.Null
				if null != wantNull || nullAgain != null || !null && (word != want || again != want) {
					t.Fatalf("round %d, slot %d, entry %d of %d: %x, %v, and %x, %v; want %x, %v", round, slot, i, len(entries), word, null, again, nullAgain, want, wantNull)
				}
				if end := tl.End(lo + i); end != e.At[entry].End {
					t.Fatalf("round %d, slot %d, entry %d of %d ends at %d, want %d", round, slot, i, len(entries), end, e.At[entry].End)
				}
			}
		}
	}
	for _, flags := range []byte{0, tile.Nulls, tile.Dictionary, tile.Nulls | tile.Dictionary, tile.Wide, tile.Wide | tile.Nulls | tile.Dictionary} {
		if seen[flags] == 0 {
			t.Errorf("no tile with flags %b: %v", flags, seen)
		}
	}
}

// plainWidth returns the bits of the non-null words less their minimum, with one more code for
// null if there are nulls.
func plainWidth(e tile.Run) uint {
	lo, hi, nulls := int64(math.MaxInt64), int64(math.MinInt64), uint64(0)
	for i, slot := range e.Slots {
		if slot >= tile.Null {
			nulls = 1
			continue
		}
		lo, hi = min(lo, int64(e.At[i].Word)), max(hi, int64(e.At[i].Word))
	}
	switch span := uint64(hi) - uint64(lo); {
	case lo > hi:
		return 0
	case span+nulls < span:
		return 65
	default:
		return uint(bits.Len64(span + nulls))
	}
}

// someEntries returns entries for one tile.
func someEntries(rng *rand.Rand) (e tile.Run) {
	n := 1 + rng.IntN(tile.MostEntries)
	slots, step := 1+rng.IntN(laneWidth), int64(1)<<rng.IntN(50)
	nulls := []int{0, 1, 50, 100}[rng.IntN(4)] // of a hundred
	base, width := rng.Uint64(), uint(rng.IntN(65))
	few := []uint64{math.MaxInt64, 1 << 63, base, 0} // the first two are farthest apart
	few = few[:1+rng.IntN(len(few))]
	from := rng.IntN(2)
	end := rng.Int64N(math.MaxInt64) - math.MaxInt64/2
	for range n {
		word := base + rng.Uint64()&tile.Ones(width)
		if from == 0 {
			word = few[rng.IntN(len(few))]
		}
		slot := uint8(rng.IntN(slots))
		if rng.IntN(100) < nulls {
			slot |= tile.Null
			word = rng.Uint64() // ignored
		}
		end += 1 + rng.Int64N(step)
		e.At, e.Slots = append(e.At, tile.End{End: end, Word: word}), append(e.Slots, slot)
	}
	return e
}
