package summary

import (
	"cmp"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/tile"
)

// lane has the nodes for a lane with many tiles. A tile keeps its number when older tiles are dropped.
type lane struct {
	base    int      // the view's first tile
	tiles   int      // end of its tiles
	groups  []uint64 // slots of each groupLen tiles; the last tiles are in none
	left    [tile.Slots]int32
	columns [tile.Slots]*column // by slot; nil: no node
}

// groupLen is how many tiles share an entry in groups.
const groupLen = 64

// share is the least tile bytes for each byte in columns. For the rest of a lane it is 2*share. Tests lower
// it.
var share = 30

// columnBytes is a column's bytes without nodes, with its first level and some room for nodes.
const columnBytes = int(unsafe.Sizeof(column{})+unsafe.Sizeof(level{})) + 96

// nodeBytes is most nodes' size in bytes, with their share in the level above.
const nodeBytes = 72

// tileBytes returns a tile's bytes in memory, without its dictionary.
func tileBytes(r *tile.Ref) int {
	slots, ends := bits.OnesCount64(r.Mask), max(8, int(r.Ends))
	return tile.HeaderSize + slots + (int(r.N)*(ends+int(r.Code))+7)/8 + tile.Slack + int(tile.RefSize)
}

// after returns the first tile from j on in which a slot in slots ends, or len(tiles).
func (l *lane) after(tiles []tile.Ref, j int, slots uint64) int {
	for j < len(tiles) {
		if i := l.base + j; i%groupLen == 0 && i/groupLen < len(l.groups) && l.groups[i/groupLen]&slots == 0 {
			j += groupLen
			continue
		}
		if tiles[j].Mask&slots != 0 {
			return j
		}
		j++
	}
	return len(tiles)
}

// builder makes a pyramid's nodes.
type builder struct {
	view   *history.View
	copies bool // false: append to the old pyramid's columns
	works  []work
	steps  []step
	node   node
	ends   [tile.MostEntries]uint64
	words  [tile.MostEntries]uint64
	nulls  [tile.MostEntries]bool
}

// work is a lane that gets nodes.
type work struct {
	*lane
	tiles  []tile.Ref
	kinds  [tile.Slots]history.Kind
	cloned uint64 // slots whose columns belong to this pyramid
}

// begin returns a lane's nodes for the new pyramid, and notes the tiles to add. It starts from old, nil for
// none, of which `gone` tiles were dropped since. Once a quarter of the tiles went, and with them the
// benefit, all nodes are made anew.
func (b *builder) begin(number int, old *lane, gone int) *lane {
	tiles := b.view.Tiles(number)
	if old != nil && gone == 0 && old.base+len(tiles) == old.tiles {
		return old
	}
	anew := old == nil || 4*(old.base+gone) > old.tiles || old.base+gone+len(tiles) < old.tiles
	if anew && !isLong(tiles) {
		return nil
	}
	w := work{tiles: tiles, lane: new(lane)}
	if anew {
		for slot := range w.left {
			w.left[slot] = int32(share * (columnBytes + nodeBytes))
		}
	} else {
		*w.lane = *old
		w.base += gone
	}
	w.kinds = b.view.Kinds(number)
	for j := w.lane.tiles - w.base; j < len(w.tiles); j++ {
		b.steps = append(b.steps, step{w.tiles[j].Last, int32(len(b.works)), int32(j)})
	}
	b.works = append(b.works, w)
	return w.lane
}

// step is a tile to add.
type step struct {
	last    int64
	work, j int32
}

// addAll adds the tiles in the order of time, so that blocks of a file are read once.
func (b *builder) addAll() {
	slices.SortFunc(b.steps, func(x, y step) int { return cmp.Or(cmp.Compare(x.last, y.last), cmp.Compare(x.work, y.work)) })
	for _, s := range b.steps {
		b.addTile(&b.works[s.work], int(s.j))
	}
}

// addTile adds a tile to its lane, and nodes that are due.
func (b *builder) addTile(w *work, j int) {
	var t tile.Tile
	t.Open(&w.tiles[j])
	w.lane.tiles++
	w.group(w.tiles)
	bytes := tileBytes(&w.tiles[j])
	for rest, rank := t.Mask, 0; rest != 0; rest, rank = rest&(rest-1), rank+1 {
		slot := slotOf(rest)
		if w.left[slot] -= int32(t.Count(rank) * bytes / t.N); w.left[slot] > 0 {
			continue
		}
		if c := w.columns[slot]; c == nil {
			w.columns[slot] = &column{begin: b.view.Start()}
		} else if w.cloned>>slot&1 == 0 {
			w.columns[slot] = c.clone(b.copies)
		}
		w.cloned |= 1 << slot
		w.columns[slot].kind = w.kinds[slot] // it had no kind as long as all was null
		b.add(w.lane, slot, w.tiles[:j+1])
	}
}

// isLong reports whether a lane has enough tiles for nodes.
func isLong(tiles []tile.Ref) bool {
	bytes, least := 0, 2*share*int(unsafe.Sizeof(lane{}))
	for i := range tiles {
		if bytes += tileBytes(&tiles[i]); bytes >= least {
			return true
		}
	}
	return false
}

// group records the last tiles' slots.
func (l *lane) group(tiles []tile.Ref) {
	if l.tiles%groupLen == 0 {
		mask := uint64(0)
		for _, t := range tiles[max(0, l.tiles-l.base-groupLen) : l.tiles-l.base] {
			mask |= t.Mask
		}
		l.groups = append(slices.Clip(l.groups), mask)
	}
}

// add appends a node for the intervals behind the slot's last node.
func (b *builder) add(l *lane, slot int, tiles []tile.Ref) {
	c := l.columns[slot]
	from, j := c.start(c.len()), 0
	if k := c.len(); k > 0 {
		j = max(0, int(c.tiles[k-1])-l.base)
	}
	b.node.reset()
	end := from - 1
	for j = l.after(tiles, j, 1<<slot); j < len(tiles); j = l.after(tiles, j+1, 1<<slot) {
		end = b.tile(&tiles[j], uint(slot), from, end, c.kind)
	}
	if b.node.count == 0 {
		return // the view's older states were dropped
	}
	bytes := c.add(&b.node, end, l.base+len(tiles))
	l.left[slot] = int32(share * max(nodeBytes, bytes))
}

// tile adds a tile's intervals to the node: the intervals from an instant on, behind an end. It returns the
// last end.
func (b *builder) tile(r *tile.Ref, slot uint, from, end int64, kind history.Kind) int64 {
	var t tile.Tile
	t.Open(r)
	codes := t.Codes()
	lo, hi := t.Slot(slot)
	if r.Last < from {
		return end
	}
	if lo = t.Search(lo, hi, from); lo == hi {
		return end
	}
	t.EndsFrom(from, lo, hi, b.ends[:])
	nulls := codes.ValuesOf(lo, hi, b.words[:], b.nulls[:])
	at := uint64(end - from)
	for i, e := range b.ends[:hi-lo] {
		b.node.add(kind, b.words[i], nulls != nil && nulls[i], e-at)
		at = e
	}
	return from + int64(at)
}
