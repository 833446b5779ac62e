package fields

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Reader reads fields. After the first error, which Err returns, it returns zeros and nil, so a
// caller may check once for several fields, but must do so before it relies on them. It is not
// safe for concurrent use.
type Reader struct {
	// Trace, if not nil, is called with each field, its bytes [from, to) and, of a number, its
	// value; and with each structure, whose end is -1. It serves tests, which print images with a
	// Dump.
	Trace func(what string, from, to int, value any)

	data []byte
	at   int
	in   string
	bad  error
	err  error
}

// NewReader returns a reader of data. Its errors wrap bad, and name the field and its place.
func NewReader(data []byte, bad error) Reader { return Reader{data: data, bad: bad} }

// Err returns the first error, nil if there was none.
func (r *Reader) Err() error { return r.err }

// Left returns the number of bytes that are not read yet, 0 after an error.
func (r *Reader) Left() int {
	if r.err != nil {
		return 0
	}
	return len(r.data) - r.at
}

// Peek returns the bytes that are not read yet, none after an error. They share the reader's
// memory.
func (r *Reader) Peek() []byte { return r.data[len(r.data)-r.Left():] }

// In names the structure of the fields that follow, for errors and for Trace, which gets no bytes
// with it.
func (r *Reader) In(what string) {
	r.in = what
	if r.Trace != nil && r.err == nil {
		r.Trace(what, r.at, -1, nil)
	}
}

// Failf sets the error, unless there is one. The message is about what was just read.
func (r *Reader) Failf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s before byte %d: %s", r.bad, r.in, r.at, fmt.Sprintf(format, args...))
	}
}

// Uint reads a number that must be at most most. A number in more bytes than it needs is an
// error.
func (r *Reader) Uint(what string, most uint64) uint64 {
	from := r.at
	v := r.number(what)
	if v > most {
		r.Failf("%s is %d, at most %d", what, v, most)
		return 0
	}
	if r.Trace != nil && r.err == nil {
		r.Trace(what, from, r.at, v)
	}
	return v
}

// Int reads a number of either sign as its bits.
func (r *Reader) Int(what string) uint64 {
	from := r.at
	v := r.number(what)
	v = v>>1 ^ -(v & 1)
	if r.Trace != nil && r.err == nil {
		r.Trace(what, from, r.at, int64(v))
	}
	return v
}

func (r *Reader) number(what string) uint64 {
	if r.err != nil {
		return 0
	}
	if r.at < len(r.data) && r.data[r.at] < 0x80 { // most
		r.at++
		return uint64(r.data[r.at-1])
	}
	v, n := binary.Uvarint(r.data[r.at:])
	if n <= 0 || r.data[r.at+n-1] == 0 {
		r.Failf("%s is no number", what)
		return 0
	}
	r.at += n
	return v
}

// Count reads a number of things that take at least the given number of bytes each, in this
// reader. Memory for as many is in proportion to the input.
func (r *Reader) Count(what string, bytes int) int {
	n := r.Uint(what, math.MaxUint32)
	if most := uint64(r.Left() / bytes); n > most {
		r.Failf("%s is %d, and there are bytes for %d", what, n, most)
		return 0
	}
	return int(n)
}

// Text reads a string of at most most bytes. It shares the reader's memory.
func (r *Reader) Text(what string, most int) []byte {
	return r.Raw(what, int(r.Uint(what, uint64(most))))
}

// Raw reads n bytes. They share the reader's memory.
func (r *Reader) Raw(what string, n int) []byte {
	if r.err != nil {
		return nil
	}
	if n > len(r.data)-r.at {
		r.Failf("%s has %d bytes, and %d are left", what, n, len(r.data)-r.at)
		return nil
	}
	from := r.at
	r.at += n
	if r.Trace != nil {
		r.Trace(what, from, r.at, nil)
	}
	return r.data[from:r.at:r.at]
}
