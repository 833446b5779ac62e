package history

import (
	"math"
	"slices"
	"sync"

	"github.com/granarydb/granary/internal/names"
	"github.com/granarydb/granary/internal/tile"
)

// Draft is a transaction on a history: a Writer, and the ways it ends.
type Draft struct {
	*Writer
	published bool
	prepared  bool
	ended     bool
	sealed    bool // full lanes were sealed before the view was published

	short     bool            // of memory: texts are dropped early
	texts     *names.Interner // for later views; nil: unchanged
	textBytes int             // bytes that only older views will hold
	dropped   int64           // bytes
}

// Commit publishes the writes and returns the view that has them. It costs about 10 ns for each attribute
// that changed, and 10 to 15 ns for each interval that it seals. The only error is ErrDone, because every
// draft can be committed.
func (d *Draft) Commit() (*View, error) {
	if !d.done && !d.closing && d.drop == nil {
		// Nothing can fail from here on, so the entries count as committed. Sealing now lets blocks
		// be reused that no reader has seen.
		d.seal(d.changed)
		d.sealed = true
	}
	v, err := d.Publish()
	if err != nil {
		return nil, err
	}
	d.Seal()
	return v, nil
}

// Prepare ends the writes and does the part of Publish that grows with the history: it finds the texts to
// drop. If Prepare was not called, Publish calls it, so a caller that holds a lock in Publish calls Prepare
// first. Publish or Abort must follow.
func (d *Draft) Prepare() {
	if d.prepared || d.ended {
		return
	}
	d.prepared, d.done = true, true
	if t, ok := d.cut(); ok {
		d.texts, d.textBytes = d.h.keepTexts(t, d.short)
	}
}

// cut returns the instant before which the commit drops everything. It can be the present start, because a
// lane without texts keeps its unsealed entries in a drop: the tile that they become is dropped by the next.
func (d *Draft) cut() (t int64, ok bool) {
	if d.drop == nil || !d.written {
		return 0, false
	}
	t = max(min(*d.drop, d.last), d.h.start)
	return t, t > d.h.start || t > d.h.oldest.Load()
}

// Publish is the first half of a Commit, for a caller that publishes a history together with other state
// under a lock. It makes the view. Seal must follow, and packs the entries. The only error is ErrDone.
func (d *Draft) Publish() (*View, error) {
	if d.ended || d.published {
		return nil, ErrDone
	}
	d.Prepare()
	d.published = true
	h := d.h
	for _, l := range d.changed {
		l.publish()
	}
	for _, k := range d.kinds {
		if k.l.kinded.Load()>>k.slot&1 == 0 { // not published together with the slot's place
			k.l.kinded.Or(1 << k.slot)
		}
	}
	t, drops := d.cut()
	h.written, h.last, h.final, h.barred, h.closed = d.written, d.last, d.final, d.barred, h.closed || d.closing
	if drops {
		before := h.chunks.Bytes()
		d.changed = h.dropBefore(t, d.changed)
		h.oldest.Store(max(h.oldest.Load(), t))
		d.dropped = before - h.chunks.Bytes() + int64(d.textBytes)
	}
	if d.journal != nil {
		d.journal.publish(h.start)
		h.replayed = nil // because no journals of an earlier run follow
	}
	if d.texts == nil {
		h.texts.Settle()
	} else {
		h.texts.Retire()
		h.texts, h.recent, h.gone = d.texts, nil, 0 // because recent texts can have codes that are gone
		h.numbers = numbers{floor: h.numbers.floor}
	}
	if drops {
		h.newEra()
	}
	return h.view(), nil
}

// Seal is the second half of a Commit. It packs the entries of full lanes into tiles, or of all lanes if
// the history was closed, and ends the writer.
func (d *Draft) Seal() {
	if d.ended || !d.published {
		return
	}
	h := d.h
	lanes := d.changed
	if d.closing {
		lanes = h.lanes
	}
	if !d.sealed {
		d.seal(lanes)
	}
	for _, l := range lanes {
		l.work.changed = 0
	}
	if h.closed && h.era.all.Load() == nil {
		h.gather()
	}
	if d.closing {
		for _, l := range h.lanes {
			l.now.Store(nil)
			l.work = nil
		}
		h.works = nil
		h.shapes, h.recent = shapes{}, nil
	}
	d.finish(lanes)
}

// sealers are pooled, because each is used for a moment and is larger than many a history. A sealer that
// has sealed more than keptEntries of a lane at once is not reused.
var sealers = sync.Pool{New: func() any { return new(tile.Sealer) }}

// seal packs the entries of full lanes into tiles, or of all lanes when the history closes.
func (d *Draft) seal(lanes []*lane) {
	s := sealers.Get().(*tile.Sealer)
	for _, l := range lanes {
		if d.closing || l.work.entries.n >= tile.Entries/2 {
			d.h.seal(s, l, d.closing)
		}
	}
	if s.Kept() <= keptEntries {
		sealers.Put(s)
	}
}

// finish lets the next draft begin.
func (d *Draft) finish(lanes []*lane) {
	d.done, d.ended = true, true
	d.h.account(lanes)
	d.undo.drop()
	d.changed, d.undo = nil, nil
	if j := d.journal; j != nil && cap(j.ops) <= keptOps {
		d.h.ops = j.ops
	}
	d.journal = nil
	d.h.busy.Store(false)
}

// Abort drops the writes, including new attributes and texts. After Commit, Publish or Abort it does
// nothing. If a tile must be read from a file (Options.Pages) and that fails, no other draft can begin.
func (d *Draft) Abort() {
	defer tile.Catch(new(error))
	if d.ended || d.published {
		return
	}
	h := d.h
	for _, k := range d.kinds {
		k.l.setKind(k.slot, KindNull)
	}
	for _, l := range d.changed {
		h.restore(l)
	}
	for _, p := range slices.Backward(d.placed) {
		d.unplace(p)
	}
	if len(h.lanes) > d.laneCount {
		clear(h.lanes[d.laneCount:])
		h.lanes = h.lanes[:d.laneCount]
		clear(h.works[d.laneCount:])
		h.works = h.works[:d.laneCount]
	}
	if d.Len() > d.names {
		d.truncate(d.names)
	}
	if h.texts.TakeBack() {
		h.recent = nil // because it can have codes that are gone
	}
	if d.journal != nil {
		d.journal.numbers.Abort()
	}
	d.finish(d.changed)
}

// DropBefore has the commit drop the tiles in which every interval ends before t. Later views start at t,
// or at their former start if that is later. Older views keep their tiles. A t behind the end of the
// history means that end. After several calls the latest t counts.
func (w *Writer) DropBefore(t int64) {
	if w.drop == nil || t > *w.drop {
		w.drop = &t
	}
}

// DropBytes is DropBefore with the earliest instant that frees about `bytes` bytes of tiles and texts, but
// at most the instant `before`. The latest tiles and texts stay. Texts count as if all intervals had
// different texts. DropBytes reports whether anything will be dropped. It drops nothing if bytes <= 0, or in a
// history in a file. It visits each tile.
func (d *Draft) DropBytes(bytes, before int64) bool {
	if bytes <= 0 || d.h.opts.Pages != nil {
		return false
	}
	d.short = true
	parts, left := d.h.oldParts(), float64(bytes)
	d.h.oldest.Store(math.MaxInt64)
	d.h.newest.Store(math.MinInt64)
	if n := len(parts); n > 0 {
		d.h.addPart(parts[0].last)
		d.h.addPart(parts[n-1].last)
		before = min(before, parts[n-1].last)
	}
	drops := false
	for _, p := range parts {
		if p.last >= before || left <= 0 {
			break
		}
		d.DropBefore(p.last + 1)
		left -= p.bytes
		drops = true
	}
	return drops
}

// Dropped returns the bytes of the dropped tiles and texts, once the view is published. Older views still
// hold them.
func (d *Draft) Dropped() int64 { return d.dropped }

// undo holds the changes that an abort undoes. Transactions share its memory one after the other, unless it
// holds more than keptEntries.
type undo struct {
	placed []placement
	kinds  []kindOf // slots that got a kind
}

// placement is the state before an attribute got its place.
type placement struct {
	shape     *shapeLane
	attribute Attribute
	at        *int // where its lane is recorded
	before    int  // the lane recorded there
}

// kindOf is a slot that got its kind.
type kindOf struct {
	l    *lane
	slot uint
}

var undos = sync.Pool{New: func() any { return new(undo) }}

// drop lets another transaction use the memory.
func (u *undo) drop() {
	clear(u.placed)
	clear(u.kinds)
	u.placed, u.kinds = u.placed[:0], u.kinds[:0]
	if max(cap(u.placed), cap(u.kinds)) <= keptEntries {
		undos.Put(u)
	}
}
