package history

import "slices"

// Tx is a transaction on a history: a Writer, and how it ends.
type Tx struct {
	*Writer
	drop    *int64
	dropped int64 // bytes
	sealed  bool  // what lanes have enough of, before it was published
}

// Commit makes what was written readable, and returns the view that has it. It costs
// about 10 ns for each attribute that changed, and 10 to 15 ns for each interval that it
// seals. The only error is ErrDone: what was written can always be committed.
func (tx *Tx) Commit() (*View, error) {
	if !tx.done && !tx.published && !tx.closing && tx.drop == nil {
		// Nothing can go wrong from here on, so this is committed. What is in tiles before readers
		// have seen its blocks leaves these to be written again.
		tx.seal(tx.touched)
		tx.sealed = true
	}
	v, err := tx.Publish()
	if err != nil {
		return nil, err
	}
	tx.Seal()
	return v, nil
}

// Publish is the first half of a Commit, for who publishes a history together with
// something else, under a lock: it makes the view, and leaves it to Seal, which must
// follow, to pack what was written. Its only error is ErrDone.
func (tx *Tx) Publish() (*View, error) {
	if tx.done || tx.published {
		return nil, ErrDone
	}
	tx.published = true
	h := tx.h
	for _, l := range tx.touched {
		l.publish()
	}
	h.written, h.last, h.final, h.barred, h.closed = tx.written, tx.last, tx.final, tx.barred, tx.closing
	if tx.drop != nil {
		before := h.chunks.bytes()
		tx.touched = h.dropBefore(*tx.drop, tx.touched)
		tx.dropped = before - h.chunks.bytes()
	}
	return h.view(), nil
}

// publish lets readers look at what the lane has got. The ends come before the values
// from them on: see ongoing.
func (l *lane) publish() {
	work := l.work
	if work.entries.n > 0 {
		s := l.sealed.Load()
		if s.open != nil && len(s.open.blocks) == len(work.entries.blocks) {
			s.open.n.Store(int64(work.entries.n))
		} else {
			l.sealed.Store(&sealed{s.tiles, s.groups, newBuffer(work.entries)})
		}
	}
	changed := work.changed &^ l.fed.Load()
	if changed == 0 {
		return
	}
	now := l.now.Load()
	if now == nil {
		now = new(ongoing)
		defer l.now.Store(now) // when it has the values
	}
	for rest := changed; rest != 0; {
		var slot int
		slot, rest = nextSlot(rest)
		now.words[slot].Store(work.slots[slot].word)
	}
	now.has.Store(now.has.Load()&^changed | work.has&changed)
}

// newBuffer returns a buffer of entries, and of what will be added to their last block.
func newBuffer(e entries) *buffer {
	b := &buffer{blocks: e.blocks}
	b.n.Store(int64(e.n))
	return b
}

// Seal is the second half of a Commit: it packs into tiles what lanes have enough of,
// everything if the history was closed, and ends the writer.
func (tx *Tx) Seal() {
	if tx.done || !tx.published {
		return
	}
	h := tx.h
	lanes := tx.touched
	if tx.closing {
		lanes = h.lanes
	}
	if !tx.sealed {
		tx.seal(lanes)
	}
	for _, l := range lanes {
		l.work.changed = 0
	}
	if tx.closing {
		h.gather()
		for _, l := range h.lanes {
			l.now.Store(nil)
			l.work = nil
		}
		h.works = nil
		h.shapes, h.recent = shapes{}, nil
	}
	tx.finish(lanes)
}

// seal packs into tiles what lanes have enough of.
func (tx *Tx) seal(lanes []*lane) {
	s := sealers.Get().(*sealer)
	for _, l := range lanes {
		if tx.closing || l.work.entries.n >= tileEntries/2 {
			tx.h.seal(s, l, tx.closing)
		}
	}
	if cap(s.flat.at) <= keptEntries {
		sealers.Put(s)
	}
}

// directory is that of all lanes of a closed history: a lane's tiles without the way over
// the lane, which is two cache misses of about eight.
type directory struct {
	tiles []tileRef
	first []uint32 // of each lane, and behind the last
}

// of returns the tiles of a lane.
func (d *directory) of(lane int) []tileRef { return d.tiles[d.first[lane]:d.first[lane+1]] }

// gather makes one directory of those of all lanes, which then refer to it.
func (h *History) gather() {
	n := 0
	for _, l := range h.lanes {
		n += len(l.sealed.Load().tiles)
	}
	d := &directory{make([]tileRef, 0, n), make([]uint32, len(h.lanes)+1)}
	h.directory = int64(n)*tileRefSize + 4*int64(len(d.first))
	for i, l := range h.lanes {
		s := l.sealed.Load()
		at := len(d.tiles)
		d.tiles = append(d.tiles, s.tiles...)
		d.first[i+1] = uint32(len(d.tiles))
		groups := slices.Clone(s.groups)
		h.directory += 8 * int64(cap(groups))
		l.sealed.Store(&sealed{tiles: d.tiles[at:len(d.tiles):len(d.tiles)], groups: groups, open: s.open})
	}
	h.all.Store(d)
}

// seal packs a lane's entries.
func (h *History) seal(s *sealer, l *lane, all bool) {
	work := l.work
	left := s.flatten(work)
	var room [4]tileRef
	tiles := room[:0]
	for len(left.at) > 0 {
		n := cut(left.at, all)
		if n == 0 {
			break
		}
		tiles = append(tiles, s.tile(&h.chunks, left.part(0, n)))
		left = left.behind(n)
	}
	if len(tiles) == 0 && !all {
		return
	}
	old := l.sealed.Load()
	work.entries.reuse(old.open)
	// Readers may be at the old blocks: what is left goes to new ones.
	work.entries, work.mixed = entries{}, false
	work.entries.addAll(left)
	var open *buffer
	if len(left.at) > 0 {
		open = newBuffer(work.entries)
	}
	next := old.with(tiles, open)
	h.directory += int64(cap(next.tiles)-cap(old.tiles))*tileRefSize + int64(cap(next.groups)-cap(old.groups))*8
	l.sealed.Store(next)
}

// finish lets the next writer begin.
func (tx *Tx) finish(lanes []*lane) {
	tx.done = true
	tx.h.account(lanes)
	tx.undo.drop()
	tx.touched, tx.undo = nil, nil
	tx.h.busy.Store(false)
}

// Abort drops what was written, attributes that were created included; text values
// stay in the dictionary. After Commit, Publish or Abort it does nothing.
func (tx *Tx) Abort() {
	if tx.done || tx.published {
		return
	}
	h := tx.h
	for _, k := range tx.kinds {
		k.l.kinds[k.slot] = KindNull
	}
	for _, l := range tx.touched {
		h.restore(l)
	}
	for _, p := range slices.Backward(tx.placed) {
		tx.unplace(p)
	}
	clear(h.lanes[tx.laneCount:])
	h.lanes = h.lanes[:tx.laneCount]
	clear(h.works[tx.laneCount:])
	h.works = h.works[:tx.laneCount]
	tx.truncate(tx.names)
	tx.finish(tx.touched)
}

// restore makes a lane's work what was committed of it.
func (h *History) restore(l *lane) {
	work := l.work
	s := l.sealed.Load()
	// Readers look at the committed entries only: the others can be written again.
	work.entries = s.entriesOf()
	now := l.now.Load()
	for rest := work.changed; rest != 0; {
		var slot int
		slot, rest = nextSlot(rest)
		bit := uint64(1) << slot
		start := &work.slots[slot].start
		*start = h.opts.Start
		if end, ok := s.lastEnd(uint(slot), h.final); ok {
			*start = end + 1
		} else if l.starts != nil {
			*start = l.starts[slot]
		}
		work.ended &^= bit // an end at the last instant of all would be committed, and nothing could follow
		work.has &^= bit
		work.plain &^= bit
		if now != nil && now.has.Load()&bit != 0 {
			work.set(uint(slot), now.words[slot].Load(), true)
		}
	}
	work.changed = 0
}

// account counts the bytes that the history holds.
func (h *History) account(lanes []*lane) {
	for _, l := range lanes {
		var bytes int64
		if l.work != nil {
			bytes = int64(len(l.work.entries.blocks)) * (blockSize + 8)
		}
		h.buffers += bytes - l.buffered
		l.buffered = bytes
	}
	each := laneSize + sealedSize
	if !h.closed {
		each += workSize + ongoingSize
	}
	h.size.Store(h.chunks.bytes() + h.directory + h.buffers + each*int64(len(h.lanes)) +
		int64(h.tree.size()) + int64(h.texts.Size()) + fillSize*int64(len(h.shapes.fills)) + 4*int64(cap(h.slots)) + 8*int64(cap(h.lanes)+cap(h.works)) + 4*int64(cap(h.shapes.of)))
}
