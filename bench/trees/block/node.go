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

// Header is what a block begins with, behind the checksum.
type Header struct {
	Level    uint16 // that of leaves is 0
	Children uint16
	Number   uint32
	Parent   uint32 // its number, 0 of the root
	Records  uint32
	Start    int64 // the bounds have both ends, and the children
	End      int64
	Low      uint32
	High     uint32
	Text     uint32 // where the values apart begin
}

// Node is a block. The builder fills it in place; the header is written with the block.
//
// The lock is that of R-SHT 4.3, one for each node: a builder holds it for Add, and a reader, shared,
// while it looks at the records. What else there is of a node changes only under the tree's lock.
type Node struct {
	sync.RWMutex
	Header
	layout *Layout
	raw    []byte
}

var u = binary.LittleEndian

// NewNode returns an empty node of a file.
func (f *File) NewNode(number uint32, level int, start int64) *Node {
	h := Header{Number: number, Level: uint16(level), Start: start, End: math.MinInt64, Low: math.MaxUint32, Text: uint32(f.Size)}
	return &Node{Header: h, layout: &f.Layout, raw: make([]byte, f.Size)}
}

// header reads the header of a block, and tells what is wrong with it.
func (n *Node) header(number uint32) error {
	if _, err := binary.Decode(n.raw[4:], u, &n.Header); err != nil {
		return err
	}
	switch {
	case n.Number != number:
		return fmt.Errorf("block %d says that it is %d: %w", number, n.Number, ErrDamaged)
	case int(n.Children) > n.layout.Fan || n.Level == 0 && n.Children > 0:
		return fmt.Errorf("block %d of level %d has %d children: %w", number, n.Level, n.Children, ErrDamaged)
	case int64(n.Text) > int64(len(n.raw)) || int64(n.place())+int64(n.Records)*RecordSize > int64(n.Text):
		return fmt.Errorf("block %d has %d records, values at %d: %w", number, n.Records, n.Text, ErrDamaged)
	}
	return nil
}

// Box returns the node's bounds, as a child.
func (n *Node) Box() Child {
	return Child{Number: n.Number, Start: n.Start, End: n.End, Low: n.Low, High: n.High}
}

// Widen makes the node's bounds hold those of a child or of an interval.
func (n *Node) Widen(c Child) {
	n.Start, n.End = min(n.Start, c.Start), max(n.End, c.End)
	n.Low, n.High = min(n.Low, c.Low), max(n.High, c.High)
}

// Child returns child i.
func (n *Node) Child(i int) Child {
	form := n.layout.Form
	b := n.raw[fixed+i*form.child():]
	c := Child{Number: u.Uint32(b), Start: int64(u.Uint64(b[4:])), End: math.MaxInt64, High: math.MaxUint32}
	if form == Starts {
		if i+1 < int(n.Children) {
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
	n.Children++
	n.SetLast(c)
}

// SetLast changes the last child. It does not change the node's bounds.
func (n *Node) SetLast(c Child) {
	form := n.layout.Form
	b := n.raw[fixed+int(n.Children-1)*form.child():]
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
func (n *Node) place() int { return n.layout.Size - n.layout.Room(int(n.Level)) }

// Fits tells whether the node has room for an interval. One without is full, and is closed.
func (n *Node) Fits(in *Interval) bool {
	return n.place()+int(n.Records)*RecordSize+in.Bytes() <= int(n.Text)
}

// Add adds an interval that ends no earlier than those there, and widens the bounds. There must be
// room.
func (n *Node) Add(in *Interval) {
	at, field := n.place()+int(n.Records)*RecordSize, uint32(in.Word)
	if apart := in.apart(); apart > 0 {
		n.Text -= uint32(apart)
		in.putApart(n.raw[n.Text:])
		field = n.Text
	}
	b := n.raw[at : at+RecordSize]
	u.PutUint64(b, uint64(in.Start))
	u.PutUint64(b[8:], uint64(in.End))
	u.PutUint32(b[16:], in.Key)
	b[20] = byte(in.Kind)
	u.PutUint32(b[21:], field)
	n.Records++
	n.Widen(in.Box())
}

// Record returns the key and the range of record i.
func (n *Node) Record(i int) (key uint32, start, end int64) {
	b := n.from(i)
	return u.Uint32(b[16:]), int64(u.Uint64(b)), int64(u.Uint64(b[8:]))
}

// First returns the first record that ends no earlier than t.
func (n *Node) First(t int64) int {
	b := n.from(0)
	return sort.Search(int(n.Records), func(i int) bool { return int64(u.Uint64(b[i*RecordSize+8:])) >= t })
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
	b := n.from(i)
	for len(b) >= RecordSize && int64(u.Uint64(b)) > t {
		i, b = i+1, b[RecordSize:]
	}
	return i
}

// NextOf returns the first record from i on whose key is in a set of bits, or the number of
// records.
func (n *Node) NextOf(i int, set []uint64) int {
	for b := n.from(i); len(b) >= RecordSize; i, b = i+1, b[RecordSize:] {
		if key := u.Uint32(b[16:]); int(key/64) < len(set) && set[key/64]>>(key%64)&1 != 0 {
			break
		}
	}
	return i
}

// from returns the records from i on.
func (n *Node) from(i int) []byte {
	return n.raw[n.place()+i*RecordSize : n.place()+int(n.Records)*RecordSize]
}
