package history

import (
	"fmt"
	"strconv"

	"github.com/granarydb/granary/internal/names"
)

// Push puts a value on a stack. The attribute holds the depth, an int, or null when the stack is empty. Its
// children "1", "2" and so on hold the values, the newest in the last, and are created when they are
// needed. A queue has the same layout, and Push puts a value at its end (Poll, Peek). Push returns the
// errors of Change, for the attribute or a child, and ErrDepth for a depth that is not from 0 to 100,000.
func (w *Writer) Push(t int64, a Attribute, v Value) error {
	depth, err := w.depth(t, a)
	if err != nil {
		return err
	}
	if depth >= maxDepth {
		return fmt.Errorf("%w: attribute %d has %d values, at most %d", ErrDepth, a, depth, maxDepth)
	}
	if err := w.ensure(2*firstBytes+2*attributeBytes+2*opBytes+int64(names.Need(len(v.text))), 2, len(v.text)); err != nil {
		return err
	}
	before := w.Len()
	child, err := w.Child(a, strconv.Itoa(depth+1))
	if err != nil {
		return err
	}
	if err := w.fits(t, child, v); err != nil {
		if w.Len() > before {
			w.truncate(before)
		}
		return err
	}
	return w.changeAll(t, change{a, Int(int64(depth) + 1)}, change{child, v})
}

// Pop takes the newest value from a stack and returns it. Its child and the child's descendants are null
// from t on. For an empty stack it returns null and changes nothing. It returns the errors of Push, and
// ErrDepth if the child does not exist.
func (w *Writer) Pop(t int64, a Attribute) (Value, error) {
	depth, err := w.depth(t, a)
	if err != nil || depth == 0 {
		return Value{}, err
	}
	child, err := w.level(a, depth)
	if err != nil {
		return Value{}, err
	}
	in, err := w.Ongoing(child)
	if err != nil {
		return Value{}, err
	}
	n := w.below(child)
	if err := w.ensure(w.changesBytes(1)+w.changesBytes(n), 1+n, 0); err != nil {
		return Value{}, err
	}
	if err := w.Remove(t, child); err != nil {
		return Value{}, err
	}
	return in.Value, w.Change(t, a, depthValue(depth-1))
}

// Poll takes the oldest value from a queue, "1", and returns it; the others move down. For an empty queue
// it returns null and changes nothing. It returns the errors of Pop.
func (w *Writer) Poll(t int64, a Attribute) (Value, error) {
	depth, err := w.depth(t, a)
	if err != nil || depth == 0 {
		return Value{}, err
	}
	changes, need, text := []change{{a, depthValue(depth - 1)}}, int64(0), 0
	var first Value
	var last Attribute
	for i := 1; i <= depth; i++ {
		child, err := w.level(a, i)
		if err != nil {
			return Value{}, err
		}
		in, err := w.Ongoing(child)
		if err != nil {
			return Value{}, err
		}
		if i == 1 {
			first = in.Value
		} else {
			changes = append(changes, change{last, in.Value})
			text += len(in.Value.text)
			if w.h.slots[last].Load() == 0 { // it was always null
				need += firstBytes
			}
		}
		last = child
	}
	for _, c := range changes {
		if err := w.fits(t, c.attribute, c.value); err != nil {
			return Value{}, err
		}
	}
	n := w.below(last)
	if err := w.ensure(need+w.changesBytes(len(changes))+w.changesBytes(n), len(changes)+n, text); err != nil {
		return Value{}, err
	}
	if err := w.Remove(t, last); err != nil {
		return Value{}, err
	}
	return first, w.changeAll(t, changes...)
}

// Top returns a stack's newest value, null if it is empty. It returns the errors of Ongoing, and ErrDepth
// and ErrKind as for Pop.
func (w *Writer) Top(a Attribute) (Value, error) { return w.ongoingLevel(a, true) }

// Peek returns a queue's oldest value, null if it is empty. It returns the errors of Top.
func (w *Writer) Peek(a Attribute) (Value, error) { return w.ongoingLevel(a, false) }

func (w *Writer) ongoingLevel(a Attribute, last bool) (Value, error) {
	in, err := w.Ongoing(a)
	if err != nil {
		return Value{}, err
	}
	level, err := depthOf(a, in.Value)
	if err != nil || level == 0 {
		return Value{}, err
	}
	if !last {
		level = 1
	}
	child, err := w.level(a, level)
	if err != nil {
		return Value{}, err
	}
	in, err = w.Ongoing(child)
	return in.Value, err
}

// depth returns a stack's number of values, if it can change at t.
func (w *Writer) depth(t int64, a Attribute) (int, error) {
	before, err := w.replaceable(t, a, Int(0))
	if err != nil {
		return 0, err
	}
	return depthOf(a, before)
}

// level returns the child that holds value i of a stack.
func (w *Writer) level(a Attribute, i int) (Attribute, error) {
	child, err := w.LookupFrom(a, strconv.Itoa(i))
	if err != nil {
		return 0, fmt.Errorf("%w: attribute %d has no value %d", ErrDepth, a, i)
	}
	return child, nil
}

// change is an attribute's new value.
type change struct {
	attribute Attribute
	value     Value
}

// below returns the number of changes that a Remove makes.
func (w *Writer) below(a Attribute) (n int) {
	n = 1
	for range w.Descendants(a) {
		n++
	}
	return n
}

// changeAll makes changes that fit; their memory is already reserved.
func (w *Writer) changeAll(t int64, changes ...change) error {
	for _, c := range changes {
		if err := w.Change(t, c.attribute, c.value); err != nil {
			return err // not reached
		}
	}
	return nil
}

// maxDepth bounds stacks and queues.
const maxDepth = 100_000

func depthOf(a Attribute, v Value) (int, error) {
	switch {
	case v.IsNull():
		return 0, nil
	case v.Kind() != KindInt:
		return 0, fmt.Errorf("%w: attribute %d is %v, a depth is an int", ErrKind, a, v.Kind())
	case v.Int() < 0 || v.Int() > maxDepth:
		return 0, fmt.Errorf("%w: attribute %d is %d", ErrDepth, a, v.Int())
	}
	return int(v.Int()), nil
}

func depthValue(depth int) Value {
	if depth == 0 {
		return Value{}
	}
	return Int(int64(depth))
}
