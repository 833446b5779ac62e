package summary

import (
	"math/bits"
	"slices"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/tile"
)

// gathered is the intervals of several attributes of a lane with many tiles, from one walk over these. A walk for each
// attribute would load each tile once for each.
type gathered struct {
	slots uint64 // that were gathered last
	tried uint64 // that were, or need not be
	runs  [tile.Slots]run
}

// run is intervals as a sink takes them.
type run struct {
	ends, words []uint64
	nulls       []bool
	some        bool // one is null
}

// leastGathered is the number of attributes that are worth it.
const leastGathered = 4

// mostGathered bounds the intervals that are gathered at once, of 17 bytes each. Tests lower it.
var mostGathered = 1 << 20

// gather gathers the intervals of the first attribute, which is of the lane at hand, and of those that follow it in
// the question, as long as they are of the lane.
func (w *walker) gather(attributes []history.Attribute, pixels int) {
	g := &w.together
	var room [tile.Slots]uint
	found, slots, spared := room[:0], uint64(0), uint64(0)
	for _, a := range attributes {
		number, slot, placed := w.p.view.Place(a)
		if !placed || number != w.lane {
			break
		}
		if w.nodes != nil && w.nodes.columns[slot&(tile.Slots-1)].spares(w.from, w.to, pixels) {
			spared |= 1 << slot
		} else if slots>>slot&1 == 0 {
			found, slots = append(found, slot), slots|1<<slot
		}
	}
	for len(found) > leastGathered && w.intervals(slots) > mostGathered {
		for _, slot := range found[len(found)/2:] { // they are gathered later
			slots &^= 1 << slot
		}
		found = found[:len(found)/2]
	}
	g.slots, g.tried = slots, g.tried|slots|spared
	if len(found) < leastGathered {
		g.slots = 0
		return
	}
	for rest := slots; rest != 0; rest &= rest - 1 {
		r := &g.runs[slotOf(rest)]
		r.ends, r.words, r.nulls, r.some = r.ends[:0], r.words[:0], r.nulls[:0], false
	}
	for j := w.after(w.first, slots); j < len(w.tiles) && j <= w.most; j = w.after(j+1, slots) {
		w.gatherTile(j, slots)
	}
}

// intervals returns about the number of intervals of some slots in the range.
func (w *walker) intervals(slots uint64) (n int) {
	for j := w.first; j < len(w.tiles) && j <= w.most; j++ {
		if r := &w.tiles[j]; r.Mask&slots != 0 {
			n += int(r.N) * bits.OnesCount64(r.Mask&slots) / bits.OnesCount64(r.Mask)
		}
	}
	return n
}

// gatherTile gathers the intervals of a tile.
func (w *walker) gatherTile(j int, slots uint64) {
	var t tile.Tile
	t.Open(&w.tiles[j])
	c := t.Codes()
	hi := 0
	for rest, rank := t.Mask, 0; rest != 0; rest, rank = rest&(rest-1), rank+1 {
		lo, slot := hi, slotOf(rest)
		hi += t.Count(rank)
		if slots>>slot&1 == 0 {
			continue
		}
		if j == w.first {
			if lo = t.Search(lo, hi, w.from); lo == hi {
				continue
			}
		}
		w.together.runs[slot].add(&t, &c, w.from, lo, hi)
	}
}

// add adds the entries [lo, hi) of a tile.
func (r *run) add(t *tile.Tile, c *tile.Coded, from int64, lo, hi int) {
	at, n := len(r.ends), hi-lo
	r.ends, r.words, r.nulls = slices.Grow(r.ends, n)[:at+n], slices.Grow(r.words, n)[:at+n], slices.Grow(r.nulls, n)[:at+n]
	t.EndsFrom(from, lo, hi, r.ends[at:])
	if c.ValuesOf(lo, hi, r.words[at:], r.nulls[at:]) == nil {
		clear(r.nulls[at:])
	} else {
		r.some = true
	}
}

// keptRuns is the intervals of the runs that are used again.
const keptRuns = 1 << 18

// shrink lets go of long runs.
func (g *gathered) shrink() {
	n := 0
	for i := range g.runs {
		n += cap(g.runs[i].ends)
	}
	if n > keptRuns {
		g.runs = [tile.Slots]run{}
	}
}

// give gives the gathered intervals of a slot. more is false if the range is over.
func (w *walker) give(slot uint, s sink) (more bool) {
	r := &w.together.runs[slot&(tile.Slots-1)]
	nulls := r.nulls
	if !r.some {
		nulls = nil
	}
	if !s.ends(r.ends, r.words, nulls) {
		return false
	}
	// The interval that the range ends in may end in a later tile.
	j := w.after(w.most+1, 1<<slot)
	return j >= len(w.tiles) || w.tile(j, slot, s)
}

// spares reports whether nodes spare much of a walk in pixels of a range: it has several for each.
func (c *column) spares(from, to int64, pixels int) bool {
	return c != nil && c.from(to)-c.from(from) > 2*pixels
}
