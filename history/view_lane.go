package history

import (
	"math/bits"
	"sort"

	"github.com/granarydb/granary/internal/tile"
)

// Lanes returns the view's number of lanes.
func (v *View) Lanes() int { return len(v.lanes) }

// Place returns the lane and slot that have an attribute's intervals, in this and in later views. ok is
// false if the attribute is null throughout the view.
func (v *View) Place(a Attribute) (lane int, slot uint, ok bool) {
	pos := v.pos(a)
	if pos == 0 {
		return 0, 0, false
	}
	return int(pos-1) / laneWidth, uint(pos-1) % laneWidth, true
}

// Kinds returns the kinds of a lane's values by slot. It is KindNull where no value was committed.
func (v *View) Kinds(lane int) (kinds [tile.Slots]Kind) {
	l := v.lanes[lane]
	for rest := l.kinded.Load(); rest != 0; rest &= rest - 1 {
		slot := bits.TrailingZeros64(rest)
		kinds[slot] = l.kinds[slot]
	}
	return kinds
}

// Tiles returns a lane's tiles that are entirely in the view. They belong to the history. Later views have
// them too, except dropped tiles.
func (v *View) Tiles(lane int) []tile.Ref { return v.whole(v.lanes[lane].sealed.Load()) }

// Lane returns all ends of the view in a lane: whole is Tiles, and rest has the ends behind them, in the
// order of arrival, which within a slot is the order of time. An interval without an end here is Open in
// the view. Lane panics if a tile cannot be read from a file (tile.Catch).
func (v *View) Lane(lane int) (whole []tile.Ref, rest tile.Run) {
	s := v.lanes[lane].sealed.Load()
	whole = v.whole(s)
	return whole, v.entriesOf(v.lanes[lane], s, len(whole))
}

func (v *View) whole(s *sealed) []tile.Ref {
	return s.tiles[:sort.Search(len(s.tiles), func(j int) bool { return !v.isWhole(s.tiles[j].Last) })]
}

// isWhole reports whether the view has all of a tile whose last end is `last`.
func (v *View) isWhole(last int64) bool { return v.closed || last < v.end && last <= v.final }

// entriesOf returns the view's ends that are in no whole tile.
func (v *View) entriesOf(l *lane, s *sealed, whole int) (r tile.Run) {
	add := func(slot uint8, end int64, word uint64) {
		if !v.isOpen(l, uint(slot&^tile.Null), end) {
			r.At, r.Slots = append(r.At, tile.End{End: end, Word: word}), append(r.Slots, slot)
		}
	}
	for i := whole; i < len(s.tiles); i++ {
		var tl tile.Tile
		tl.Open(&s.tiles[i])
		for rest := tl.Mask; rest != 0; rest &= rest - 1 {
			slot := bits.TrailingZeros64(rest)
			for lo, hi := tl.Slot(uint(slot)); lo < hi; lo++ {
				word, null := tl.Value(lo)
				add(uint8(slot)|uint8(tile.One(null)*tile.Null), tl.End(lo), word)
			}
		}
		if last := s.tiles[i].Last; last >= v.end && last >= v.final {
			return r // because later ends are not in the view
		}
	}
	open := s.entriesOf()
	for i := range open.n {
		b := open.blocks[i/blockLen]
		add(b.slots[i%blockLen], b.at[i%blockLen].End, b.at[i%blockLen].Word)
	}
	return r
}
