package history

import (
	"cmp"
	"slices"
)

// Draft is a transaction on a history: a Writer, and the ways it ends.
type Draft struct {
	*Writer
	drop    *int64
	dropped int64 // bytes
	sealed  bool  // full lanes were sealed before the view was published
}

// Commit publishes the writes, and returns the view that has them. It costs about 10 ns for
// each attribute that changed, and 10 to 15 ns for each interval that it seals. The only
// error is ErrDone: a draft can always be committed.
func (d *Draft) Commit() (*View, error) {
	if !d.done && !d.published && !d.closing && d.drop == nil {
		// Nothing can fail from here on, so the entries count as committed. Blocks whose entries
		// are sealed before any reader has seen them are used again.
		d.seal(d.touched)
		d.sealed = true
	}
	v, err := d.Publish()
	if err != nil {
		return nil, err
	}
	d.Seal()
	return v, nil
}

// Publish is the first half of a Commit, for a caller that publishes a history together
// with other state under a lock. It makes the view. Seal must follow: it packs the entries.
// The only error is ErrDone.
func (d *Draft) Publish() (*View, error) {
	if d.done || d.published {
		return nil, ErrDone
	}
	d.published = true
	h := d.h
	for _, l := range d.touched {
		l.publish()
	}
	h.texts.Settle()
	h.written, h.last, h.final, h.barred, h.closed = d.written, d.last, d.final, d.barred, d.closing
	if d.drop != nil {
		before := h.chunks.bytes()
		d.touched = h.dropBefore(*d.drop, d.touched)
		d.dropped = before - h.chunks.bytes()
	}
	return h.view(), nil
}

// Seal is the second half of a Commit. It packs the entries of full lanes into tiles, or
// of all lanes if the history was closed, and ends the writer.
func (d *Draft) Seal() {
	if d.done || !d.published {
		return
	}
	h := d.h
	lanes := d.touched
	if d.closing {
		lanes = h.lanes
	}
	if !d.sealed {
		d.seal(lanes)
	}
	for _, l := range lanes {
		l.work.changed = 0
	}
	if d.closing {
		h.gather()
		for _, l := range h.lanes {
			l.now.Store(nil)
			l.work = nil
		}
		h.works = nil
		h.shapes, h.recent = shapes{}, nil
	}
	d.finish(lanes)
}

// seal packs the entries of full lanes into tiles, or of all when the history closes.
func (d *Draft) seal(lanes []*lane) {
	s := sealers.Get().(*sealer)
	for _, l := range lanes {
		if d.closing || l.work.entries.n >= tileEntries/2 {
			d.h.seal(s, l, d.closing)
		}
	}
	if cap(s.flat.at) <= keptEntries {
		sealers.Put(s)
	}
}

// finish lets the next draft begin.
func (d *Draft) finish(lanes []*lane) {
	d.done = true
	d.h.account(lanes)
	d.undo.drop()
	d.touched, d.undo = nil, nil
	d.h.busy.Store(false)
}

// Abort drops the writes, new attributes and texts included. After Commit, Publish or Abort it
// does nothing.
func (d *Draft) Abort() {
	if d.done || d.published {
		return
	}
	h := d.h
	for _, k := range d.kinds {
		k.l.kinds[k.slot] = KindNull
	}
	for _, l := range d.touched {
		h.restore(l)
	}
	for _, p := range slices.Backward(d.placed) {
		d.unplace(p)
	}
	clear(h.lanes[d.laneCount:])
	h.lanes = h.lanes[:d.laneCount]
	clear(h.works[d.laneCount:])
	h.works = h.works[:d.laneCount]
	d.truncate(d.names)
	if h.texts.TakeBack() {
		h.recent = nil // it can have codes that are gone
	}
	d.finish(d.touched)
}

// DropBefore has the commit drop the tiles in which every interval ends before an instant.
// Later views start there, or at their former start if that is later. Older views keep
// their tiles. An instant behind the end of the history is taken to be that end.
func (d *Draft) DropBefore(t int64) { d.drop = &t }

// DropBytes is DropBefore with the earliest instant that frees a number of bytes of tiles,
// or with the end of the latest tile if all tiles before it are smaller. Nothing is dropped
// for 0 bytes or fewer.
func (d *Draft) DropBytes(bytes int64) {
	if bytes <= 0 {
		return
	}
	type old struct {
		last  int64
		bytes int64
	}
	var tiles []old
	for _, l := range d.h.lanes {
		for _, r := range l.sealed.Load().tiles {
			var tl tile
			tl.open(&r)
			tiles = append(tiles, old{r.last, int64(tl.values-tl.head) + int64(tl.n)/2})
		}
	}
	slices.SortFunc(tiles, func(a, b old) int { return cmp.Compare(a.last, b.last) })
	for _, r := range tiles {
		if bytes -= r.bytes; bytes <= 0 {
			d.DropBefore(r.last + 1)
			return
		}
	}
	if n := len(tiles); n > 0 {
		d.DropBefore(tiles[n-1].last)
	}
}

// Dropped returns the bytes of the dropped tiles, once the view is published. Older views
// still hold them.
func (d *Draft) Dropped() int64 { return d.dropped }
