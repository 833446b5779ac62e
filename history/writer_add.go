package history

import (
	"fmt"
	"math"
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
		some := attributes[lo:hi]
		for k, a := range some {
			places[k] = 0
			if int64(a) < int64(w.Len()) {
				if places[k] = w.h.slots[a].Load(); places[k] == 0 {
					shapes[k] = w.h.shapes.Of[a]
				}
			}
		}
		starts, ends, values := starts[lo:hi], ends[lo:hi], values[lo:hi]
		for k, a := range some {
			pos, word, added := places[k], uint64(0), false
			if pos == 0 && int64(a) < int64(w.Len()) {
				if pos = w.h.slots[a].Load(); pos == 0 {
					word, added = w.addFirst(a, shapes[k], starts[k], ends[k], &values[k])
				}
			}
			if pos != 0 {
				word, added = w.addNext(pos-1, starts[k], ends[k], &values[k])
			}
			if added {
				if w.journal != nil {
					w.journal.add(opAdd, a, ends[k], &values[k], word)
				}
			} else if err := w.add(a, starts[k], ends[k], &values[k]); err != nil {
				return lo + k, err
			}
		}
	}
	return n, nil
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

// addFirst is Add for the first interval of a known attribute without a place, if no memory must be
// reserved and the value is not text. It returns the value's word. In other cases it does nothing and
// returns false.
func (w *Writer) addFirst(a Attribute, shape uint32, start, end int64, v *Value) (word uint64, added bool) {
	h := w.h
	if start != h.opts.Start || end < start || end <= h.final || end == math.MaxInt64 ||
		v.kind >= KindString || h.opts.Reserve != nil {
		return 0, false
	}
	pos := w.place(a, shape, v.kind)
	l, slot := w.slotOf(pos)
	l.fed.Or(1 << slot)
	l.work.plain |= 1 << slot
	l.work.slots[slot].word = uint64(KindNull)
	return w.addNext(pos, start, end, v)
}

// addNext is Add in the usual case: the interval follows the previous one, the value is not text or is a
// recent text, and no memory must be reserved. It returns the value's word, and the caller records the
// interval in the journal. In other cases it does nothing and returns false.
func (w *Writer) addNext(pos uint32, start, end int64, v *Value) (word uint64, added bool) {
	work, slot := w.h.works[pos/laneWidth], uint(pos%laneWidth)
	at := &work.slots[slot]
	isFirst := uint64(v.kind) != at.word && v.kind != KindNull // otherwise the value has the others' kind
	if work.plain>>slot&1 == 0 || start != at.start || end < start || end <= w.h.final || end == math.MaxInt64 ||
		isFirst && (at.word != uint64(KindNull) || v.kind == KindBytes) || work.entries.tail == nil && w.h.opts.Reserve != nil {
		return 0, false
	}
	word = v.word
	if v.kind == KindString {
		if word = uint64(w.h.recent.Find(v.text)); word == 0 {
			return 0, false
		}
	}
	if isFirst {
		w.setKind(work.lane, slot, v.kind)
		at.word = uint64(v.kind)
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
