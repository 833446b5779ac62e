package partial

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/granarydb/granary/history"
)

// mostText is the greatest length of a value's text, in bytes.
const mostText = 64 << 10

// ongoing is an attribute's current interval.
type ongoing struct {
	start int64
	value history.Value
	kind  history.Kind // the attribute's kind, null while unknown
	dirty bool         // in a build: it changed since the last checkpoint
	next  int64        // in a build: the first instant that is not in the kept history
	end   int64        // in a replay: end of the checkpoint's interval
}

// until returns the interval with an end.
func (o *ongoing) until(end int64) history.Interval {
	return history.Interval{Start: o.start, End: end, Value: o.value}
}

// states are a build's or a replay's states.
type states interface {
	child(base history.Attribute, path []string) (history.Attribute, error)
	descendants(a history.Attribute) []history.Attribute
	ongoing(a history.Attribute) (*ongoing, error)
	// ended takes an ended interval, before the next begins.
	ended(a history.Attribute, o *ongoing, end int64) error
}

// Writer takes one event's states, at its time. It has the rules of history.Writer. An error of a method is
// the event's error, and ends the build.
type Writer struct {
	states states
	at     int64
}

// Time returns the event's time.
func (w *Writer) Time() int64 { return w.at }

// Attribute returns the attribute at path, and creates missing attributes. It returns the errors of
// history.Writer.Attribute, and ErrDiffers in a replay that asks for an attribute that the build did not
// create.
func (w *Writer) Attribute(path ...string) (history.Attribute, error) {
	if len(path) == 0 {
		return 0, fmt.Errorf("%w: empty path", history.ErrAttribute)
	}
	return w.states.child(history.Top, path)
}

// Child is Attribute with a path that starts at base, which may be history.Top.
func (w *Writer) Child(base history.Attribute, path ...string) (history.Attribute, error) {
	return w.states.child(base, path)
}

// State returns an attribute's value, and the start of its interval. The error is history.ErrAttribute.
func (w *Writer) State(a history.Attribute) (v history.Value, since int64, err error) {
	o, err := w.states.ongoing(a)
	if err != nil {
		return v, 0, err
	}
	return o.value, o.start, nil
}

// Change gives an attribute a value from the event's time on, as history.Writer.Change does. The errors are
// history.ErrAttribute, ErrKind and ErrLimit.
func (w *Writer) Change(a history.Attribute, v history.Value) error {
	o, err := w.states.ongoing(a)
	if err != nil {
		return err
	}
	if !v.IsNull() {
		if o.kind != history.KindNull && o.kind != v.Kind() {
			return fmt.Errorf("%w: attribute %d at %d is %s, the value %s", history.ErrKind, a, w.at, o.kind, v.Kind())
		}
		if text := v.Text(); len(text) > mostText || v.Kind() == history.KindString && !utf8.ValidString(text) {
			return fmt.Errorf("%w: attribute %d at %d has a text of %d bytes", history.ErrLimit, a, w.at, len(text))
		}
		o.kind = v.Kind()
	}
	if o.value.Equal(v) {
		return nil
	}
	if w.at > o.start {
		if err := w.states.ended(a, o, w.at-1); err != nil {
			return err
		}
		o.start = w.at
	}
	o.value = v
	return nil
}

// Push puts a value on a stack, as history.Writer.Push does.
func (w *Writer) Push(a history.Attribute, v history.Value) error {
	depth, err := w.depth(a)
	if err != nil {
		return err
	}
	if depth >= 100_000 {
		return fmt.Errorf("%w: attribute %d has %d values", history.ErrDepth, a, depth)
	}
	child, err := w.Child(a, strconv.FormatInt(depth+1, 10))
	if err != nil {
		return err
	}
	if err := w.Change(child, v); err != nil {
		return err
	}
	return w.Change(a, history.Int(depth+1))
}

// Pop takes the newest value from a stack and returns it, as history.Writer.Pop does.
func (w *Writer) Pop(a history.Attribute) (v history.Value, err error) {
	depth, err := w.depth(a)
	if err != nil || depth == 0 {
		return v, err
	}
	child, err := w.Child(a, strconv.FormatInt(depth, 10))
	if err != nil {
		return v, err
	}
	if v, _, err = w.State(child); err != nil {
		return v, err
	}
	for _, below := range append(w.states.descendants(child), child) {
		if err := w.Change(below, history.Value{}); err != nil {
			return v, err
		}
	}
	if depth == 1 {
		return v, w.Change(a, history.Value{})
	}
	return v, w.Change(a, history.Int(depth-1))
}

func (w *Writer) depth(a history.Attribute) (int64, error) {
	v, _, err := w.State(a)
	switch {
	case err != nil:
		return 0, err
	case !v.IsNull() && v.Kind() != history.KindInt:
		return 0, fmt.Errorf("%w: attribute %d is %s, not the depth of a stack", history.ErrKind, a, v.Kind())
	case v.Int() < 0 || v.Int() > 100_000:
		return 0, fmt.Errorf("%w: attribute %d is %d", history.ErrDepth, a, v.Int())
	}
	return v.Int(), nil
}
