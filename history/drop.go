package history

import (
	"slices"
)

// DropBefore lets go of what was before an instant when the transaction is committed: of
// the tiles in which every interval ends before it. Views from then on start there, or
// where they did if that is later; those that are older keep what they have. An instant
// behind the end of the history is taken to be that end.
func (tx *Tx) DropBefore(t int64) { tx.drop = &t }

// DropBytes is DropBefore with the earliest instant that frees so many bytes of tiles; with
// the end of the latest tile, if all that is before it is less. Nothing is dropped for 0
// bytes or fewer.
func (tx *Tx) DropBytes(bytes int64) {
	if bytes <= 0 {
		return
	}
	type old struct {
		last  int64
		bytes int64
	}
	var tiles []old
	for _, l := range tx.h.lanes {
		for _, r := range l.sealed.Load().tiles {
			var tl tile
			tl.open(&r)
			tiles = append(tiles, old{r.last, int64(tl.values-tl.head) + int64(tl.n)/2})
		}
	}
	slices.SortFunc(tiles, func(a, b old) int {
		switch {
		case a.last < b.last:
			return -1
		case a.last > b.last:
			return 1
		}
		return 0
	})
	for _, r := range tiles {
		if bytes -= r.bytes; bytes <= 0 {
			tx.DropBefore(r.last + 1)
			return
		}
	}
	if n := len(tiles); n > 0 {
		tx.DropBefore(tiles[n-1].last)
	}
}

// Dropped returns the bytes that what was dropped took, once it is published: older views
// still have it.
func (tx *Tx) Dropped() int64 { return tx.dropped }

// dropBefore gives the history new lanes without their oldest tiles. The old ones stay as
// they are for the views that have them; nothing is written to them any more. It returns
// the touched lanes, the new for the old.
func (h *History) dropBefore(t int64, touched []*lane) []*lane {
	t = min(t, h.last)
	if !h.written || t <= h.start {
		return touched
	}
	h.start = t
	h.lanes = slices.Clone(h.lanes)
	renewed := map[*lane]*lane{}
	for i, l := range h.lanes {
		if n := l.sealed.Load().from(t); n > 0 {
			h.lanes[i] = h.without(l, n)
			renewed[l] = h.lanes[i]
		}
	}
	for i, l := range touched {
		if next := renewed[l]; next != nil {
			touched[i] = next
		}
	}
	return touched
}

// without returns a copy of a lane without its first n tiles.
func (h *History) without(l *lane, n int) *lane {
	starts := new([laneWidth]int64)
	for slot := range starts {
		starts[slot] = l.work.slots[slot].start
	}
	next := &lane{kinds: l.kinds, slots: l.slots, work: l.work, buffered: l.buffered, starts: starts}
	next.work.lane = next
	next.fed.Store(l.fed.Load())
	if now := l.now.Load(); now != nil {
		next.now.Store(now.clone())
	}
	s := l.sealed.Load()
	for _, r := range s.tiles[:n] {
		h.chunks.drop(&r)
	}
	left := (&sealed{}).with(slices.Clone(s.tiles[n:]), nil)
	if s.open != nil {
		left.open = newBuffer(s.entriesOf())
	}
	h.directory += int64(cap(left.tiles)-cap(s.tiles))*tileRefSize + int64(cap(left.groups)-cap(s.groups))*8
	next.sealed.Store(left)
	l.work = nil
	return next
}

// clone returns a copy.
func (o *ongoing) clone() *ongoing {
	next := new(ongoing)
	next.has.Store(o.has.Load())
	for i := range o.words {
		next.words[i].Store(o.words[i].Load())
	}
	return next
}
