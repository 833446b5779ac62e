package history

import (
	"cmp"
	"encoding/binary"
	"math"

	"github.com/granarydb/granary/internal/fields"
)

// Replay repeats a transaction from its journal (Draft.Journal), and commits it. A history that equals the
// original before the transaction equals it afterwards: attributes, values, times, and the errors of
// writes. If the journals of all commits are repeated in order on a new history with the same
// Options.Start, it equals the original. Memory differs in which entries are packed into tiles.
//
// An error wraps ErrJournal, and means that nothing happened. It is ErrBusy while a transaction has not
// ended. Bytes that are not a journal are refused, or taken for operations that a writer could have done,
// in memory of at most 64 times their size. Replay costs about 60 ns an operation. It keeps none of the
// bytes.
func (h *History) Replay(journal []byte) (*View, error) {
	if !h.busy.CompareAndSwap(false, true) {
		return nil, ErrBusy
	}
	d := h.draft()
	d.done = h.closed
	r := replay{Reader: fields.NewReader(journal, ErrJournal), d: d, texts: h.replayed}
	if err := r.run(); err != nil {
		d.Abort()
		return nil, err
	}
	h.replayed = r.texts
	v, err := d.Commit()
	h.numbers.floor = max(h.numbers.floor, r.floor)
	return v, err
}

// replay repeats a journal.
type replay struct {
	fields.Reader
	d     *Draft
	texts []string // by number
	floor int64
}

func (r *replay) run() error {
	r.In("journal")
	flags := r.Uint("flags", journalFlags)
	if flags&journalBegins != 0 {
		r.texts = nil
	}
	r.floor = math.MinInt64
	if flags&journalDrops != 0 {
		r.floor = int64(r.Int("floor"))
		r.d.DropBefore(r.floor)
	}
	closedAt := int64(0)
	if flags&journalCloses != 0 {
		closedAt = int64(r.Int("end"))
	}
	r.attributes()
	r.operations()
	if r.Err() == nil && flags&journalCloses != 0 {
		r.check(r.d.Close(closedAt))
	}
	return r.Err()
}

// check makes a write's error the journal's.
func (r *replay) check(err error) {
	if err != nil {
		r.Failf("%v", err)
	}
}

// attributes creates the new attributes.
func (r *replay) attributes() {
	for n := r.Count("attributes", 2); n > 0 && r.Err() == nil; n-- {
		next := uint32(r.d.Len())
		parent := next - uint32(r.Uint("parent", uint64(next)+1))
		name := r.Text("name", math.MaxInt32)
		if r.Err() != nil {
			return
		}
		a, err := r.d.Child(Attribute(parent), string(name))
		r.check(err)
		if err == nil && uint32(a) != next {
			r.Failf("attribute %d is there", a)
		}
	}
}

// operations repeats the changes, and the intervals that were added.
func (r *replay) operations() {
	w := r.d.Writer
	a, at := int64(0), w.h.last
	for r.Left() > 0 {
		known := len(r.texts)
		op := r.Raw("operation", 1)[0]
		a += int64(r.Int("attribute"))
		at += int64(r.Int("time"))
		v := r.value(Kind(op&opKind), uint64(op>>opSmall))
		switch {
		case r.Err() != nil:
		case a < 0 || a >= int64(w.Len()):
			r.Failf("attribute %d of %d", a, w.Len())
		case op&opAdd != 0:
			start := w.h.opts.Start
			if pos := w.h.slots[a].Load(); pos != 0 {
				l, slot := w.slotOf(pos - 1)
				start = l.work.slots[slot].start
			}
			r.check(w.Add(Attribute(a), start, at, v))
		default:
			r.check(w.Change(at, Attribute(a), v))
		}
		if n := len(r.texts); n > known && r.Err() == nil { // drop this copy, because the history keeps the text
			code, _ := w.h.texts.Find(r.texts[n-1])
			r.texts[n-1] = textOf(w.h.texts.At(code))
		}
	}
}

// value reads an operation's value.
func (r *replay) value(k Kind, small uint64) Value {
	most := [...]uint64{KindBool: 1, KindInt: smallMore, KindFloat: 8, KindString: smallMore, KindBytes: smallMore}
	if int(k) >= len(most) || small > most[k] {
		r.Failf("value %d of kind %d", small, k)
		return Value{}
	}
	word := small
	if small == smallMore {
		word += r.Uint("value", math.MaxUint64-smallMore)
	}
	switch k {
	case KindInt:
		return Value{kind: k, word: word>>1 ^ -(word & 1)}
	case KindFloat:
		var all [8]byte
		copy(all[:], r.Raw("value", int(small)))
		return Value{kind: k, word: binary.BigEndian.Uint64(all[:])}
	case KindString, KindBytes:
		return Value{kind: k, text: r.text(word)}
	}
	return Value{kind: k, word: word}
}

// text returns the text with a number. If the number is new, the text follows in the journal.
func (r *replay) text(number uint64) string {
	switch known := uint64(len(r.texts)); cmp.Compare(number, known) {
	case 0:
		r.texts = append(r.texts, string(r.Text("text", maxValue)))
	case 1:
		r.Failf("text %d of %d", number, known)
		return ""
	}
	return r.texts[number]
}
