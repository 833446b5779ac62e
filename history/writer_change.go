package history

import (
	"fmt"
	"math"
	"math/bits"
)

// Change gives an attribute a value from t on: its ongoing interval ends at t-1, and the next begins. If v
// equals the ongoing value, the interval goes on, and t still becomes an instant of the history. If the
// ongoing interval began at t, its value is replaced; it stays apart from the previous interval even if the
// values are equal. A null is not an attribute's first use. About 20 ns. Text that was not written lately
// is hashed.
//
// The errors are ErrOrder for a t before the start of the ongoing interval, ErrFinal, ErrAttribute,
// ErrKind, ErrFeed, ErrLimit, ErrClosed, ErrDone, and the error of Options.Reserve.
func (w *Writer) Change(t int64, a Attribute, v Value) error {
	l, slot, err := w.changeable(t, a)
	if err != nil {
		return err
	}
	if w.journal != nil {
		if err := w.reserveOps(1, len(v.text)); err != nil {
			return err
		}
	}
	word, err := w.word(l, slot, a, &v)
	if err != nil {
		return err
	}
	isUsed := l != nil || !v.IsNull()
	if isUsed {
		if l, slot, err = w.room(a, l, slot, v.kind); err != nil {
			return err
		}
	}
	w.advance(t)
	if w.journal != nil {
		w.journal.add(0, a, t, &v, word)
	}
	if !isUsed {
		return nil // as it was
	}
	w.setKind(l, slot, v.kind)
	work := l.work
	bit := uint64(1) << slot
	if had := work.has&bit != 0; had == !v.IsNull() && (!had || work.slots[slot].word == word) {
		return nil
	}
	if t > work.slots[slot].start {
		w.end(l, slot, t-1)
		work.slots[slot].start = t
	}
	w.touch(work, bit)
	work.set(slot, word, !v.IsNull())
	return nil
}

// changeable checks that an attribute can change at t. The lane is nil before its first use.
func (w *Writer) changeable(t int64, a Attribute) (l *lane, slot uint, err error) {
	if err := w.check(); err != nil {
		return nil, 0, err
	}
	if err := w.Known(a); err != nil {
		return nil, 0, err
	}
	begin := w.h.opts.Start
	if pos := w.h.slots[a].Load(); pos != 0 {
		l, slot = w.slotOf(pos - 1)
		if l.fed.Load()>>slot&1 != 0 {
			return nil, 0, fmt.Errorf("%w: attribute %d has closed intervals added", ErrFeed, a)
		}
		begin = l.work.slots[slot].start
	}
	if w.h.written && t <= w.h.barred {
		return nil, 0, fmt.Errorf("%w: attribute %d at %d, everything up to %d is committed", ErrFinal, a, t, w.h.barred)
	}
	if t < begin {
		return nil, 0, fmt.Errorf("%w: attribute %d at %d, its ongoing interval began at %d", ErrOrder, a, t, begin)
	}
	return l, slot, nil
}

// room ensures that an attribute's lane can take an entry. At the attribute's first use, with a value of
// the given kind, it gets its place there.
func (w *Writer) room(a Attribute, l *lane, slot uint, kind Kind) (*lane, uint, error) {
	need, isNew := int64(0), l == nil
	if isNew {
		need = firstBytes
		if at, newLane := w.h.laneFor(w.h.shapes.lane(w.h.shapes.Of[a]), kind); !newLane {
			need, l = shapeLaneSize, w.h.lanes[*at]
		}
	}
	if l != nil && l.work.entries.n%blockLen == 0 {
		need += roomBytes
	}
	err := w.reserve(need)
	if err == nil && isNew {
		l, slot = w.slotOf(w.place(a, w.h.shapes.Of[a], kind))
	}
	return l, slot, err
}

// advance makes t an instant of the history, for a Change.
func (w *Writer) advance(t int64) {
	if !w.written {
		w.written, w.last, w.barred, w.final = true, t, t, max(t, math.MinInt64+1)-1
		return
	}
	if t > w.barred {
		w.barred = t
	}
	if t > w.last {
		w.last = t
	}
	if t > math.MinInt64 && t-1 > w.final {
		w.final = t - 1
	}
}

// end appends the end of a slot's ongoing interval.
func (w *Writer) end(l *lane, slot uint, at int64) {
	work := l.work
	work.add(at, work.slots[slot].word, slot, work.has>>slot&1 == 0)
}

// Update replaces the value of an attribute's ongoing interval, and leaves its start. The interval must
// have begun in this transaction, or be the first while nothing was committed. Otherwise the error is
// ErrFinal, because views have the interval. It also returns the errors of Change.
func (w *Writer) Update(a Attribute, v Value) error {
	in, err := w.Ongoing(a)
	if err != nil {
		return err
	}
	return w.Change(in.Start, a, v)
}

// Ongoing returns an attribute's ongoing interval in the transaction. The interval ends at the latest instant
// of any write. After an Add up to the last possible instant there is none, and the result is null from and to
// that instant. The errors are ErrAttribute, ErrDone and ErrClosed.
func (w *Writer) Ongoing(a Attribute) (Interval, error) {
	if err := w.check(); err != nil {
		return Interval{}, err
	}
	if err := w.Known(a); err != nil {
		return Interval{}, err
	}
	in := Interval{Start: w.h.opts.Start, Open: true}
	if pos := w.h.slots[a].Load(); pos != 0 {
		l, slot := w.slotOf(pos - 1)
		in.Start = l.work.slots[slot].start
		if l.work.ended>>slot&1 != 0 {
			in.Start = math.MaxInt64
		}
		if l.work.has>>slot&1 != 0 {
			in.Value = valueOfWord(&w.h.texts.Texts, l.kinds[slot], l.work.slots[slot].word)
		}
	}
	in.End = max(in.Start, w.last)
	if !w.written {
		in.End = in.Start
	}
	return in, nil
}

// Remove makes an attribute and all its descendants null from t on. They stay attributes, and can change
// again. If one of them cannot change at t, none does. Remove returns the errors of Change.
func (w *Writer) Remove(t int64, a Attribute) error {
	if _, _, err := w.changeable(t, a); err != nil {
		return err
	}
	n := 1
	for d := range w.Descendants(a) {
		if _, _, err := w.changeable(t, d); err != nil {
			return fmt.Errorf("remove attribute %d: %w", a, err)
		}
		n++
	}
	if err := w.ensure(w.changesBytes(n), n, 0); err != nil {
		return err
	}
	if err := w.Change(t, a, Value{}); err != nil {
		return err
	}
	for d := range w.Descendants(a) {
		if err := w.Change(t, d, Value{}); err != nil {
			return err // not reached: each was checked, and memory is reserved
		}
	}
	return nil
}

// IncrementInt adds delta to an attribute's value, which counts as 0 if it is null. It returns the errors
// of Change, and ErrLimit beyond the range of int64.
func (w *Writer) IncrementInt(t int64, a Attribute, delta int64) error {
	before, err := w.replaceable(t, a, Int(0))
	if err != nil {
		return err
	}
	sum := before.Int() + delta
	if delta > 0 && sum < before.Int() || delta < 0 && sum > before.Int() {
		return fmt.Errorf("%w: attribute %d is %d, adding %d is beyond int64", ErrLimit, a, before.Int(), delta)
	}
	return w.Change(t, a, Int(sum))
}

// IncrementFloat adds delta to an attribute's value, which counts as 0 if it is null. It returns the errors
// of Change.
func (w *Writer) IncrementFloat(t int64, a Attribute, delta float64) error {
	before, err := w.replaceable(t, a, Float(0))
	if err != nil {
		return err
	}
	return w.Change(t, a, Float(before.Float()+delta))
}

// replaceable returns an attribute's ongoing value, if it can change at t to a value like v.
func (w *Writer) replaceable(t int64, a Attribute, v Value) (Value, error) {
	in, err := w.Ongoing(a)
	if err == nil {
		err = w.fits(t, a, v)
	}
	return in.Value, err
}

// fits returns the error that changing an attribute to v at t would have.
func (w *Writer) fits(t int64, a Attribute, v Value) error {
	l, slot, err := w.changeable(t, a)
	if err != nil {
		return err
	}
	_, err = w.word(l, slot, a, &v)
	return err
}

// Close ends every interval at t. The error is ErrOrder if t is before the latest write. The writer returns
// ErrClosed from then on, and so does the history after the commit. An attribute that Add feeds is null
// from its last interval to t.
func (w *Writer) Close(t int64) error {
	if err := w.check(); err != nil {
		return err
	}
	if t < w.h.opts.Start || w.written && t < w.last {
		return fmt.Errorf("%w: close at %d, the history is at %d", ErrOrder, t, max(w.last, w.h.opts.Start))
	}
	if err := w.reserve(int64(len(w.h.lanes)) * 2 * roomBytes); err != nil {
		return err
	}
	for _, l := range w.h.lanes {
		has := l.work.has
		if has != 0 {
			w.touch(l.work, has)
		}
		for ; has != 0; has &= has - 1 {
			slot := bits.TrailingZeros64(has)
			w.end(l, uint(slot), t)
		}
	}
	w.written, w.last, w.final, w.barred, w.closing = true, t, t, t, true
	if w.journal != nil {
		w.journal.closedAt = &t
	}
	return nil
}
