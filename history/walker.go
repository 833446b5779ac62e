package history

import "math/bits"

// walker goes over the intervals of one attribute in the order of time. It opens each
// tile once.
type walker struct {
	v    *View
	l    *lane
	s    *sealed
	slot uint
	bit  uint64

	at    int  // tile that is open
	tile  tile // if opened
	lo    int  // entries of the slot that are left in it
	hi    int
	found found
	begun bool
}

// walk returns a walker, which must be told to seek. The lane is nil for an attribute
// without a place.
func (v *View) walk(a Attribute) walker {
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

// seek goes to the interval that t is in. It must not be before the one where the
// walker is.
func (w *walker) seek(t int64) {
	if w.l == nil {
		return
	}
	if w.begun && w.step(t) {
		return
	}
	w.jump(t)
}

// step looks for t in the tile that is open, and at the first entry in the next one. It
// returns false if it is not there.
func (w *walker) step(t int64) bool {
	if w.lo >= w.hi {
		return false
	}
	if w.s.tiles[w.at].last < t {
		return false
	}
	i := w.tile.search(w.lo, w.hi, t)
	if i == w.hi {
		return false
	}
	switch {
	case i > w.lo:
		w.found.start = w.tile.end(i-1) + 1
	default:
		w.found.start = w.found.end + 1
	}
	w.take(i)
	return true
}

// take makes entry i of the open tile the interval where the walker is.
func (w *walker) take(i int) {
	w.found.end, w.found.ended = w.tile.end(i), true
	w.found.word, w.found.null = w.tile.value(i)
	w.lo = i + 1
}

// jump looks for t from the directory on.
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
	w.tile.open(&w.s.tiles[k])
	w.lo, w.hi = w.tile.slot(w.slot)
	i := w.lo
	if k == j {
		i = w.tile.search(w.lo, w.hi, t)
	}
	if i == w.hi {
		// The end is in a later tile, or not sealed.
		w.lo = w.hi
		w.l.find(&w.found, w.slot, t, w.v.start)
		return
	}
	switch {
	case i > w.lo:
		w.found.start = w.tile.end(i-1) + 1
	case begun && before.ended && t == before.end+1:
		w.found.start = t
	default:
		w.found.start = w.s.startBefore(k, w.bit, w.v.start)
	}
	w.take(i)
}

// startBefore returns where the interval begins whose end is the first of a slot in tile k;
// from is where the first interval begins.
func (s *sealed) startBefore(k int, bit uint64, from int64) int64 {
	b := s.before(k-1, bit)
	if b < 0 {
		return from
	}
	var tl tile
	tl.open(&s.tiles[b])
	_, hi := tl.slot(uint(bits.TrailingZeros64(bit)))
	return tl.end(hi-1) + 1
}

// interval returns the interval where the walker is.
func (w *walker) interval() (in Interval) {
	if w.l == nil {
		return Interval{Start: w.v.start, End: w.v.end, Open: !w.v.closed}
	}
	w.v.interval(&in, w.l, w.slot, &w.found)
	return in
}
