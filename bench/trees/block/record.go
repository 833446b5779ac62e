package block

import (
	"fmt"
	"math"
)

// RecordSize is the size of the record of an interval in bytes.
const RecordSize = 25

// Kind is the kind of a value. The numbers are those of interval sets (package ihs).
type Kind byte

// The kinds (R-SHT 3.1; interval sets add floats, and have no booleans). A record has room for null, a
// boolean and a 32-bit number; the others lie apart.
const (
	Null Kind = iota
	Int
	Long
	Float
	String
	Bool
)

// Interval is the value of a key from Start to End, both inclusive.
type Interval struct {
	Start, End int64
	Word       uint64 // a number: two's complement, or the bits of a float; a boolean: 0 or 1
	Text       []byte // a string; of a query, part of a block
	Key        uint32
	Kind       Kind
}

// Box returns the interval's bounds.
func (in Interval) Box() Child {
	return Child{Start: in.Start, End: in.End, Low: in.Key, High: in.Key}
}

// Check returns ErrInterval for an interval that a tree from start on cannot store after one that ends at
// last. The trees of the papers place intervals in the past (SHT 3.4); these refuse them, because records in
// the order of their ends are what every node is searched by.
func (in *Interval) Check(l Layout, start, last int64) error {
	switch {
	case in.Start > in.End, in.Start < start, in.End < last, in.End == math.MaxInt64:
		return fmt.Errorf("key %d from %d to %d in a tree from %d, after %d: %w", in.Key, in.Start, in.End, start, last, ErrInterval)
	case in.Key == math.MaxUint32, in.Kind > Bool, len(in.Text) > l.MaxText():
		return fmt.Errorf("key %d, value of kind %d with %d bytes: %w", in.Key, in.Kind, len(in.Text), ErrInterval)
	case in.Kind == Int && int64(int32(in.Word)) != int64(in.Word), in.Kind == Bool && in.Word > 1:
		return fmt.Errorf("key %d, number %d of kind %d: %w", in.Key, int64(in.Word), in.Kind, ErrInterval)
	}
	return nil
}

// Bytes returns what the interval takes of a block.
func (in *Interval) Bytes() int { return RecordSize + in.apart() }

// apart returns the bytes outside the record.
func (in *Interval) apart() int {
	switch in.Kind {
	case Long, Float:
		return 8
	case String:
		return 2 + len(in.Text)
	}
	return 0
}

func (in *Interval) putApart(b []byte) {
	if in.Kind == String {
		u.PutUint16(b, uint16(len(in.Text)))
		copy(b[2:], in.Text)
		return
	}
	u.PutUint64(b, in.Word)
}

// Interval returns record i with its value.
func (n *Node) Interval(i int) (Interval, error) {
	at := n.place() + i*RecordSize
	b := n.raw[at : at+RecordSize]
	in := Interval{Start: int64(u.Uint64(b)), End: int64(u.Uint64(b[8:])), Key: u.Uint32(b[16:]), Kind: Kind(b[20])}
	field := u.Uint32(b[21:])
	switch {
	case in.Kind == Int:
		in.Word = uint64(int32(field))
		return in, nil
	case in.Kind == Null:
		return in, nil
	case in.Kind == Bool && field <= 1:
		in.Word = uint64(field)
		return in, nil
	case in.Kind >= Bool || int64(field) > int64(len(n.raw)-2):
		return in, n.badValue(i)
	}
	apart := n.raw[field:]
	if in.Kind != String {
		if len(apart) < 8 {
			return in, n.badValue(i)
		}
		in.Word = u.Uint64(apart)
		return in, nil
	}
	size := int(u.Uint16(apart))
	if size > len(apart)-2 {
		return in, n.badValue(i)
	}
	in.Text = apart[2 : 2+size : 2+size]
	return in, nil
}

func (n *Node) badValue(i int) error {
	return fmt.Errorf("block %d has a wrong value in record %d: %w", n.Number, i, ErrDamaged)
}
