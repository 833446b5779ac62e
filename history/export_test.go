package history

import (
	"fmt"
	"math/bits"

	"github.com/granarydb/granary/internal/tile"
)

// The limits of names and values, in bytes.
const (
	MaxName  = 64 << 10
	MaxValue = maxValue
)

func init() { leastTexts = 0 } // the histories of tests are small

// Instant returns the instant of a slice.
func Instant(s *Slice) int64 { return s.at }

// CheckLanes returns the first violation of H4 or H5 in the lanes of a history whose writer
// has ended.
func CheckLanes(h *History) error {
	for i, l := range h.lanes {
		if err := l.check(h.final); err != nil {
			return fmt.Errorf("lane %d of %d: %w", i, len(h.lanes), err)
		}
	}
	return nil
}

// TileEnds returns the last ends of a history's tiles.
func TileEnds(h *History) (ends []int64) {
	for _, l := range h.lanes {
		for _, t := range l.sealed.Load().tiles {
			ends = append(ends, t.Last)
		}
	}
	return ends
}

func (l *lane) check(final int64) error {
	s := l.sealed.Load()
	for i := range s.tiles {
		var t tile.Tile
		t.Open(&s.tiles[i])
		if err := checkTile(&t, s.tiles[:i+1]); err != nil {
			return fmt.Errorf("tile %d of %d: %w", i, len(s.tiles), err)
		}
		if last := s.tiles[i].Last; last > final && l.work != nil {
			return fmt.Errorf("tile %d ends at %d, committed is only what ends up to %d", i, last, final)
		}
	}
	for g, mask := range s.groups {
		for _, t := range s.tiles[g*groupLen:][:groupLen] {
			mask &^= t.Mask
		}
		if mask != 0 {
			return fmt.Errorf("group %d has slots %x too many", g, mask)
		}
		for i, t := range s.tiles[g*groupLen:][:groupLen] {
			if t.Mask&^s.groups[g] != 0 {
				return fmt.Errorf("group %d has not the slots of its tile %d", g, i)
			}
		}
	}
	if n := len(s.tiles)/groupLen - len(s.groups); n != 0 {
		return fmt.Errorf("%d groups, %d missing", len(s.groups), n)
	}
	return nil
}

// checkTile checks the last of some tiles: its number of entries is that of its header, and each
// slot's entries are in the order of their ends, later than those of all tiles before.
func checkTile(t *tile.Tile, tiles []tile.Ref) error {
	r := tiles[len(tiles)-1]
	at := 0
	for mask, rank := t.Mask, 0; mask != 0; mask, rank = mask&(mask-1), rank+1 {
		lo, hi := t.Slot(uint(bits.TrailingZeros64(mask)))
		if lo != at || hi <= lo || hi-lo != t.Count(rank) {
			return fmt.Errorf("rank %d has entries [%d, %d), counted are %d from %d on", rank, lo, hi, t.Count(rank), at)
		}
		for i := lo; i < hi; i++ {
			end := t.End(i)
			if end > r.Last || i > lo && end <= t.End(i-1) {
				return fmt.Errorf("entry %d ends at %d, out of order", i, end)
			}
			if n := len(tiles); n > 1 && end <= tiles[n-2].Last {
				return fmt.Errorf("entry %d ends at %d, the tile before at %d", i, end, tiles[n-2].Last)
			}
		}
		at = hi
	}
	if at != t.N || t.N > tile.MostEntries {
		return fmt.Errorf("%d entries, want %d, at most %d", at, t.N, tile.MostEntries)
	}
	return nil
}
