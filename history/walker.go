package history

import "github.com/granarydb/granary/internal/tile"

// walker visits an attribute's intervals in the order of time. It opens each tile once.
type walker struct {
	v    *View
	l    *lane
	s    *sealed
	slot uint
	bit  uint64

	at    int       // index of the open tile
	tile  tile.Tile // tile at, valid once jump has opened it
	lo    int       // lo, hi: range of the slot's entries in the tile that have not been visited
	hi    int
	found found
	begun bool
}

// newWalker returns a walker for a. The caller must call seek before interval. The lane is nil if a has no
// position in a lane (View.pos is 0).
func newWalker(v *View, a Attribute) walker {
	w := walker{v: v}
	pos := v.pos(a)
	if pos == 0 {
		return w
	}
	w.l = v.lanes[(pos-1)/laneWidth]
	w.s = w.l.sealed.Load()
	w.slot = uint(pos-1) % laneWidth
	w.bit = 1 << w.slot
	return w
}

// seek moves to the interval that contains t, which must not be before the current one.
func (w *walker) seek(t int64) {
	if w.l == nil {
		return
	}
	if w.begun && w.step(t) {
		return
	}
	w.jump(t)
}

// step moves to the interval that contains t if its end is in the open tile. It returns false otherwise.
func (w *walker) step(t int64) bool {
	if w.lo >= w.hi {
		return false
	}
	if w.s.tiles[w.at].Last < t {
		return false
	}
	i := w.tile.Search(w.lo, w.hi, t)
	if i == w.hi {
		return false
	}
	switch {
	case i > w.lo:
		w.found.start = w.tile.End(i-1) + 1
	default:
		w.found.start = w.found.end + 1
	}
	w.enter(i)
	return true
}

// enter makes entry i of the open tile the current interval.
func (w *walker) enter(i int) {
	w.found.end, w.found.ended = w.tile.End(i), true
	w.found.word, w.found.null = w.tile.Value(i)
	w.lo = i + 1
}

// jump finds the interval that contains t by a search over the tiles of the lane. From the
// tile of t on, it opens the first tile in which the slot has an end, if there is one.
func (w *walker) jump(t int64) {
	before, begun := w.found, w.begun
	w.begun = true
	w.lo, w.hi = 0, 0
	j := w.s.from(t)
	k := w.s.after(j, w.bit)
	if k == len(w.s.tiles) {
		w.l.find(&w.found, w.slot, t, w.v.start)
		return
	}
	w.at = k
	w.tile.Open(&w.s.tiles[k])
	w.lo, w.hi = w.tile.Slot(w.slot)
	i := w.lo
	if k == j {
		i = w.tile.Search(w.lo, w.hi, t)
	}
	if i == w.hi {
		// The interval ends in a later tile, or its end is not sealed yet.
		w.lo = w.hi
		w.l.find(&w.found, w.slot, t, w.v.start)
		return
	}
	switch {
	case i > w.lo:
		w.found.start = w.tile.End(i-1) + 1
	case begun && before.ended && t == before.end+1:
		w.found.start = t
	default:
		w.found.start = w.s.startBefore(k, w.bit, w.v.start)
	}
	w.enter(i)
}

// interval returns the current interval.
func (w *walker) interval() (in Interval) {
	if w.l == nil {
		return Interval{Start: w.v.start, End: w.v.end, Open: !w.v.closed}
	}
	w.v.interval(&in, w.l, w.slot, &w.found)
	return in
}
