package history

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
)

// Writer writes a history within a transaction (Tx): what it writes is seen when that is
// committed, all of it or nothing. It belongs to one goroutine. An error of a method means
// that it changed nothing (AddAll says how much it did); the writer can go on.
//
// Its Names are those of all attributes, the ones that it created included.
//
// An attribute is fed either by Change or by Add; its first use decides, and the other
// is ErrFeed from then on. Its kind is that of its first value that is not null.
// Within a transaction each attribute's own times must be in order, not those of
// different attributes. A commit makes time final: afterwards a Change must be later
// than every committed Change, and than the instant behind every committed Add; an Add
// must end no earlier than the last committed Change and later than every committed
// Add. (Nothing is added at math.MinInt64 once that is committed.) What a view says of an
// instant therefore is what all later ones say.
type Writer struct {
	Names

	h         *History
	done      bool
	published bool
	closing   bool
	names     int // attributes when it began
	laneCount int // lanes
	touched   []*lane
	*undo

	written bool
	last    int64
	final   int64
	barred  int64

	credit int64 // bytes that were reserved and not taken
}

// Attribute returns the attribute of a path, and creates what is missing of it, parents
// first. Names may be any UTF-8 text of at most 64 KiB. The errors are ErrLimit, and
// ErrAttribute for an empty path. About 200 ns for each name that is new, 100 for others.
func (w *Writer) Attribute(path ...string) (Attribute, error) { return w.Child(Root, path...) }

// Child is Attribute with a path from an attribute on, or from Root.
func (w *Writer) Child(base Attribute, path ...string) (Attribute, error) {
	if err := w.check(); err != nil {
		return 0, err
	}
	if base != Root && int(base) >= w.n || len(path) == 0 {
		return 0, fmt.Errorf("%w: path %q from %d", ErrAttribute, path, base)
	}
	before := w.n
	for _, name := range path {
		next, err := w.child(base, name)
		if err != nil {
			w.truncate(before)
			return 0, err
		}
		base = next
	}
	return base, nil
}

// child returns a child of an attribute, a new one if there is none.
func (w *Writer) child(parent Attribute, name string) (Attribute, error) {
	h := w.h
	if err := w.reserve(attributeBytes + int64(len(name))); err != nil {
		return 0, err
	}
	a, isNew, err := h.tree.add(parent, name)
	switch {
	case err != nil:
		return 0, err
	case !isNew:
		w.credit += attributeBytes + int64(len(name))
		return a, nil
	}
	h.shapes.add(parent, name)
	if int(a) >= len(h.slots) {
		grown := make([]atomic.Uint32, max(laneWidth, 2*len(h.slots)))
		for i := range h.slots {
			grown[i].Store(h.slots[i].Load())
		}
		h.slots = grown
	}
	w.n = int(a) + 1
	return a, nil
}

// truncate forgets the attributes from n on: none of them was used.
func (w *Writer) truncate(n int) {
	w.h.tree.truncate(n)
	w.h.shapes.of = w.h.shapes.of[:n]
	w.n = n
}

// reserve asks for memory that a write takes.
func (w *Writer) reserve(bytes int64) error {
	if w.h.opts.Reserve == nil || w.credit >= bytes {
		w.credit -= bytes
		return nil
	}
	step := max(bytes, reserveStep)
	if err := w.h.opts.Reserve(step); err != nil {
		return err
	}
	w.credit += step - bytes
	return nil
}

// ensure asks for what several writes take, so that none of them fails for want of it.
func (w *Writer) ensure(bytes int64) error {
	if err := w.reserve(bytes); err != nil {
		return err
	}
	w.credit += bytes
	return nil
}

// changesBytes returns at most what changes of so many attributes take that have their
// place: a block for each of their lanes, and more for each 64 of them.
func (w *Writer) changesBytes(n int) int64 {
	return int64(min(n, len(w.h.lanes))+n/blockLen) * roomBytes
}

// What writes reserve, in bytes: more than they take.
const (
	reserveStep    = 64 << 10
	attributeBytes = 96
	textBytes      = 64
	roomBytes      = blockSize + 8
	placeBytes     = laneSize + sealedSize + workSize + ongoingSize + roomBytes + 8*laneWidth
)

// check says whether the writer can write.
func (w *Writer) check() error {
	switch {
	case w.done || w.published:
		return ErrDone
	case w.closing:
		return ErrClosed
	}
	return nil
}

// Change says that an attribute has a value from t on: its ongoing interval ends at
// t-1, and the next begins. The value that it has already goes on, and t is an instant of
// the history all the same; at the instant at which the ongoing interval began, the value is
// replaced, and may then be that of the interval before, which stays one of its own. Null is
// no first use of an attribute. About 20 ns; text that was not written lately is hashed.
//
// The errors are ErrTime for a t before the start of the ongoing interval, or final;
// ErrAttribute, ErrKind, ErrFeed, ErrLimit, ErrClosed and ErrDone.
func (w *Writer) Change(t int64, a Attribute, v Value) error {
	l, slot, err := w.changeable(t, a)
	if err != nil {
		return err
	}
	word, err := w.word(l, slot, a, &v)
	if err != nil {
		return err
	}
	if l == nil && v.IsNull() {
		w.advance(t)
		return nil // as it was
	}
	if l, slot, err = w.room(a, l, slot); err != nil {
		return err
	}
	w.advance(t)
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

// room sees to it that a lane can take an entry: the lane of the attribute, which gets its
// place there at its first use.
func (w *Writer) room(a Attribute, l *lane, slot uint) (*lane, uint, error) {
	if l == nil {
		if err := w.reserve(placeBytes); err != nil {
			return nil, 0, err
		}
		l, slot = w.slotOf(w.place(a, w.h.shapes.of[a]))
		return l, slot, nil
	}
	if l.work.entries.n%blockLen == 0 {
		return l, slot, w.reserve(roomBytes)
	}
	return l, slot, nil
}

// changeable checks that an attribute can change at t. The lane is nil before its
// first use.
func (w *Writer) changeable(t int64, a Attribute) (l *lane, slot uint, err error) {
	if err := w.check(); err != nil {
		return nil, 0, err
	}
	if int64(a) >= int64(w.n) {
		return nil, 0, fmt.Errorf("%w: %d of %d", ErrAttribute, a, w.n)
	}
	begin := w.h.opts.Start
	if pos := w.h.slots[a].Load(); pos != 0 {
		l, slot = w.slotOf(pos - 1)
		if l.fed.Load()>>slot&1 != 0 {
			return nil, 0, fmt.Errorf("%w: attribute %d has closed intervals added", ErrFeed, a)
		}
		begin = l.work.slots[slot].start
	}
	if t < begin {
		return nil, 0, fmt.Errorf("%w: attribute %d at %d, its ongoing interval began at %d", ErrTime, a, t, begin)
	}
	if w.h.written && t <= w.h.barred {
		return nil, 0, fmt.Errorf("%w: attribute %d at %d, everything up to %d is committed", ErrTime, a, t, w.h.barred)
	}
	return l, slot, nil
}

func (w *Writer) slotOf(pos uint32) (*lane, uint) {
	return w.h.lanes[pos/laneWidth], uint(pos % laneWidth)
}

// word returns what a value is in a lane, if the attribute, in its slot, can have it.
func (w *Writer) word(l *lane, slot uint, a Attribute, v *Value) (uint64, error) {
	if l != nil && v.kind != KindNull && l.kinds[slot] != v.kind && l.kinds[slot] != KindNull {
		return 0, fmt.Errorf("%w: attribute %d has %v values, not %v", ErrKind, a, l.kinds[slot], v.kind)
	}
	if v.kind < KindString {
		return v.word, nil
	}
	if v.kind == KindString {
		if code := w.h.recent.find(v.text); code != 0 {
			return uint64(code), nil
		}
	}
	if err := v.check(); err != nil {
		return 0, fmt.Errorf("attribute %d: %w", a, err)
	}
	text := bytesOf(v.text)
	code := w.h.texts.Find(text)
	if code == 0 {
		if err := w.reserve(textBytes + int64(len(text))); err != nil {
			return 0, err
		}
		var err error
		if code, err = w.h.texts.Intern(text); err != nil {
			return 0, fmt.Errorf("%w: attribute %d: %w", ErrLimit, a, err)
		}
	}
	if v.kind == KindString {
		w.h.keep(code)
	}
	return uint64(code), nil
}

// setKind keeps the kind of the first value that is not null.
func (w *Writer) setKind(l *lane, slot uint, k Kind) {
	if k != KindNull && l.kinds[slot] == KindNull {
		l.kinds[slot] = k
		w.kinds = append(w.kinds, kindOf{l, slot})
	}
}

// undo is what an abort undoes. Transactions use the memory one after the other, but for that
// of one with more than keptEntries.
type undo struct {
	placed []placement
	kinds  []kindOf // slots that got their kind
}

// kindOf is a slot of a lane.
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

// advance makes t an instant of the history, at which something was said by a Change.
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

// touch notes slots of a lane that are written.
func (w *Writer) touch(work *laneWork, slots uint64) {
	if work.changed == 0 {
		w.touched = append(w.touched, work.lane)
	}
	work.changed |= slots
}

func (work *laneWork) set(slot uint, word uint64, has bool) {
	work.slots[slot].word = word
	if has {
		work.has |= 1 << slot
	} else {
		work.has &^= 1 << slot
	}
}

// Update replaces the value of an attribute's ongoing interval, and leaves its start.
// The interval must have begun in this transaction, or be the one from the start of
// the history on before anything was committed: else it is ErrTime, for what a view has
// said stays. The other errors are those of Change.
func (w *Writer) Update(a Attribute, v Value) error {
	if err := w.check(); err != nil {
		return err
	}
	if int64(a) >= int64(w.n) {
		return fmt.Errorf("%w: %d of %d", ErrAttribute, a, w.n)
	}
	at := w.h.opts.Start
	if pos := w.h.slots[a].Load(); pos != 0 {
		l, slot := w.slotOf(pos - 1)
		at = l.work.slots[slot].start
	}
	return w.Change(at, a, v)
}

// Ongoing returns the interval that an attribute is in, as the transaction has it: its
// end is the latest instant that anything was said of. After an Add up to the last instant
// of all there is none: it is null, from and to that instant. The errors are ErrAttribute,
// ErrDone and ErrClosed.
func (w *Writer) Ongoing(a Attribute) (Interval, error) {
	if err := w.check(); err != nil {
		return Interval{}, err
	}
	if int64(a) >= int64(w.n) {
		return Interval{}, fmt.Errorf("%w: %d of %d", ErrAttribute, a, w.n)
	}
	in := Interval{Start: w.h.opts.Start, Open: true}
	if pos := w.h.slots[a].Load(); pos != 0 {
		l, slot := w.slotOf(pos - 1)
		in.Start = l.work.slots[slot].start
		if l.work.ended>>slot&1 != 0 {
			in.Start = math.MaxInt64
		}
		if l.work.has>>slot&1 != 0 {
			in.Value = w.h.value(l.kinds[slot], l.work.slots[slot].word)
		}
	}
	in.End = max(in.Start, w.last)
	if !w.written {
		in.End = in.Start
	}
	return in, nil
}

// value returns what a word stands for.
func (h *History) value(k Kind, word uint64) Value {
	switch {
	case k == KindNull:
		return Value{} // the word may be that of a value which came later
	case k >= KindString:
		return Value{kind: k, text: textOf(h.texts.Value(uint32(word)))}
	}
	return Value{kind: k, word: word}
}

// Remove makes an attribute and all below it null from t on. They stay attributes, and
// can change again. If one of them cannot change at t, none does.
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
	if err := w.ensure(w.changesBytes(n)); err != nil {
		return err
	}
	if err := w.Change(t, a, Value{}); err != nil {
		return err
	}
	for d := range w.Descendants(a) {
		if err := w.Change(t, d, Value{}); err != nil {
			return err // not reached: each was checked, and memory is there
		}
	}
	return nil
}

// Close ends every interval at t, which must not be before anything that was said, else
// it is ErrTime. When it has been committed, the history takes no writes any more:
// ErrClosed, here from now on. What Add fed and has no interval until t is null there.
func (w *Writer) Close(t int64) error {
	if err := w.check(); err != nil {
		return err
	}
	if t < w.h.opts.Start || w.written && t < w.last {
		return fmt.Errorf("%w: close at %d, the history is at %d", ErrTime, t, max(w.last, w.h.opts.Start))
	}
	if err := w.reserve(int64(len(w.h.lanes)) * 2 * roomBytes); err != nil {
		return err
	}
	for _, l := range w.h.lanes {
		has := l.work.has
		if has != 0 {
			w.touch(l.work, has)
		}
		for has != 0 {
			var slot int
			slot, has = nextSlot(has)
			w.end(l, uint(slot), t)
		}
	}
	w.written, w.last, w.final, w.barred, w.closing = true, t, t, t, true
	return nil
}
