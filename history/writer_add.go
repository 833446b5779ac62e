package history

import (
	"fmt"
	"math"

	"github.com/granarydb/granary/internal/tile"
)

// Add gives an attribute a closed interval, the way trees of intervals are fed: in the order of time, each
// beginning where the previous one ended. The state after the last interval is unknown until the next, so
// views have it as null and Open. About 20 ns. Text that was not written lately is hashed. AddAll is for
// many intervals.
//
// The errors are ErrGap for an interval that ends before it begins, leaves a gap or overlaps, ErrFinal for
// an interval that ends at a final time, and otherwise the same as for Change.
func (w *Writer) Add(a Attribute, start, end int64, v Value) error {
	if !w.done && !w.closing && int64(a) < int64(w.Len()) {
		if pos := w.h.slots[a].Load(); pos != 0 {
			if word, added := w.addNext(pos-1, start, end, &v); added {
				if w.journal != nil {
					w.journal.add(opAdd, a, end, &v, word)
				}
				return nil
			}
		}
	}
	return w.add(a, start, end, &v)
}

// AddAll adds many intervals, in columns: attribute i gets value i from start i to end i. AddAll keeps none
// of the columns. With very many attributes it is faster than separate Adds, because cache misses on
// different attributes overlap: 15 ns less each with a million.
//
// It returns the number of intervals that were added, in order: all, or those before the failed one. It
// returns the errors of Add, and ErrQuery for columns of different lengths, of which nothing is added.
func (w *Writer) AddAll(attributes []Attribute, starts, ends []int64, values []Value) (added int, err error) {
	if err := w.check(); err != nil {
		return 0, err
	}
	n := len(attributes)
	if len(starts) != n || len(ends) != n || len(values) != n {
		return 0, fmt.Errorf("%w: %d attributes, %d starts, %d ends, %d values", ErrQuery, n, len(starts), len(ends), len(values))
	}
	var places, shapes [addAhead]uint32
	for lo := 0; lo < n; lo += addAhead {
		hi := min(n, lo+addAhead)
		w.placesOf(attributes[lo:hi], places[:], shapes[:])
		for i := lo; i < hi; i++ {
			k := i - lo
			if i += w.addRun(places[k:hi-lo], shapes[k:hi-lo], attributes[i:hi], starts[i:hi], ends[i:hi], values[i:hi]); i == hi {
				break
			}
			if err := w.add(attributes[i], starts[i], ends[i], &values[i]); err != nil {
				return i, err
			}
		}
	}
	return n, nil
}

// placesOf finds the places of attributes, from 1. For an attribute without one it finds the shape.
func (w *Writer) placesOf(attributes []Attribute, places, shapes []uint32) {
	slots := w.h.slots[:min(len(w.h.slots), w.Len())]
	for k, a := range attributes {
		places[k] = 0
		if int64(a) < int64(len(slots)) {
			if places[k] = slots[a].Load(); places[k] == 0 {
				shapes[k] = w.h.shapes.Of[a]
			}
		}
	}
}

// addRun adds intervals up to the first that is unusual, and returns their number. An interval is usual if
// it follows the attribute's previous one, its value is not text or is a recent text, and no memory must be
// reserved. add is for all others. It decides on an interval before it changes anything.
func (w *Writer) addRun(places, shapes []uint32, attributes []Attribute, starts, ends []int64, values []Value) int {
	h, most := w.h, int64(math.MinInt64)
	works, final, n := h.works, h.final, len(places)
	shapes, attributes, starts, ends, values = shapes[:n], attributes[:n], starts[:n], ends[:n], values[:n]
	k := 0
	for ; k < n; k++ {
		start, end, v := starts[k], ends[k], &values[k]
		if end < start || end <= final || end == math.MaxInt64 {
			break
		}
		pos := places[k]
		if pos == 0 {
			if pos = w.placeFirst(attributes[k], shapes[k], start, v.kind); pos == 0 {
				break
			}
			works = h.works
		}
		pos--
		work, slot := works[pos/laneWidth], uint(pos%laneWidth)
		at, b := &work.slots[slot], work.entries.tail
		if start != at.start || work.plain>>slot&1 == 0 || b == nil && h.opts.Reserve != nil {
			break
		}
		word, null := v.word, uint8(0)
		if v.kind == KindString {
			if word = uint64(h.recent.Find(v.text)); word == 0 {
				break
			}
		}
		if v.kind == KindNull {
			null = tile.Null
		} else if uint64(v.kind) != at.word && !w.firstKind(work, slot, v.kind) {
			break
		}
		if b == nil {
			b = work.entries.next()
		}
		w.touch(work, 1<<slot)
		at.start = end + 1
		if work.entries.n == 0 || end >= work.latest {
			work.latest = end
		} else {
			work.mixed = true
		}
		i := work.entries.n % blockLen
		if work.entries.n++; i == blockLen-1 {
			work.entries.tail = nil
		}
		b.at[i], b.slots[i] = tile.End{End: end, Word: word}, uint8(slot)|null
		most = max(most, end)
		if w.journal != nil {
			w.journal.add(opAdd, attributes[k], end, v, word)
		}
	}
	if k > 0 {
		w.addEnd(most)
	}
	return k
}

// placeFirst returns an attribute's place, from 1. It gives the attribute one for a first interval that is
// not text, if no memory must be reserved. In other cases without a place it returns 0.
func (w *Writer) placeFirst(a Attribute, shape uint32, start int64, kind Kind) (pos uint32) {
	h := w.h
	if int64(a) >= int64(w.Len()) {
		return 0
	}
	pos = h.slots[a].Load() // it may have got one since placesOf
	if pos != 0 || start != h.opts.Start || kind >= KindString || h.opts.Reserve != nil {
		return pos
	}
	pos = w.place(a, shape, kind)
	l, slot := w.slotOf(pos)
	l.fed.Or(1 << slot)
	l.work.plain |= 1 << slot
	l.work.slots[slot].word = uint64(KindNull)
	return pos + 1
}

// firstKind makes kind that of a plain slot's values, if it had only nulls. It returns false if it has
// another kind, or if kind is bytes, for which no slot is plain.
func (w *Writer) firstKind(work *laneWork, slot uint, kind Kind) bool {
	if at := &work.slots[slot]; at.word == uint64(KindNull) && kind != KindBytes {
		w.setKind(work.lane, slot, kind)
		at.word = uint64(kind)
		return true
	}
	return false
}

// addAhead is the number of attributes that AddAll looks up at a time, with loads that do not wait for each
// other.
const addAhead = 512

func (w *Writer) add(a Attribute, start, end int64, v *Value) error {
	if err := w.check(); err != nil {
		return err
	}
	if err := w.Known(a); err != nil {
		return err
	}
	var l *lane
	var slot uint
	begin, ended := w.h.opts.Start, false
	if pos := w.h.slots[a].Load(); pos != 0 {
		l, slot = w.slotOf(pos - 1)
		if l.fed.Load()>>slot&1 == 0 {
			return fmt.Errorf("%w: attribute %d has changes", ErrFeed, a)
		}
		begin, ended = l.work.slots[slot].start, l.work.ended>>slot&1 != 0
	}
	switch {
	case w.h.written && end <= w.h.final && start <= end:
		return fmt.Errorf("%w: attribute %d in [%d, %d], everything up to %d is committed", ErrFinal, a, start, end, w.h.final)
	case start != begin || ended || end < start:
		return fmt.Errorf("%w: attribute %d in [%d, %d], its next interval begins at %d", ErrGap, a, start, end, begin)
	}
	if w.journal != nil {
		if err := w.reserveOps(1, len(v.text)); err != nil {
			return err
		}
		if l == nil || l.work.entries.n%blockLen == 0 {
			if err := w.reserve(blockLen * opBytes); err != nil {
				return err
			}
		}
	}
	word, err := w.word(l, slot, a, v)
	if err != nil {
		return err
	}
	isNew := l == nil
	if l, slot, err = w.room(a, l, slot, v.kind); err != nil {
		return err
	}
	bit := uint64(1) << slot
	if isNew {
		l.fed.Or(bit)
		l.setKind(slot, v.kind) // an abort takes the place back
	} else {
		w.setKind(l, slot, v.kind)
	}
	work := l.work
	if k := l.kinds[slot]; k == KindBytes { // after a null it was plain
		work.plain &^= bit
	} else {
		work.plain |= bit
		work.slots[slot].word = uint64(k)
	}
	w.touch(work, bit)
	work.add(end, word, slot, v.IsNull())
	if end == math.MaxInt64 {
		work.ended |= bit
		work.plain &^= bit
	} else {
		work.slots[slot].start = end + 1
	}
	w.addEnd(end)
	if w.journal != nil {
		w.journal.add(opAdd, a, end, v, word)
	}
	return nil
}

// addNext is addRun for one interval of an attribute with a place, because a run of one takes 10 ns more. It
// returns the value's word, and the caller records the interval in the journal.
func (w *Writer) addNext(pos uint32, start, end int64, v *Value) (word uint64, added bool) {
	work, slot := w.h.works[pos/laneWidth], uint(pos%laneWidth)
	at := &work.slots[slot]
	if end < start || end <= w.h.final || end == math.MaxInt64 ||
		start != at.start || work.plain>>slot&1 == 0 || work.entries.tail == nil && w.h.opts.Reserve != nil {
		return 0, false
	}
	word = v.word
	if v.kind == KindString {
		if word = uint64(w.h.recent.Find(v.text)); word == 0 {
			return 0, false
		}
	}
	if uint64(v.kind) != at.word && v.kind != KindNull && !w.firstKind(work, slot, v.kind) {
		return 0, false
	}
	w.touch(work, 1<<slot)
	work.add(end, word, slot, v.kind == KindNull)
	at.start = end + 1
	w.addEnd(end)
	return word, true
}

// addEnd makes everything up to end instants of the history.
func (w *Writer) addEnd(end int64) {
	after := end + 1
	if end == math.MaxInt64 {
		after = end
	}
	if !w.written {
		w.written, w.last, w.final, w.barred = true, end, end, after
		return
	}
	w.last, w.final, w.barred = max(w.last, end), max(w.final, end), max(w.barred, after)
}
