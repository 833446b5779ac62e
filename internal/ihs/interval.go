package ihs

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// Kind is the kind of an interval's value.
type Kind uint8

// The kinds, numbered as in the file.
const (
	KindNull   Kind = iota
	KindInt         // 32 bits
	KindLong        // 64 bits
	KindFloat       // 64 bits
	KindString      // UTF-8
	kinds
)

// String returns the kind's name.
func (k Kind) String() string {
	if k >= kinds {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return [...]string{"null", "int", "long", "float", "string"}[k]
}

// Interval is the state of one attribute from Start to End, both inclusive, in the set's time unit. All
// known sets use nanoseconds.
type Interval struct {
	Start, End int64
	// Word is the value if it is a number (see Int and Float). For a string it is the text's index
	// among the set's distinct texts, in the order of first occurrence; a Writer ignores it. For null
	// it is 0.
	Word uint64
	// Text is the value if it is a string.
	Text string
	Key  uint32
	Kind Kind
}

// Int returns the value for KindInt and KindLong.
func (iv Interval) Int() int64 { return int64(iv.Word) }

// Float returns the value for KindFloat.
func (iv Interval) Float() float64 { return math.Float64frombits(iv.Word) }

// Header is a set's header.
type Header struct {
	// Keys is the number of attributes, Intervals the number of intervals.
	Keys, Intervals int
	// Start and End are the first and the last instant, less than 2^63 apart.
	Start, End int64
}

func (h Header) check(l Limits) error {
	switch {
	case h.Keys < 0 || h.Intervals < 0:
		return fmt.Errorf("%w: %d keys, %d intervals", ErrFormat, h.Keys, h.Intervals)
	case h.Keys > l.Keys || h.Keys > math.MaxUint32:
		return fmt.Errorf("%w: %d keys, at most %d", ErrLimit, h.Keys, l.Keys)
	case h.Intervals > l.Intervals:
		return fmt.Errorf("%w: %d intervals, at most %d", ErrLimit, h.Intervals, l.Intervals)
	case h.Start > h.End:
		return fmt.Errorf("%w: it ends at %d, before its start %d", ErrFormat, h.End, h.Start)
	case h.End-h.Start < 0:
		return fmt.Errorf("%w: from %d to %d is more than 63 bits", ErrFormat, h.Start, h.End)
	}
	return nil
}

// checkInterval checks S1. last is the previous interval's end.
func (h Header) checkInterval(iv *Interval, last int64, l Limits) error {
	switch {
	case uint64(iv.Key) >= uint64(h.Keys):
		return fmt.Errorf("%w: key %d of %d", ErrFormat, iv.Key, h.Keys)
	case iv.Start > iv.End || iv.Start < h.Start || iv.End > h.End:
		return fmt.Errorf("%w: times [%d, %d] outside [%d, %d]", ErrFormat, iv.Start, iv.End, h.Start, h.End)
	case iv.End < last:
		return fmt.Errorf("%w: end %d after end %d", ErrFormat, iv.End, last)
	case iv.Kind >= kinds:
		return fmt.Errorf("%w: %v", ErrFormat, iv.Kind)
	case iv.Kind == KindInt && iv.Int() != int64(int32(iv.Int())):
		return fmt.Errorf("%w: %d is no int of 32 bits", ErrFormat, iv.Int())
	case iv.Kind == KindString:
		return checkText(iv.Text, l)
	}
	return nil
}

func checkText(text string, l Limits) error {
	if len(text) > l.Text {
		return fmt.Errorf("%w: a text of %d bytes, at most %d", ErrLimit, len(text), l.Text)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("%w: text %.20q is not UTF-8", ErrFormat, text)
	}
	return nil
}
