package block

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"
	"sync"
)

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

// Node is a block. The builder fills it in place; the header is written with the block.
//
// The lock is that of R-SHT 4.3, one for each node: a builder holds it for Add, and a reader, shared,
// while it looks at the records. What else there is of a node changes only under the tree's lock.
type Node struct {
	sync.RWMutex
	layout   *Layout
	level    uint16
	children int
	records  int
	text     int // where the values apart begin
	parent   uint32
	box      Child // bounds and number
	raw      []byte
}

var u = binary.LittleEndian

// NewNode returns an empty node of a file.
func (f *File) NewNode(number uint32, level int, start int64) *Node {
	box := Child{Number: number, Start: start, End: math.MinInt64, Low: math.MaxUint32}
	return &Node{layout: &f.Layout, level: uint16(level), text: f.Size, box: box, raw: make([]byte, f.Size)}
}

// putHeader writes the header, but for the checksum and the children.
func (n *Node) putHeader() {
	b := n.raw[:fixed]
	u.PutUint16(b[4:], n.level)
	u.PutUint16(b[6:], uint16(n.children))
	u.PutUint32(b[8:], n.box.Number)
	u.PutUint32(b[12:], n.parent)
	u.PutUint32(b[16:], uint32(n.records))
	u.PutUint64(b[20:], uint64(n.box.Start))
	u.PutUint64(b[28:], uint64(n.box.End))
	u.PutUint32(b[36:], n.box.Low)
	u.PutUint32(b[40:], n.box.High)
	u.PutUint32(b[44:], uint32(n.text))
}

// header reads the header of a block, and tells what is wrong with it.
func (n *Node) header(number uint32) error {
	b := n.raw[:fixed]
	n.level, n.children, n.parent = u.Uint16(b[4:]), int(u.Uint16(b[6:])), u.Uint32(b[12:])
	n.box = Child{
		Number: u.Uint32(b[8:]), Start: int64(u.Uint64(b[20:])), End: int64(u.Uint64(b[28:])),
		Low: u.Uint32(b[36:]), High: u.Uint32(b[40:]),
	}
	records, text := int64(u.Uint32(b[16:])), int64(u.Uint32(b[44:]))
	switch {
	case n.box.Number != number:
		return fmt.Errorf("block %d says that it is %d: %w", number, n.box.Number, ErrDamaged)
	case n.children > n.layout.Fan || n.level == 0 && n.children > 0:
		return fmt.Errorf("block %d of level %d has %d children: %w", number, n.level, n.children, ErrDamaged)
	case text > int64(len(n.raw)) || int64(n.place())+records*RecordSize > text:
		return fmt.Errorf("block %d has %d records, values at %d: %w", number, records, text, ErrDamaged)
	}
	n.records, n.text = int(records), int(text)
	return nil
}

// Number returns the node's number.
func (n *Node) Number() uint32 { return n.box.Number }

// Parent returns the number of the node's parent, 0 of the root.
func (n *Node) Parent() uint32 { return n.parent }

// SetParent sets it.
func (n *Node) SetParent(number uint32) { n.parent = number }

// Level returns the node's level; that of leaves is 0.
func (n *Node) Level() int { return int(n.level) }

// Records returns the number of intervals in the node itself.
func (n *Node) Records() int { return n.records }

// Children returns the number of children.
func (n *Node) Children() int { return n.children }

// Start returns where the node begins.
func (n *Node) Start() int64 { return n.box.Start }

// Box returns the node's bounds, as a child.
func (n *Node) Box() Child { return n.box }

// SetEnd makes the node end no earlier than at an instant.
func (n *Node) SetEnd(end int64) { n.box.End = max(n.box.End, end) }

// Widen makes the node's bounds hold those of a child.
func (n *Node) Widen(c Child) { n.include(c.Start, c.End, c.Low, c.High) }

func (n *Node) include(start, end int64, low, high uint32) {
	n.box.Start = min(n.box.Start, start)
	n.box.End = max(n.box.End, end)
	n.box.Low = min(n.box.Low, low)
	n.box.High = max(n.box.High, high)
}

// Child returns child i.
func (n *Node) Child(i int) Child {
	form := n.layout.Form
	b := n.raw[fixed+i*form.child():]
	c := Child{Number: u.Uint32(b), Start: int64(u.Uint64(b[4:])), End: math.MaxInt64, High: math.MaxUint32}
	if form == Starts {
		if i+1 < n.children {
			c.End = int64(u.Uint64(b[form.child()+4:])) - 1
		}
		return c
	}
	c.End = int64(u.Uint64(b[12:]))
	if form == Boxes {
		c.Low, c.High = u.Uint32(b[20:]), u.Uint32(b[24:])
	}
	return c
}

// AddChild adds a child; there must be room.
func (n *Node) AddChild(c Child) {
	n.SetChild(n.children, c)
	n.children++
}

// SetChild changes child i. It does not change the node's bounds.
func (n *Node) SetChild(i int, c Child) {
	form := n.layout.Form
	b := n.raw[fixed+i*form.child():]
	u.PutUint32(b, c.Number)
	u.PutUint64(b[4:], uint64(c.Start))
	if form >= Ranges {
		u.PutUint64(b[12:], uint64(c.End))
	}
	if form == Boxes {
		u.PutUint32(b[20:], c.Low)
		u.PutUint32(b[24:], c.High)
	}
}

// place returns where the records begin.
func (n *Node) place() int { return n.layout.Size - n.layout.Room(int(n.level)) }

// Fits tells whether the node has room for an interval. One without is full, and is closed.
func (n *Node) Fits(in *Interval) bool {
	return n.place()+n.records*RecordSize+in.Bytes() <= n.text
}

// Add adds an interval that ends no earlier than those there, and widens the bounds. There must be
// room.
func (n *Node) Add(in *Interval) {
	at, field := n.place()+n.records*RecordSize, uint32(in.Word)
	if apart := in.apart(); apart > 0 {
		n.text -= apart
		in.putApart(n.raw[n.text:])
		field = uint32(n.text)
	}
	b := n.raw[at : at+RecordSize]
	u.PutUint64(b, uint64(in.Start))
	u.PutUint64(b[8:], uint64(in.End))
	u.PutUint32(b[16:], in.Key)
	b[20] = byte(in.Kind)
	u.PutUint32(b[21:], field)
	n.records++
	n.include(in.Start, in.End, in.Key, in.Key)
}

// Record returns the key and the range of record i.
func (n *Node) Record(i int) (key uint32, start, end int64) {
	b := n.raw[n.place()+i*RecordSize:]
	return u.Uint32(b[16:]), int64(u.Uint64(b)), int64(u.Uint64(b[8:]))
}

// First returns the first record that ends no earlier than t.
func (n *Node) First(t int64) int {
	b := n.from(0)
	return sort.Search(n.records, func(i int) bool { return int64(u.Uint64(b[i*RecordSize+8:])) >= t })
}

// Find returns the record of a key at t, or -1.
func (n *Node) Find(key uint32, t int64) int {
	i := n.First(t)
	for b := n.from(i); len(b) >= RecordSize; i, b = i+1, b[RecordSize:] {
		if u.Uint32(b[16:]) == key && int64(u.Uint64(b)) <= t {
			return i
		}
	}
	return -1
}

// NextAt returns the first record from i on that starts no later than t, or the number of records.
func (n *Node) NextAt(i int, t int64) int {
	for b := n.from(i); len(b) >= RecordSize; i, b = i+1, b[RecordSize:] {
		if int64(u.Uint64(b)) <= t {
			return i
		}
	}
	return n.records
}

// NextOf returns the first record from i on whose key is in a set of bits, or the number of
// records.
func (n *Node) NextOf(i int, set []uint64) int {
	for b := n.from(i); len(b) >= RecordSize; i, b = i+1, b[RecordSize:] {
		if key := u.Uint32(b[16:]); int(key/64) < len(set) && set[key/64]>>(key%64)&1 != 0 {
			return i
		}
	}
	return n.records
}

// from returns the records from i on.
func (n *Node) from(i int) []byte {
	return n.raw[n.place()+i*RecordSize : n.place()+n.records*RecordSize]
}
