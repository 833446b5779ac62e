package summary

import (
	"slices"
	"sort"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/tile"
)

// sink takes an attribute's intervals in the order of time, and nodes in place of interval runs.
type sink interface {
	// pixels returns how many pixels there are.
	pixels() int
	// part begins a part of the query, and end ends it.
	part(number int)
	end()
	// begin begins an attribute with values of a kind.
	begin(kind history.Kind)
	// ends takes interval ends, counted from the start of the range, and the values' words. nulls is
	// nil if none is null. The first interval begins where the previous one ended, or with the range.
	// more is false once the range is over; later ends are then ignored.
	ends(ends, words []uint64, nulls []bool) (more bool)
	// limit returns the last offset up to which a node may reach.
	limit() uint64
	// node takes a node instead of its intervals, or refuses it.
	node(n *node, end uint64) bool
}

// walker visits attributes' intervals in a range.
type walker struct {
	p        *Pyramid
	from, to int64

	// For the current lane.
	lane  int // -1: none
	tiles []tile.Ref
	rest  tile.Run
	slots uint64 // slots with an end in rest
	kinds [tile.Slots]history.Kind
	nodes *lane
	whole bool  // the query has many of its attributes
	first int   // first tile with an end in the range
	most  int   // first tile with an end behind it
	at    int64 // start of the attribute's next interval
	open  []opened

	together gathered

	// For attributes that have not ended, and the current ones.
	ongoing *history.Columns
	some    []history.Attribute

	offsets [tile.MostEntries]uint64
	words   [tile.MostEntries]uint64
	nulls   [tile.MostEntries]bool
	summary node
}

// opened is an open tile.
type opened struct {
	tile   tile.Tile
	codes  tile.Coded
	lo, hi [tile.Slots]uint16 // entries of its slots
	ready  bool

	all run // all entries, if the lane is read whole
}

// leastWhole is the number of adjacent attributes in a query from which a lane's tiles are decoded whole,
// which takes a third of the time that short runs take.
const leastWhole = 4

// keptOpen is the number of a lane's tiles in a range that stay open, because many attributes can need
// them. With more tiles, attributes are gathered. Tests lower it.
var keptOpen = 32

// all passes attributes' intervals to a sink, attribute by attribute.
func (w *walker) all(attributes []history.Attribute, s sink) (err error) {
	defer tile.Catch(&err)
	if v := w.p.view; !v.Closed() {
		for c, err := range v.SliceColumns(v.End(), attributes, len(attributes)) {
			if err != nil {
				return err
			}
			w.ongoing = c
		}
	}
	for i := range attributes {
		w.attribute(i, attributes[i:], s)
	}
	return nil
}

// attribute passes attributes[0]'s intervals to a sink. i is its place in the part.
func (w *walker) attribute(i int, attributes []history.Attribute, s sink) {
	number, slot, placed := w.p.view.Place(attributes[0])
	if !placed {
		s.begin(history.KindNull)
		w.last(0, true, s)
		return
	}
	if number != w.lane {
		w.enter(number, attributes)
	}
	s.begin(w.kinds[slot&(tile.Slots-1)])
	if w.most-w.first >= keptOpen && w.together.tried>>slot&1 == 0 {
		w.gather(attributes, s.pixels())
	}
	if w.together.slots>>slot&1 != 0 {
		if !w.give(slot, s) {
			return
		}
	} else if !w.sealed(slot, s) {
		return
	}
	if !w.unsealed(slot, s) {
		return
	}
	if w.p.view.Closed() {
		w.last(0, true, s)
		return
	}
	w.last(w.ongoing.Words[i], w.ongoing.Kinds[i] == history.KindNull, s)
}

// last passes the interval at the view's end.
func (w *walker) last(word uint64, null bool, s sink) {
	w.offsets[0], w.words[0], w.nulls[0] = uint64(w.to-w.from), word, null
	if null {
		w.words[0] = 0
		s.ends(w.offsets[:1], w.words[:1], w.nulls[:1])
		return
	}
	s.ends(w.offsets[:1], w.words[:1], nil)
}

// enter goes to the first attribute's lane.
func (w *walker) enter(number int, attributes []history.Attribute) {
	v := w.p.view
	w.lane, w.whole = number, false
	if len(attributes) >= leastWhole {
		other, _, placed := v.Place(attributes[leastWhole-1])
		w.whole = placed && other == number
	}
	w.tiles, w.rest = v.Lane(number)
	w.kinds, w.nodes = v.Kinds(number), nil
	if number < len(w.p.lanes) {
		w.nodes = w.p.lanes[number]
	}
	w.slots, w.together.slots, w.together.tried = 0, 0, 0
	for _, slot := range w.rest.Slots {
		w.slots |= 1 << (slot &^ tile.Null)
	}
	w.first = sort.Search(len(w.tiles), func(j int) bool { return w.tiles[j].Last >= w.from })
	w.most = w.first + sort.Search(len(w.tiles)-w.first, func(j int) bool { return w.tiles[w.first+j].Last >= w.to })
	if n := min(w.most+1, len(w.tiles)) - w.first; n <= keptOpen {
		w.open = slices.Grow(w.open[:0], n)[:n]
		for i := range w.open {
			w.open[i].ready = false
		}
	} else {
		w.open = w.open[:0]
	}
}

// sealed passes intervals from the lane's tiles, and nodes. more is false if the range is over.
func (w *walker) sealed(slot uint, s sink) (more bool) {
	bit := uint64(1) << slot
	var c *column
	k := 0
	if w.nodes != nil {
		c = w.nodes.columns[slot&(tile.Slots-1)]
	}
	if w.at = w.from; c != nil {
		k = c.from(w.from)
	}
	for j := w.after(w.first, bit); j < len(w.tiles); j = w.after(j+1, bit) {
		if c != nil {
			for ; k < c.len() && c.start(k) <= w.at; k++ {
				if c.start(k) < w.at {
					continue // part of it has been passed
				}
				n := w.climb(c, k, s)
				if n == 0 {
					break
				}
				k += n - 1
				w.at, j = c.ends[k]+1, int(c.tiles[k])-w.nodes.base
			}
			if j = w.after(j, bit); j == len(w.tiles) {
				break
			}
		}
		if !w.tile(j, slot, s) {
			return false
		}
	}
	return true
}

// climb passes the largest node from k on that the sink takes, and returns how many lowest nodes it has.
func (w *walker) climb(c *column, k int, s sink) int {
	limit := s.limit()
	for l := range slices.Backward(c.levels) {
		n := 1 << (fanBits * l)
		if k&(n-1) != 0 || k+n > c.len() {
			continue
		}
		end := uint64(c.ends[k+n-1] - w.from)
		if end > limit {
			continue
		}
		if c.read(l, k>>(fanBits*l), &w.summary); s.node(&w.summary, end) {
			return n
		}
	}
	return 0
}

// after returns the first tile from j on in which a slot in slots ends, or len(tiles).
func (w *walker) after(j int, slots uint64) int {
	if w.nodes != nil {
		return w.nodes.after(w.tiles, j, slots)
	}
	for j < len(w.tiles) && w.tiles[j].Mask&slots == 0 {
		j++
	}
	return min(j, len(w.tiles))
}

// tile passes a tile's intervals.
func (w *walker) tile(j int, slot uint, s sink) (more bool) {
	if i := j - w.first; i < len(w.open) {
		o := &w.open[i]
		if !o.ready {
			o.openAll(&w.tiles[j])
			if w.whole {
				o.all.reset()
				o.all.add(&o.tile, &o.codes, w.from, 0, o.tile.N)
			}
		}
		lo, hi := w.within(j, &o.tile, int(o.lo[slot&(tile.Slots-1)]), int(o.hi[slot&(tile.Slots-1)]))
		if lo == hi {
			return true
		}
		if !w.whole {
			return w.entries(&o.tile, &o.codes, lo, hi, s)
		}
		w.at = w.from + int64(o.all.ends[hi-1]) + 1
		return o.all.give(lo, hi, s)
	}
	var t tile.Tile
	t.Open(&w.tiles[j])
	c := t.Codes()
	lo, hi := t.Slot(slot)
	if lo, hi = w.within(j, &t, lo, hi); lo == hi {
		return true
	}
	return w.entries(&t, &c, lo, hi, s)
}

// within narrows [lo, hi) to the slot's entries in tile j that end in the range, and the entry at the end
// of the range.
func (w *walker) within(j int, t *tile.Tile, lo, hi int) (from, to int) {
	if j == w.first {
		lo = t.Search(lo, hi, w.from)
	}
	if j >= w.most && hi-lo > 1 {
		hi = min(hi, t.Search(lo, hi, min(w.to, w.tiles[j].Last))+1)
	}
	return lo, hi
}

// entries passes a tile's entries [lo, hi).
func (w *walker) entries(t *tile.Tile, c *tile.Coded, lo, hi int, s sink) (more bool) {
	t.EndsFrom(w.from, lo, hi, w.offsets[:])
	nulls := c.ValuesOf(lo, hi, w.words[:], w.nulls[:])
	w.at = w.from + int64(w.offsets[hi-lo-1]) + 1
	return s.ends(w.offsets[:hi-lo], w.words[:hi-lo], nulls)
}

// openAll opens a tile for all its slots.
func (o *opened) openAll(r *tile.Ref) {
	o.tile.Open(r)
	o.codes = o.tile.Codes()
	o.ready = true
	at := 0
	for rest, rank := r.Mask, 0; rest != 0; rest, rank = rest&(rest-1), rank+1 {
		slot := slotOf(rest)
		o.lo[slot] = uint16(at)
		at += o.tile.Count(rank)
		o.hi[slot] = uint16(at)
	}
}

// unsealed passes the intervals that end behind the tiles.
func (w *walker) unsealed(slot uint, s sink) (more bool) {
	if w.slots>>slot&1 == 0 {
		return true
	}
	n, some := 0, false
	for i, at := range w.rest.Slots {
		if uint(at&^tile.Null) != slot || w.rest.At[i].End < w.from {
			continue
		}
		null := at&tile.Null != 0
		some = some || null
		w.offsets[n], w.words[n], w.nulls[n] = uint64(w.rest.At[i].End-w.from), w.rest.At[i].Word, null
		if null {
			w.words[n] = 0
		}
		if n++; n == len(w.offsets) {
			if !s.ends(w.offsets[:], w.words[:], w.nulls[:]) {
				return false
			}
			n = 0
		}
	}
	if n == 0 {
		return true
	}
	nulls := w.nulls[:n]
	if !some {
		nulls = nil
	}
	return s.ends(w.offsets[:n], w.words[:n], nulls)
}
