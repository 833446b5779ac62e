package history

import (
	"cmp"
	"slices"

	"github.com/granarydb/granary/internal/tile"
)

// dropBefore gives the history new lanes without their oldest tiles. Lanes with texts also lose unsealed
// entries, because a few entries can have many bytes. The old lanes stay unchanged for existing views.
// dropBefore returns changed with the new lanes in place of the old lanes.
func (h *History) dropBefore(t int64, changed []*lane) []*lane {
	h.start = t
	h.lanes = slices.Clone(h.lanes)
	renewed := map[*lane]*lane{}
	for i, l := range h.lanes {
		n := l.sealed.Load().from(t)
		if n > 0 || l.dropsEntries(t) {
			h.lanes[i] = h.without(l, n, t)
			renewed[l] = h.lanes[i]
		}
	}
	for i, l := range changed {
		if next := renewed[l]; next != nil {
			changed[i] = next
		}
	}
	return changed
}

// dropsEntries reports whether dropping all ends before t removes unsealed entries from the lane.
func (l *lane) dropsEntries(t int64) bool {
	return l.texts != 0 && l.work != nil && l.work.entries.hasBefore(t)
}

// without copies a lane without its first n tiles, and without entries before t if it has texts.
func (h *History) without(l *lane, n int, t int64) *lane {
	next := &lane{kinds: l.kinds, slots: l.slots, texts: l.texts, work: l.work, buffered: l.buffered}
	next.fed.Store(l.fed.Load())
	next.used.Store(l.used.Load())
	next.kinded.Store(l.kinded.Load())
	if now := l.now.Load(); now != nil {
		next.now.Store(now.clone())
	}
	s := l.sealed.Load()
	for _, r := range s.tiles[:n] {
		h.chunks.Drop(&r)
	}
	h.gone += n
	left := (&sealed{}).with(slices.Clone(s.tiles[n:]), nil)
	if work := l.work; work != nil {
		next.starts = new([laneWidth]int64)
		for slot := range next.starts {
			next.starts[slot] = h.opts.Start
			if slot < int(l.slots) {
				next.starts[slot] = work.slots[slot].start
			}
		}
		work.lane = next
		if l.dropsEntries(t) {
			work.entries = work.entries.from(t)
		}
		if work.entries.n > 0 {
			left.open = newBuffer(work.entries)
		}
	}
	h.directory += int64(cap(left.tiles)-cap(s.tiles))*tile.RefSize + int64(cap(left.groups)-cap(s.groups))*8
	next.sealed.Store(left)
	h.count(next)
	l.work = nil
	return next
}

// oldPart is a part of the history that is dropped together: its latest end, and about the bytes that this
// frees.
type oldPart struct {
	last  int64
	bytes float64
}

// oldParts returns the tiles, and the entries of lanes with texts, each with a share of the texts' bytes,
// ordered by latest end.
func (h *History) oldParts() (parts []oldPart) {
	entries, loose := 0, 0 // entries with texts; unsealed entries
	for _, l := range h.lanes {
		if l.texts == 0 {
			continue
		}
		if l.work != nil {
			loose += l.work.entries.n
		}
		for _, r := range l.sealed.Load().tiles {
			entries += int(r.N)
		}
	}
	const most = 1 << 16 // parts made from unsealed entries
	text := float64(h.texts.Size()) / float64(max(1, entries+loose))
	for _, l := range h.lanes {
		each := 0.0
		if l.texts != 0 {
			each = text
		}
		for _, r := range l.sealed.Load().tiles {
			var tl tile.Tile
			tl.Open(&r)
			parts = append(parts, oldPart{r.Last, float64(tl.Values-tl.Head) + float64(tl.N)*(0.5+each)})
		}
		if each > 0 && l.work != nil {
			parts = l.work.entries.oldParts(parts, 1+loose/most, each)
		}
	}
	slices.SortFunc(parts, func(a, b oldPart) int { return cmp.Compare(a.last, b.last) })
	return parts
}
