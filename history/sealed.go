package history

import (
	"math"
	"math/bits"

	"github.com/granarydb/granary/internal/tile"
)

// laneWidth is the most attributes in a lane, because a set of slots is one word.
const laneWidth = tile.Slots

// sealed is a lane's published state.
type sealed struct {
	tiles  []tile.Ref // ordered by last end
	groups []uint64   // common mask of each groupLen tiles; the last tiles are in none
	open   *buffer    // ends later than all tiles' ends; nil: none
}

// groupLen is the number of tiles with a common mask.
const groupLen = 64

// with returns the state with more tiles and other unsealed entries. Readers of s never read behind its
// lengths.
func (s *sealed) with(tiles []tile.Ref, open *buffer) *sealed {
	next := &sealed{tiles: append(s.tiles, tiles...), groups: s.groups, open: open}
	for g := len(next.groups); (g+1)*groupLen <= len(next.tiles); g++ {
		var mask uint64
		for _, t := range next.tiles[g*groupLen:][:groupLen] {
			mask |= t.Mask
		}
		next.groups = append(next.groups, mask)
	}
	return next
}

// entriesOf returns the buffered entries that readers may use.
func (s *sealed) entriesOf() entries {
	if s.open == nil {
		return entries{}
	}
	return entries{blocks: s.open.blocks, n: int(s.open.n.Load())}
}

// from returns the index of the first tile whose last end is at or after t.
func (s *sealed) from(t int64) int {
	lo, hi := 0, len(s.tiles)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if s.tiles[mid].Last < t {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// after returns the first tile from i on in which one of the slots has an end, or the number of tiles.
func (s *sealed) after(i int, slots uint64) int {
	for i < len(s.tiles) {
		if i%groupLen == 0 && i/groupLen < len(s.groups) && s.groups[i/groupLen]&slots == 0 {
			i += groupLen
			continue
		}
		if s.tiles[i].Mask&slots != 0 {
			return i
		}
		i++
	}
	return i
}

// before returns the last tile up to i in which one of the slots has an end, or -1.
func (s *sealed) before(i int, slots uint64) int {
	for i >= 0 {
		if i%groupLen == groupLen-1 && s.groups[i/groupLen]&slots == 0 {
			i -= groupLen
			continue
		}
		if s.tiles[i].Mask&slots != 0 {
			return i
		}
		i--
	}
	return -1
}

// found is a slot's interval in its lane.
type found struct {
	start, end int64
	word       uint64
	null       bool
	ended      bool // if not, only start is known: the interval goes on
}

// find finds the slot's interval that contains t. from is the start of the first interval.
func (s *sealed) find(f *found, slot uint, t, from int64) {
	bit := uint64(1) << slot
	*f = found{}
	f.start = from
	j := s.from(t)
	first := j // the tile whose time contains t
	if j < len(s.tiles) && s.tiles[j].Mask&bit != 0 {
		var tl tile.Tile
		tl.Open(&s.tiles[j])
		lo, hi := tl.Slot(slot)
		i := tl.Search(lo, hi, t)
		if i > lo {
			f.start = tl.End(i-1) + 1
		}
		if i < hi {
			f.end, f.ended = tl.End(i), true
			f.word, f.null = tl.Value(i)
		}
		if i > lo && f.ended {
			return
		}
		j++ // the end is in a later tile, or known already
		if i > lo {
			first = -1 // the start is known
		}
	}
	if !f.ended {
		if j = s.after(j, bit); j < len(s.tiles) {
			var tl tile.Tile
			tl.Open(&s.tiles[j])
			lo, _ := tl.Slot(slot)
			f.end, f.ended = tl.End(lo), true
			f.word, f.null = tl.Value(lo)
		} else if s.findOpen(slot, t, f) {
			return
		}
	}
	if first >= 0 {
		f.start = s.startBefore(first, bit, from)
	}
}

// findOpen looks for the end among the buffered entries, and reports whether it found the start there.
func (s *sealed) findOpen(slot uint, t int64, f *found) (started bool) {
	open := s.entriesOf()
	for i := range open.n {
		b := open.blocks[i/blockLen]
		at := b.slots[i%blockLen]
		if uint(at&^tile.Null) != slot {
			continue
		}
		end := b.at[i%blockLen].End
		if end >= t {
			f.end, f.word, f.null, f.ended = end, b.at[i%blockLen].Word, at&tile.Null != 0, true
			return started
		}
		f.start, started = end+1, true
	}
	return started
}

// startBefore returns the start of the interval whose end is the slot's first in tile k. from is the start
// of the first interval.
func (s *sealed) startBefore(k int, bit uint64, from int64) int64 {
	b := s.before(k-1, bit)
	if b < 0 {
		return from
	}
	var tl tile.Tile
	tl.Open(&s.tiles[b])
	_, hi := tl.Slot(uint(bits.TrailingZeros64(bit)))
	return tl.End(hi-1) + 1
}

// lastEnd returns a slot's last end that is at most `most`.
func (s *sealed) lastEnd(slot uint, most int64) (end int64, ok bool) {
	open := s.entriesOf()
	for i := open.n - 1; i >= 0; i-- {
		b := open.blocks[i/blockLen]
		if end := b.at[i%blockLen].End; uint(b.slots[i%blockLen]&^tile.Null) == slot && end <= most {
			return end, true
		}
	}
	if k := s.before(len(s.tiles)-1, 1<<slot); k >= 0 {
		var tl tile.Tile
		tl.Open(&s.tiles[k])
		_, hi := tl.Slot(slot)
		return tl.End(hi - 1), true
	}
	return math.MinInt64, false
}

// directory holds the tiles of all lanes in a closed history. A query that finds a lane's tiles here, not by
// way of the lane, saves two cache misses of about eight.
type directory struct {
	tiles []tile.Ref
	first []uint32 // first tile of each lane, and the number of tiles
}

func (d *directory) of(lane int) []tile.Ref { return d.tiles[d.first[lane]:d.first[lane+1]] }
