package history

import (
	"fmt"
	"strconv"
)

// maxDepth bounds stacks and queues.
const maxDepth = 100_000

// Push puts a value on a stack: the attribute holds the depth, an int or null when it is
// empty, and its children "1", "2" and so on the values, the newest in the last. They are
// created as they are needed. The errors are those of Change for any of them, and
// ErrDepth for a depth that is not from 0 to 100,000.
func (w *Writer) Push(t int64, a Attribute, v Value) error {
	depth, err := w.depth(t, a)
	if err != nil {
		return err
	}
	if depth >= maxDepth {
		return fmt.Errorf("%w: attribute %d has %d values, at most %d", ErrDepth, a, depth, maxDepth)
	}
	if err := w.ensure(2*placeBytes + 2*attributeBytes + textBytes + int64(len(v.text))); err != nil {
		return err
	}
	before := w.n
	child, err := w.Child(a, strconv.Itoa(depth+1))
	if err != nil {
		return err
	}
	if err := w.fits(t, child, v); err != nil {
		if w.n > before {
			w.truncate(before)
		}
		return err
	}
	return w.changeAll(t, change{a, Int(int64(depth) + 1)}, change{child, v})
}

// Pop takes the newest value from a stack and returns it. Its child, and all below that,
// is null from t on. An empty stack gives null, and nothing changes. The errors are those
// of Push; ErrDepth if the depth has no such child.
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
	if err := w.ensure(w.changesBytes(1) + w.removeBytes(child)); err != nil {
		return Value{}, err
	}
	if err := w.Remove(t, child); err != nil {
		return Value{}, err
	}
	return in.Value, w.Change(t, a, depthValue(depth-1))
}

// Offer puts a value at the end of a queue, which is laid out as a stack is: Push.
func (w *Writer) Offer(t int64, a Attribute, v Value) error { return w.Push(t, a, v) }

// Poll takes the oldest value from a queue, "1", and returns it; the others move down.
// An empty queue gives null, and nothing changes. The errors are those of Pop.
func (w *Writer) Poll(t int64, a Attribute) (Value, error) {
	depth, err := w.depth(t, a)
	if err != nil || depth == 0 {
		return Value{}, err
	}
	changes := []change{{a, depthValue(depth - 1)}}
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
		}
		last = child
	}
	for _, c := range changes {
		if err := w.fits(t, c.attribute, c.value); err != nil {
			return Value{}, err
		}
	}
	if err := w.ensure(w.changesBytes(len(changes)) + w.removeBytes(last)); err != nil {
		return Value{}, err
	}
	if err := w.Remove(t, last); err != nil {
		return Value{}, err
	}
	return first, w.changeAll(t, changes...)
}

// Top returns the newest value of a stack, null if it is empty. The errors are those of
// Ongoing, and ErrDepth and ErrKind as for Pop.
func (w *Writer) Top(a Attribute) (Value, error) { return w.ongoingLevel(a, true) }

// Peek returns the oldest value of a queue, null if it is empty. The errors are those of
// Top.
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

// Top returns the interval of the newest value that a stack has at t (Writer.Push); ok is
// false if it is empty then. The errors are those of At; ErrKind and ErrDepth if the
// attribute is no stack.
func (v *View) Top(a Attribute, t int64) (in Interval, ok bool, err error) {
	in, err = v.At(a, t)
	if err != nil {
		return Interval{}, false, err
	}
	depth, err := depthOf(a, in.Value)
	if err != nil || depth == 0 {
		return Interval{}, false, err
	}
	child, err := v.LookupFrom(a, strconv.Itoa(depth))
	if err != nil {
		return Interval{}, false, fmt.Errorf("%w: attribute %d has no value %d", ErrDepth, a, depth)
	}
	v.at(&in, child, t)
	return in, true, nil
}

// depth returns how many values a stack has, if it can change at t.
func (w *Writer) depth(t int64, a Attribute) (int, error) {
	if _, _, err := w.changeable(t, a); err != nil {
		return 0, err
	}
	in, err := w.Ongoing(a)
	if err != nil {
		return 0, err
	}
	if err := w.fits(t, a, Int(0)); err != nil {
		return 0, err
	}
	return depthOf(a, in.Value)
}

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

// level returns the child that has value i of a stack.
func (w *Writer) level(a Attribute, i int) (Attribute, error) {
	child, err := w.LookupFrom(a, strconv.Itoa(i))
	if err != nil {
		return 0, fmt.Errorf("%w: attribute %d has no value %d", ErrDepth, a, i)
	}
	return child, nil
}

// change is a value that an attribute gets.
type change struct {
	attribute Attribute
	value     Value
}

// fits says why an attribute cannot change to a value at t.
func (w *Writer) fits(t int64, a Attribute, v Value) error {
	l, slot, err := w.changeable(t, a)
	if err != nil {
		return err
	}
	_, err = w.word(l, slot, a, &v)
	return err
}

// removeBytes returns at most what a Remove takes.
func (w *Writer) removeBytes(a Attribute) int64 {
	n := 1
	for range w.Descendants(a) {
		n++
	}
	return w.changesBytes(n)
}

// changeAll makes changes that fit, and that memory is there for.
func (w *Writer) changeAll(t int64, changes ...change) error {
	for _, c := range changes {
		if err := w.Change(t, c.attribute, c.value); err != nil {
			return err // not reached
		}
	}
	return nil
}

// IncrementInt adds to the value of an attribute, from 0 if it is null. The errors are
// those of Change; ErrLimit beyond the range of int64.
func (w *Writer) IncrementInt(t int64, a Attribute, delta int64) error {
	in, err := w.Ongoing(a)
	if err != nil {
		return err
	}
	if err := w.fits(t, a, Int(0)); err != nil {
		return err
	}
	sum := in.Value.Int() + delta
	if delta > 0 && sum < in.Value.Int() || delta < 0 && sum > in.Value.Int() {
		return fmt.Errorf("%w: attribute %d is %d, adding %d is beyond int64", ErrLimit, a, in.Value.Int(), delta)
	}
	return w.Change(t, a, Int(sum))
}

// IncrementFloat adds to the value of an attribute, from 0 if it is null. The errors are
// those of Change.
func (w *Writer) IncrementFloat(t int64, a Attribute, delta float64) error {
	in, err := w.Ongoing(a)
	if err != nil {
		return err
	}
	if err := w.fits(t, a, Float(0)); err != nil {
		return err
	}
	return w.Change(t, a, Float(in.Value.Float()+delta))
}
