package block

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"
)

// Form is what the header of a node says of its children.
type Form byte

// The forms of the papers.
const (
	Starts Form = 1 + iota // SHT: siblings tile time, so that their starts are enough
	Ranges                 // oSHT: siblings overlap, each with its start and end
	Boxes                  // eSHT, R-SHT: each with its start, end, least and greatest key
)

// child returns the size of a child in the header.
func (f Form) child() int { return [...]int{Starts: 12, Ranges: 20, Boxes: 28}[f] }

// Child is a node as its parent knows it. What the form leaves out is as wide as can be.
type Child struct {
	Number     uint32
	Low, High  uint32
	Start, End int64
}

// Holds tells whether an interval of the key that is there at t can be below the child.
func (c Child) Holds(key uint32, t int64) bool {
	return c.Start <= t && t <= c.End && c.Low <= key && key <= c.High
}

const fixed = 48 // bytes of the header before the children

// Node is a block. The writer fills it in place.
type Node struct {
	form Form
	raw  [Size]byte
}

var u = binary.LittleEndian

// NewNode returns an empty node.
func NewNode(form Form, number uint32, level uint16, start int64) *Node {
	n := &Node{form: form}
	u.PutUint16(n.raw[4:], level)
	u.PutUint32(n.raw[8:], number)
	n.Bound(Child{Start: start, End: math.MinInt64, Low: math.MaxUint32})
	u.PutUint32(n.raw[40:], Size)
	return n
}

// Number returns the node's number.
func (n *Node) Number() uint32 { return u.Uint32(n.raw[8:]) }

// SetNumber sets the node's number.
func (n *Node) SetNumber(number uint32) { u.PutUint32(n.raw[8:], number) }

// Level returns the node's level; that of leaves is 0.
func (n *Node) Level() uint16 { return u.Uint16(n.raw[4:]) }

// Records returns the number of intervals in the node itself.
func (n *Node) Records() int { return int(u.Uint32(n.raw[12:])) }

// Children returns the number of children.
func (n *Node) Children() int { return int(u.Uint16(n.raw[6:])) }

// Sorted tells whether the records are in the order of (key, end).
func (n *Node) Sorted() bool { return n.raw[44] == 1 }

// SetSorted says that they are.
func (n *Node) SetSorted() { n.raw[44] = 1 }

// Box returns the node's bounds, as a child.
func (n *Node) Box() Child {
	return Child{
		Number: n.Number(), Start: int64(u.Uint64(n.raw[16:])), End: int64(u.Uint64(n.raw[24:])),
		Low: u.Uint32(n.raw[32:]), High: u.Uint32(n.raw[36:]),
	}
}

// Bound sets the node's bounds.
func (n *Node) Bound(c Child) {
	u.PutUint64(n.raw[16:], uint64(c.Start))
	u.PutUint64(n.raw[24:], uint64(c.End))
	u.PutUint32(n.raw[32:], c.Low)
	u.PutUint32(n.raw[36:], c.High)
}

// Widen returns bounds that hold both.
func (c Child) Widen(o Child) Child {
	c.Start, c.End = min(c.Start, o.Start), max(c.End, o.End)
	c.Low, c.High = min(c.Low, o.Low), max(c.High, o.High)
	return c
}

// Child returns child i.
func (n *Node) Child(i int) Child {
	b := n.raw[fixed+i*n.form.child():]
	c := Child{Number: u.Uint32(b), Start: int64(u.Uint64(b[4:])), End: math.MaxInt64, High: math.MaxUint32}
	if n.form == Starts {
		if i+1 < n.Children() {
			c.End = int64(u.Uint64(b[n.form.child()+4:])) - 1
		}
		return c
	}
	c.End = int64(u.Uint64(b[12:]))
	if n.form == Boxes {
		c.Low, c.High = u.Uint32(b[20:]), u.Uint32(b[24:])
	}
	return c
}

// AddChild adds a child; there must be room.
func (n *Node) AddChild(c Child) {
	i := n.Children()
	u.PutUint16(n.raw[6:], uint16(i+1))
	n.SetChild(i, c)
}

// SetChild changes child i. It does not change the node's bounds.
func (n *Node) SetChild(i int, c Child) {
	b := n.raw[fixed+i*n.form.child():]
	u.PutUint32(b, c.Number)
	u.PutUint64(b[4:], uint64(c.Start))
	if n.form >= Ranges {
		u.PutUint64(b[12:], uint64(c.End))
	}
	if n.form == Boxes {
		u.PutUint32(b[20:], c.Low)
		u.PutUint32(b[24:], c.High)
	}
}

// records returns where the records begin.
func (n *Node) records() int {
	if n.Level() == 0 {
		return fixed
	}
	return fixed + Fan*n.form.child()
}

// Room returns the bytes for records and values apart in an empty leaf.
func Room() int { return Size - fixed }

// Add adds an interval and widens the bounds. It returns false if there is no room.
func (n *Node) Add(in Interval) bool {
	count, apart := n.Records(), in.apart()
	at := n.records() + count*RecordSize
	text := int(u.Uint32(n.raw[40:]))
	if at+RecordSize+apart > text {
		return false
	}
	field := uint32(in.Word)
	if apart > 0 {
		text -= apart
		in.putApart(n.raw[text:])
		u.PutUint32(n.raw[40:], uint32(text))
		field = uint32(text)
	}
	b := n.raw[at : at+RecordSize]
	u.PutUint64(b, uint64(in.Start))
	u.PutUint64(b[8:], uint64(in.End))
	u.PutUint32(b[16:], in.Key)
	b[20] = byte(in.Kind)
	u.PutUint32(b[21:], field)
	u.PutUint32(n.raw[12:], uint32(count+1))
	n.Bound(n.Box().Widen(in.Box()))
	return true
}

// Record returns the key and the range of record i.
func (n *Node) Record(i int) (key uint32, start, end int64) {
	b := n.raw[n.records()+i*RecordSize:]
	return u.Uint32(b[16:]), int64(u.Uint64(b)), int64(u.Uint64(b[8:]))
}

// First returns the first record of a sorted node whose key and end are not less.
func (n *Node) First(key uint32, t int64) int {
	return sort.Search(n.Records(), func(i int) bool {
		k, _, end := n.Record(i)
		return k > key || k == key && end >= t
	})
}

// Find returns the record of a key at t, or -1. It looks at all records of an unsorted node.
func (n *Node) Find(key uint32, t int64) int {
	if n.Sorted() {
		if i := n.First(key, t); i < n.Records() {
			if k, start, _ := n.Record(i); k == key && start <= t {
				return i
			}
		}
		return -1
	}
	from := n.records()
	b := n.raw[from : from+n.Records()*RecordSize]
	for i := 0; len(b) >= RecordSize; i, b = i+1, b[RecordSize:] {
		if u.Uint32(b[16:]) == key && int64(u.Uint64(b)) <= t && t <= int64(u.Uint64(b[8:])) {
			return i
		}
	}
	return -1
}

// check tells what is wrong with a block that was read.
func (n *Node) check(number uint32) error {
	text, count, children := int64(u.Uint32(n.raw[40:])), int64(n.Records()), n.Children()
	switch {
	case n.Number() != number:
		return fmt.Errorf("block %d says that it is %d: %w", number, n.Number(), ErrDamaged)
	case children > Fan || (n.Level() == 0) != (children == 0):
		return fmt.Errorf("block %d of level %d has %d children: %w", number, n.Level(), children, ErrDamaged)
	case text > Size || int64(n.records())+count*RecordSize > text:
		return fmt.Errorf("block %d has %d records, values at %d: %w", number, count, text, ErrDamaged)
	}
	return nil
}
