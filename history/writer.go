package history

import (
	"fmt"
	"sync/atomic"

	"github.com/granarydb/granary/internal/names"
)

// Writer writes a history within a transaction (Draft). A commit publishes all its writes together. It
// belongs to one goroutine. An error means that the method changed nothing, except AddAll, and the writer
// can go on.
//
// Its Names are all attributes, including new ones.
//
// An attribute is fed either by Change or by Add. Its first use decides, and the other returns ErrFeed from
// then on. Its kind is that of its first value that is not null. Within a transaction each attribute's
// times must be in order, while times of different attributes need not be.
//
// A commit makes time final: afterwards a Change must be later than every committed Change, and than the
// instant behind every committed Add. An Add must end no earlier than the last committed Change and later
// than every committed Add. (Nothing is added at math.MinInt64 once that is committed.) So all later views
// agree with a view on its instants.
type Writer struct {
	Names

	h         *History
	done      bool // it takes no more writes
	closing   bool
	names     int // number of attributes at the start
	laneCount int // number of lanes at the start
	changed   []*lane
	*undo

	written bool
	last    int64
	final   int64
	barred  int64
	drop    *int64 // nil: nothing is dropped

	credit  int64    // bytes that were reserved and not used
	journal *journal // nil: none is kept
}

// Attribute returns the attribute at path, and creates missing attributes on it, parents first. A name may
// be any UTF-8 text of at most 64 KiB. The errors are ErrLimit, ErrAttribute for an empty path,
// ErrClosed, ErrDone, and the error of Options.Reserve. A new name costs about 200 ns, another name 100 ns.
func (w *Writer) Attribute(path ...string) (Attribute, error) { return w.Child(Top, path...) }

// Child is Attribute with a path that starts at base, which may be Top. The error is ErrAttribute also for an
// unknown base.
func (w *Writer) Child(base Attribute, path ...string) (Attribute, error) {
	if err := w.check(); err != nil {
		return 0, err
	}
	if base != Top && int(base) >= w.Len() || len(path) == 0 {
		return 0, fmt.Errorf("%w: path %q from %d", ErrAttribute, path, base)
	}
	before := w.Len()
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

// child returns parent's child called name, and creates it if it is missing.
func (w *Writer) child(parent Attribute, name string) (Attribute, error) {
	h, need := w.h, attributeBytes+2*int64(len(name))
	if w.journal != nil {
		need += opBytes + int64(len(name))
	}
	if err := w.reserve(need); err != nil {
		return 0, err
	}
	a, isNew, err := h.tree.Add(parent, name)
	switch {
	case err != nil:
		return 0, err
	case !isNew:
		w.credit += need
		return a, nil
	}
	h.shapes.Add(parent, name)
	if int(a) >= len(h.slots) {
		grown := make([]atomic.Uint32, max(laneWidth, 2*len(h.slots)))
		for i := range h.slots {
			grown[i].Store(h.slots[i].Load())
		}
		h.slots = grown
	}
	w.Names = h.tree.Names()
	return a, nil
}

// truncate removes the attributes from n on, which must be unused.
func (w *Writer) truncate(n int) {
	w.h.tree.Truncate(n)
	w.h.shapes.Of = w.h.shapes.Of[:n]
	w.Names = w.h.tree.Names()
}

// check returns an error if the writer cannot write.
func (w *Writer) check() error {
	switch {
	case w.done:
		return ErrDone
	case w.closing:
		return ErrClosed
	}
	return nil
}

func (w *Writer) slotOf(pos uint32) (*lane, uint) {
	return w.h.lanes[pos/laneWidth], uint(pos % laneWidth)
}

// word returns the word of a value, if the attribute in the slot can have it.
func (w *Writer) word(l *lane, slot uint, a Attribute, v *Value) (uint64, error) {
	if l != nil && v.kind != KindNull && l.kinds[slot] != v.kind && l.kinds[slot] != KindNull {
		return 0, fmt.Errorf("%w: attribute %d has %v values, not %v", ErrKind, a, l.kinds[slot], v.kind)
	}
	if v.kind < KindString {
		return v.word, nil
	}
	if v.kind == KindString {
		if code := w.h.recent.Find(v.text); code != 0 {
			return uint64(code), nil
		}
	}
	if err := v.check(); err != nil {
		return 0, fmt.Errorf("attribute %d: %w", a, err)
	}
	code, hash := w.h.texts.Find(v.text)
	if code == 0 {
		if err := w.reserve(int64(names.Need(len(v.text)))); err != nil {
			return 0, err
		}
		var ok bool
		if code, ok = w.h.texts.Add(v.text, hash); !ok {
			return 0, fmt.Errorf("%w: attribute %d: the history has all the texts that it can have", ErrLimit, a)
		}
	}
	if v.kind == KindString && len(v.text) <= names.MaxRecent {
		if w.h.recent == nil {
			w.h.recent = new(names.Recent)
		}
		w.h.recent.Keep(textOf(w.h.texts.At(code)), code)
	}
	return uint64(code), nil
}

// setKind keeps the kind of the first value that is not null.
func (w *Writer) setKind(l *lane, slot uint, k Kind) {
	if k != KindNull && l.kinds[slot] == KindNull {
		l.setKind(slot, k)
		w.kinds = append(w.kinds, kindOf{l, slot})
	}
}

// touch marks a lane's slots as written.
func (w *Writer) touch(work *laneWork, slots uint64) {
	if work.changed == 0 {
		w.changed = append(w.changed, work.lane)
	}
	work.changed |= slots
}

// The bytes that writes reserve, which are more than they take. A name's length counts twice, because the
// rest of a block is shorter if the name does not fit it, and stays empty. firstBytes is for an attribute's
// first use, beside the name.
const (
	reserveStep    = 64 << 10
	attributeBytes = 96
	roomBytes      = blockSize + 8
	firstBytes     = shapeLaneSize + laneSize + sealedSize + workSize + ongoingSize + roomBytes + 8*laneWidth
)

// reserve reserves memory for a write.
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

// ensure reserves memory for several writes, so that none of them fails for lack of it: `bytes` bytes, and
// room in the journal for `ops` operations with `text` bytes of texts.
func (w *Writer) ensure(bytes int64, ops, text int) error {
	if err := w.reserveOps(ops, text); err != nil {
		return err
	}
	if err := w.reserve(bytes); err != nil {
		return err
	}
	w.credit += bytes
	return nil
}

// changesBytes bounds the bytes that changes of n placed attributes take: a block for each lane, and one
// more for each 64 changes.
func (w *Writer) changesBytes(n int) int64 {
	return int64(min(n, len(w.h.lanes))+n/blockLen) * roomBytes
}
