package summary

import (
	"math/bits"
	"slices"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/tile"
)

// gathered holds the intervals of several attributes in a lane with many tiles, from one walk over the
// tiles, because a walk for each attribute would load each tile again.
type gathered struct {
	slots uint64 // slots gathered last
	tried uint64 // slots that were gathered, or need not be
	runs  [tile.Slots]run
}

// run is intervals in the form that a sink takes.
type run struct {
	ends, words []uint64
	nulls       []bool
	some        bool // some interval is null
}

// leastGathered is the fewest attributes for which gathering pays.
const leastGathered = 4

// mostGathered bounds the intervals that are gathered at once, at 17 bytes each. Tests lower it.
var mostGathered = 1 << 20

// gather gathers the intervals of the first attribute, which is in the current lane, and of the attributes
// after it as long as they are in this lane.
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
		for _, slot := range found[len(found)/2:] { // these are gathered later
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
		g.runs[slotOf(rest)].reset()
	}
	for j := w.after(w.first, slots); j < len(w.tiles) && j <= w.most; j = w.after(j+1, slots) {
		w.gatherTile(j, slots)
	}
}

// intervals estimates how many intervals slots have in the range.
func (w *walker) intervals(slots uint64) (n int) {
	for j := w.first; j < len(w.tiles) && j <= w.most; j++ {
		if r := &w.tiles[j]; r.Mask&slots != 0 {
			n += int(r.N) * bits.OnesCount64(r.Mask&slots) / bits.OnesCount64(r.Mask)
		}
	}
	return n
}

// gatherTile gathers a tile's intervals.
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

// reset removes all intervals.
func (r *run) reset() { r.ends, r.words, r.nulls, r.some = r.ends[:0], r.words[:0], r.nulls[:0], false }

// give passes the intervals [lo, hi) to s.
func (r *run) give(lo, hi int, s sink) (more bool) {
	nulls := r.nulls[lo:hi]
	if !r.some {
		nulls = nil
	}
	return s.ends(r.ends[lo:hi], r.words[lo:hi], nulls)
}

// add adds a tile's entries [lo, hi).
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

// keptRuns bounds the intervals in runs that are reused.
const keptRuns = 1 << 18

// shrink drops long runs.
func (g *gathered) shrink() {
	n := 0
	for i := range g.runs {
		n += cap(g.runs[i].ends)
	}
	if n > keptRuns {
		g.runs = [tile.Slots]run{}
	}
}

// give passes a slot's gathered intervals to s. more is false if the range is over.
func (w *walker) give(slot uint, s sink) (more bool) {
	r := &w.together.runs[slot&(tile.Slots-1)]
	if !r.give(0, len(r.ends), s) {
		return false
	}
	// The interval at the end of the range may end in a later tile.
	j := w.after(w.most+1, 1<<slot)
	return j >= len(w.tiles) || w.tile(j, slot, s)
}

// spares reports whether nodes save much of a walk over the range, which has several nodes for each pixel.
func (c *column) spares(from, to int64, pixels int) bool {
	return c != nil && c.from(to)-c.from(from) > 2*pixels
}
