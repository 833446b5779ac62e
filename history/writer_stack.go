package history

import (
	"fmt"
	"strconv"

	"github.com/granarydb/granary/internal/names"
)

// Push puts a value on a stack. The attribute holds the depth, an int, or null when the stack is empty. Its
// children "1", "2" and so on hold the values, the newest in the last, and are created when they are
// needed. It returns the errors of Change for any of them, and ErrDepth for a depth that is not from 0 to
// 100,000.
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
	if err := w.Change(t, a, Int(int64(depth)+1)); err != nil {
		return err // not reached: both changes fit, and memory is reserved
	}
	return w.Change(t, child, v)
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

// Top returns a stack's newest value, null if it is empty. It returns the errors of Ongoing, and ErrDepth
// and ErrKind as for Pop.
func (w *Writer) Top(a Attribute) (Value, error) {
	in, err := w.Ongoing(a)
	if err != nil {
		return Value{}, err
	}
	depth, err := depthOf(a, in.Value)
	if err != nil || depth == 0 {
		return Value{}, err
	}
	child, err := w.level(a, depth)
	if err != nil {
		return Value{}, err
	}
	in, err = w.Ongoing(child)
	return in.Value, err
}

// depth returns a stack's number of values, if it can change at t.
func (w *Writer) depth(t int64, a Attribute) (int, error) {
	in, err := w.Ongoing(a)
	if err == nil {
		err = w.fits(t, a, Int(0))
	}
	if err != nil {
		return 0, err
	}
	return depthOf(a, in.Value)
}

// level returns the child that holds value i of a stack.
func (w *Writer) level(a Attribute, i int) (Attribute, error) {
	child, err := w.LookupFrom(a, strconv.Itoa(i))
	if err != nil {
		return 0, fmt.Errorf("%w: attribute %d has no value %d", ErrDepth, a, i)
	}
	return child, nil
}

// below returns the number of changes that a Remove makes.
func (w *Writer) below(a Attribute) (n int) {
	n = 1
	for range w.Descendants(a) {
		n++
	}
	return n
}
