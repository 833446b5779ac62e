package history

import (
	"math/bits"
	"slices"
	"sort"
	"sync"

	"github.com/granarydb/granary/internal/tile"
)

// sample returns the intervals of attributes that contain at least one of times, which must be sorted. It
// reuses the memory of rows if that is large enough.
func sample(v *View, rows []row, attributes []Attribute, times []int64) []row {
	p := samplers.Get().(*sampler)
	p.v, p.times, p.rate = v, times, 0
	if n := len(times) - 1; times[n] > times[0] {
		p.rate = float64(n) / float64(uint64(times[n])-uint64(times[0]))
	}
	p.order = slices.Grow(p.order[:0], len(attributes))[:len(attributes)]
	for i, a := range attributes {
		p.order[i] = asked(v.pos(a))<<32 | asked(i)
	}
	if !slices.IsSorted(p.order) {
		slices.Sort(p.order)
	}
	p.rows, p.spans = p.rows[:0], p.spans[:0]
	for lo := 0; lo < len(p.order); {
		hi := lo + 1
		for hi < len(p.order) && p.order[hi].lane() == p.order[lo].lane() {
			hi++
		}
		if p.order[lo].pos() == 0 {
			p.unused(lo, hi, attributes)
		} else {
			p.lane(lo, hi, attributes)
		}
		lo = hi
	}
	rows = p.arranged(rows, attributes)
	if cap(p.rows) <= keptRows {
		p.v, p.times, p.l, p.s = nil, nil, nil, nil
		samplers.Put(p)
	}
	return rows
}

// sampler finds the intervals of attributes that contain one of its times. It visits the tiles of each lane
// once, for all its attributes together, while each attribute has its own position in the times. At the
// end, when each attribute's number of rows is known, it puts the rows in order.
type sampler struct {
	v     *View
	times []int64 // sorted, not empty
	rate  float64 // times per instant, if they are even
	order []asked
	rows  []row // in the order of discovery
	spans []rowSpan

	counts, starts []int // scratch of arranged

	// For the current lane.
	l         *lane
	s         *sealed
	place     [laneWidth]uint32 // position in order
	attribute [laneWidth]Attribute
	next      [laneWidth]int   // first unanswered time
	from      [laneWidth]int64 // start of the interval after the last end passed
	known     uint64           // slots whose from is known
	active    uint64           // slots with unanswered times
}

// rowSpan is adjacent rows of one attribute.
type rowSpan struct {
	place uint32 // the attribute's first position in the order
	rows  uint32
}

// samplers are pooled, because each is used for a moment. A sampler with more than keptRows is not reused.
const keptRows = 1 << 16

var samplers = sync.Pool{New: func() any { return new(sampler) }}

// asked is an attribute of the query: its place in the history (from 1, or 0 for none) in the upper half,
// and its index in the query in the lower half. So it sorts by place.
type asked uint64

func (a asked) pos() int { return int(a >> 32) }

func (a asked) index() int { return int(uint32(a)) }

func (a asked) lane() int { return int((a>>32 + laneWidth - 1) / laneWidth) } // from 1, or 0 for none

func (a asked) slot() int { return int((a>>32 - 1) % laneWidth) }

// unused adds null for all time, for attributes without a place.
func (p *sampler) unused(lo, hi int, attributes []Attribute) {
	for i := lo; i < hi; i++ {
		a := attributes[p.order[i].index()]
		p.rows = append(p.rows, row{start: p.v.start, end: p.v.end, attribute: a, open: !p.v.closed})
		p.note(uint32(i), len(p.rows)-1)
	}
}

// lane samples the attributes of one lane.
func (p *sampler) lane(lo, hi int, attributes []Attribute) {
	p.l = p.v.lanes[p.order[lo].lane()-1]
	p.s = p.l.sealed.Load()
	p.active, p.known = 0, 0
	for i := hi - 1; i >= lo; i-- {
		slot := p.order[i].slot()
		p.active |= 1 << slot
		p.next[slot], p.place[slot], p.attribute[slot] = 0, uint32(i), attributes[p.order[i].index()]
	}
	p.tiles()
	for p.active != 0 {
		p.buffered(bits.TrailingZeros64(p.active))
	}
}

// note records that the rows from began on belong to a position in the order.
func (p *sampler) note(place uint32, began int) {
	if n := len(p.rows) - began; n > 0 {
		p.spans = append(p.spans, rowSpan{place, uint32(n)})
	}
}

// arranged returns p.rows in the order of the query, and reuses the memory of rows if that is large enough.
func (p *sampler) arranged(rows []row, attributes []Attribute) []row {
	p.counts = slices.Grow(p.counts[:0], len(p.order))[:len(p.order)]
	clear(p.counts)
	for _, s := range p.spans {
		p.counts[s.place] += int(s.rows)
	}
	p.starts = slices.Grow(p.starts[:0], len(p.order)+1)[:len(p.order)+1]
	p.starts[0] = 0
	for i, a := range p.order {
		if p.again(i) {
			p.counts[i] = p.counts[i-1]
		}
		p.starts[a.index()+1] = p.counts[i]
	}
	all := 0
	for i := range p.order {
		all += p.starts[i+1]
		p.starts[i+1] = all
	}
	if cap(rows) < all {
		rows = make([]row, all)
	}
	rows = rows[:all]
	for i, a := range p.order {
		p.counts[i] = p.starts[a.index()]
	}
	rest := p.rows
	for _, s := range p.spans {
		at, n := p.counts[s.place], int(s.rows)
		to := rows[at : at+n]
		for i := range to {
			to[i] = rest[i]
		}
		rest = rest[n:]
		p.counts[s.place] = at + n
	}
	for i, a := range p.order {
		if !p.again(i) {
			continue
		}
		before := p.order[i-1].index()
		again := rows[p.starts[a.index()]:p.starts[a.index()+1]]
		copy(again, rows[p.starts[before]:])
		// It can be another attribute: two can have got the place one after the other since the
		// view was made, the first in an aborted transaction. Both are null there.
		for k := range again {
			again[k].attribute = attributes[a.index()]
		}
	}
	return rows
}

// again reports whether an attribute has the same place as the previous one in the order, and so the same
// rows.
func (p *sampler) again(i int) bool {
	return i > 0 && p.order[i].pos() == p.order[i-1].pos() && p.order[i].pos() > 0
}

// tiles visits the tiles.
func (p *sampler) tiles() {
	for j := p.s.from(p.times[0]); p.active != 0; j++ {
		if j = p.s.after(j, p.active); j == len(p.s.tiles) {
			return
		}
		if !p.due(p.s.tiles[j].Last) {
			j = p.s.from(p.times[p.least()]) - 1 // skip to the next time's tile
			p.known = 0
			continue
		}
		p.tile(j)
	}
}

// due reports whether an unanswered time is at most last. Usually the first slot has one.
func (p *sampler) due(last int64) bool {
	for rest := p.active; rest != 0; rest &= rest - 1 {
		slot := bits.TrailingZeros64(rest)
		if p.times[p.next[slot]] <= last {
			return true
		}
	}
	return false
}

// least returns the index of the first time that some slot has not answered.
func (p *sampler) least() int {
	least := len(p.times)
	for rest := p.active; rest != 0; rest &= rest - 1 {
		slot := bits.TrailingZeros64(rest)
		least = min(least, p.next[slot])
	}
	return least
}

// tile answers times from a tile.
func (p *sampler) tile(j int) {
	r := &p.s.tiles[j]
	var tl tile.Tile
	tl.Open(r)
	c := tl.Codes()
	wanted := r.Mask & p.active
	if 8*bits.OnesCount64(wanted) <= bits.OnesCount64(r.Mask) {
		for ; wanted != 0; wanted &= wanted - 1 {
			slot := bits.TrailingZeros64(wanted)
			lo, hi := tl.Slot(uint(slot))
			began := len(p.rows)
			p.within(j, &tl, &c, slot, lo, hi)
			p.note(p.place[slot], began)
		}
		return
	}
	rank, hi := 0, 0
	for rest := r.Mask; rest != 0; rest, rank = rest&(rest-1), rank+1 {
		slot := bits.TrailingZeros64(rest)
		lo := hi
		hi += tl.Count(rank)
		if wanted>>slot&1 != 0 {
			began := len(p.rows)
			p.within(j, &tl, &c, slot, lo, hi)
			p.note(p.place[slot], began)
		}
	}
}

// within answers a slot's times from a tile, whose entries for the slot are [lo, hi).
func (p *sampler) within(j int, tl *tile.Tile, c *tile.Coded, slot, lo, hi int) {
	slot &= laneWidth - 1 // always true: lets the compiler drop bounds checks
	bit := uint64(1) << slot
	from, known := p.from[slot], p.known&bit != 0
	last, times := p.s.tiles[j].Last, p.times
	next := p.next[slot]
	for lo < hi {
		t := times[next]
		if t > last {
			break
		}
		i := lo
		end := tl.End(lo)
		if end < t { // usually the first is right
			if i = tl.Search(lo+1, hi, t); i == hi {
				break
			}
			from = tl.End(i-1) + 1
			end = tl.End(i)
		} else if !known {
			from = p.s.startBefore(j, bit, p.v.start)
		}
		word, null := c.Value(i)
		if next = p.answer(slot, next, found{from, end, word, null, true}); next == len(times) {
			p.active &^= bit
			return
		}
		from, known = end+1, true
		lo = i + 1
	}
	if lo < hi {
		from = tl.End(hi-1) + 1
	}
	p.next[slot] = next
	p.from[slot] = from
	p.known |= bit
}

// buffered answers a slot's remaining times one by one from unsealed entries.
func (p *sampler) buffered(slot int) {
	began := len(p.rows)
	for next := p.next[slot]; next < len(p.times); {
		var f found
		p.l.find(&f, uint(slot), p.times[next], p.v.start)
		next = p.answer(slot, next, f)
	}
	p.note(p.place[slot], began)
	p.active &^= 1 << slot
}

// answer appends an interval that contains times[next], and returns the first time behind it.
func (p *sampler) answer(slot, next int, f found) int {
	slot &= laneWidth - 1 // always true: lets the compiler drop bounds checks
	v := p.v
	start, end, open, null := max(f.start, v.start), v.end, !v.closed, f.null
	switch {
	case !f.ended:
	case v.isOpen(p.l, uint(slot), f.end):
		null = null || p.l.fed.Load()>>slot&1 != 0 // the value came later
	default:
		end, open = f.end, false
	}
	kind := KindNull
	if !null {
		kind = p.l.kinds[slot]
	}
	// Field by field, because a row built elsewhere is read back in wider words than it was written in,
	// and the processor stalls on such reads.
	n := len(p.rows)
	if n == cap(p.rows) {
		p.rows = slices.Grow(p.rows, 1)
	}
	p.rows = p.rows[:n+1]
	r := &p.rows[n]
	r.start, r.end, r.word, r.attribute, r.kind, r.open = start, end, f.word, p.attribute[slot], kind, open
	times := p.times
	if times[len(times)-1] <= end {
		return len(times)
	}
	// Even times, as for a picture, need no search, because the guess is right. If the difference
	// overflows an int64, it is below 0, and so is the guess.
	guess := int(float64(end-times[0])*p.rate) + 1
	if next < guess && guess < len(times) && times[guess-1] <= end && end < times[guess] {
		return guess
	}
	return next + pass(times[next:], end)
}

// pass returns the number of times up to end, at least 1.
func pass(times []int64, end int64) int {
	if len(times) == 1 || times[1] > end {
		return 1
	}
	n := 2
	for n < len(times) && times[n] <= end {
		n *= 2
	}
	lo, hi := n/2, min(n, len(times))
	return lo + sort.Search(hi-lo, func(i int) bool { return times[lo+i] > end })
}
