package history

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is the type of a value. An attribute keeps the kind of its first value that is not null.
type Kind uint8

// The kinds of values.
const (
	KindNull Kind = iota
	KindBool
	KindInt    // int64
	KindFloat  // float64
	KindString // UTF-8
	KindBytes

	kinds = iota
)

var kindNames = [...]string{"null", "bool", "int", "float", "string", "bytes"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// maxValue is the greatest length of a string or bytes value, in bytes.
const maxValue = 64 << 10

// Value is the state of an attribute during an interval. The zero Value is null. A
// Value is immutable and may be copied; Equal compares.
type Value struct {
	kind Kind
	word uint64 // Bool: 0 or 1; Int; Float: its bits
	text string
}

// Bool returns a bool as a value.
func Bool(b bool) Value {
	if b {
		return Value{kind: KindBool, word: 1}
	}
	return Value{kind: KindBool}
}

// Int returns an integer as a value.
func Int(i int64) Value { return Value{kind: KindInt, word: uint64(i)} }

// Float returns a number as a value. Every NaN keeps its bits.
func Float(f float64) Value { return Value{kind: KindFloat, word: math.Float64bits(f)} }

// String returns text as a value. If s is not valid UTF-8 or longer than 64 KiB, the write returns
// ErrLimit.
func String(s string) Value { return Value{kind: KindString, text: s} }

// Bytes returns a copy of b as a value. If b is longer than 64 KiB, the write returns ErrLimit.
func Bytes(b []byte) Value { return Value{kind: KindBytes, text: string(b)} }

// Kind returns the value's kind.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return v.kind == KindNull }

// Bool returns the value if its kind is KindBool, else false.
func (v Value) Bool() bool { return v.kind == KindBool && v.word != 0 }

// Int returns the value if its kind is KindInt, else 0.
func (v Value) Int() int64 {
	if v.kind != KindInt {
		return 0
	}
	return int64(v.word)
}

// Float returns the value if its kind is KindFloat, else 0.
func (v Value) Float() float64 {
	if v.kind != KindFloat {
		return 0
	}
	return math.Float64frombits(v.word)
}

// Text returns the bytes if the kind is KindString or KindBytes, else "".
func (v Value) Text() string { return v.text }

// Equal reports whether two values have the same kind and content. Floats are compared by their bits.
func (v Value) Equal(u Value) bool { return v == u }

// Compare orders values: by kind, false before true, numbers by size, texts by bytes. It returns -1, 0 or
// 1, and 0 only for Equal values: NaN is before the other floats, and 0 before -0.
func (v Value) Compare(u Value) int {
	order := cmp.Compare(v.word, u.word)
	switch v.kind {
	case KindInt:
		order = cmp.Compare(v.Int(), u.Int())
	case KindFloat:
		order = cmp.Or(cmp.Compare(v.Float(), u.Float()), order)
	}
	return cmp.Or(cmp.Compare(v.kind, u.kind), order, strings.Compare(v.text, u.text))
}

// String returns the value as text, with strings and bytes quoted.
func (v Value) String() string {
	switch v.kind {
	case KindBool:
		return strconv.FormatBool(v.Bool())
	case KindInt:
		return strconv.FormatInt(v.Int(), 10)
	case KindFloat:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case KindString, KindBytes:
		return strconv.Quote(v.text)
	}
	return "null"
}

// check returns ErrLimit for text that is too long or not UTF-8.
func (v Value) check() error {
	switch {
	case len(v.text) > maxValue:
		return fmt.Errorf("%w: value of %d bytes, at most %d", ErrLimit, len(v.text), maxValue)
	case v.kind == KindString && !utf8.ValidString(v.text):
		return fmt.Errorf("%w: string is not valid UTF-8: %.60q", ErrLimit, v.text)
	}
	return nil
}

// Interval is a state and its time, both ends included.
type Interval struct {
	Start, End int64
	Value      Value
	// Open is set if the interval has not ended in this view. End is then the view's end. The state may
	// go on, and, where Add feeds it, become known later.
	Open bool
}
