package history

import (
	"math/bits"
	"slices"

	"github.com/granarydb/granary/internal/tile"
)

func (h *History) newLane() int {
	l := &lane{work: new(laneWork)}
	l.sealed.Store(new(sealed))
	l.work.lane = l
	h.lanes = append(h.lanes, l)
	h.works = append(h.works, l.work)
	return len(h.lanes) - 1
}

// seal packs a lane's entries.
func (h *History) seal(s *tile.Sealer, l *lane, all bool) {
	work := l.work
	left := work.flatten(s)
	texts := uint64(0) // slots whose texts are marked, because pages are not read for that
	if l.texts > 0 && h.opts.Pages != nil {
		texts = l.slotsFrom(KindString)
	}
	var room [4]tile.Ref
	tiles := room[:0]
	for len(left.At) > 0 {
		n := tile.Next(left.At, all)
		if n == 0 {
			break
		}
		if texts != 0 {
			h.inPages.run(left.Part(0, n), texts, h.texts.Most())
		}
		tiles = append(tiles, s.Tile(&h.chunks, left.Part(0, n)))
		left = left.Behind(n)
	}
	if len(tiles) == 0 && !all {
		return
	}
	old := l.sealed.Load()
	work.entries.reuse(old.open)
	// Readers may use the old blocks, so the remaining entries go to new ones.
	work.entries, work.mixed = entries{}, false
	work.entries.addAll(left)
	var open *buffer
	if len(left.At) > 0 {
		open = newBuffer(work.entries)
	}
	next := old.with(tiles, open)
	h.directory += int64(cap(next.tiles)-cap(old.tiles))*tile.RefSize + int64(cap(next.groups)-cap(old.groups))*8
	l.sealed.Store(next)
	for i := range tiles {
		h.addPart(tiles[i].Last)
	}
}

// flatten returns a lane's unsealed entries ordered by end, in the sealer's memory. They are valid until
// the next call.
func (w *laneWork) flatten(s *tile.Sealer) tile.Run {
	n := w.entries.n
	flat := s.Room(n)
	for i, b := range w.entries.blocks[:(n+blockLen-1)/blockLen] {
		copy(flat.At[i*blockLen:], b.at[:])
		copy(flat.Slots[i*blockLen:], b.slots[:])
	}
	if w.mixed {
		s.Sort()
	}
	return flat
}

// gather joins the directories of all lanes into one, to which the lanes then refer.
func (h *History) gather() {
	n := 0
	for _, l := range h.lanes {
		n += len(l.sealed.Load().tiles)
	}
	d := &directory{make([]tile.Ref, 0, n), make([]uint32, len(h.lanes)+1)}
	h.directory = int64(n)*tile.RefSize + 4*int64(len(d.first))
	for i, l := range h.lanes {
		s := l.sealed.Load()
		at := len(d.tiles)
		d.tiles = append(d.tiles, s.tiles...)
		d.first[i+1] = uint32(len(d.tiles))
		groups := slices.Clone(s.groups)
		h.directory += 8 * int64(cap(groups))
		l.sealed.Store(&sealed{tiles: d.tiles[at:len(d.tiles):len(d.tiles)], groups: groups, open: s.open})
	}
	h.era.all.Store(d)
}

// restore resets a lane's work to its committed state.
func (h *History) restore(l *lane) {
	work := l.work
	s := l.sealed.Load()
	// Readers see only committed entries, so the others can be overwritten.
	work.entries = s.entriesOf()
	now := l.now.Load()
	for rest := work.changed; rest != 0; rest &= rest - 1 {
		slot := bits.TrailingZeros64(rest)
		bit := uint64(1) << slot
		start := &work.slots[slot].start
		*start = h.opts.Start
		if end, ok := s.lastEnd(uint(slot), h.final); ok {
			*start = end + 1
		} else if l.starts != nil {
			*start = l.starts[slot]
		}
		work.ended &^= bit // an end at the last possible instant would be committed, and nothing could follow
		work.has &^= bit
		work.plain &^= bit
		if now != nil && now.has.Load()&bit != 0 {
			work.set(uint(slot), now.words[slot].Load(), true)
		}
	}
	work.changed = 0
}

// count updates the bytes of a lane's entries.
func (h *History) count(l *lane) {
	var blocks int32
	if l.work != nil {
		blocks = int32(len(l.work.entries.blocks))
	}
	h.buffers += int64(blocks-l.buffered) * (blockSize + 8)
	l.buffered = blocks
}

// account updates the history's bytes.
func (h *History) account(lanes []*lane) {
	for _, l := range lanes {
		h.count(l)
		if l.texts != 0 && l.work != nil && l.work.entries.n > 0 {
			h.addPart(l.work.entries.blocks[0].at[0].End)
			h.addPart(l.work.latest)
		}
	}
	each := laneSize + sealedSize
	if !h.closed {
		each += workSize + ongoingSize
	}
	drop := h.chunks.Bytes() + h.directory + int64(h.texts.Size())
	h.droppable.Store(drop)
	h.size.Store(drop + h.buffers + each*int64(len(h.lanes)) + int64(h.tree.Size()) + shapeLaneSize*int64(len(h.shapes.lanes)) +
		h.numbers.Size() + int64(cap(h.ops)) + 4*int64(cap(h.slots)) + 8*int64(cap(h.lanes)+cap(h.works)) + 4*int64(cap(h.shapes.Of)))
}
