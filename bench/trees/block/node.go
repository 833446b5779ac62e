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

// Node is a block. The writer fills it in place; the header is written with the block.
type Node struct {
	form     Form
	level    uint16
	children int
	records  int
	text     int // where the values apart begin
	sorted   bool
	box      Child // bounds and number
	raw      [Size]byte
}

var u = binary.LittleEndian

// NewNode returns an empty node.
func NewNode(form Form, number uint32, level uint16, start int64) *Node {
	box := Child{Number: number, Start: start, End: math.MinInt64, Low: math.MaxUint32}
	return &Node{form: form, level: level, text: Size, box: box}
}

// putHeader writes the header, but for the checksum and the children.
func (n *Node) putHeader() {
	b := n.raw[:fixed]
	u.PutUint16(b[4:], n.level)
	u.PutUint16(b[6:], uint16(n.children))
	u.PutUint32(b[8:], n.box.Number)
	u.PutUint32(b[12:], uint32(n.records))
	u.PutUint64(b[16:], uint64(n.box.Start))
	u.PutUint64(b[24:], uint64(n.box.End))
	u.PutUint32(b[32:], n.box.Low)
	u.PutUint32(b[36:], n.box.High)
	u.PutUint32(b[40:], uint32(n.text))
	b[44] = 0
	if n.sorted {
		b[44] = 1
	}
}

// header reads the header of a block, and tells what is wrong with it.
func (n *Node) header(number uint32) error {
	b := n.raw[:fixed]
	n.level, n.children, n.sorted = u.Uint16(b[4:]), int(u.Uint16(b[6:])), b[44] == 1
	n.box = Child{
		Number: u.Uint32(b[8:]), Start: int64(u.Uint64(b[16:])), End: int64(u.Uint64(b[24:])),
		Low: u.Uint32(b[32:]), High: u.Uint32(b[36:]),
	}
	records, text := int64(u.Uint32(b[12:])), int64(u.Uint32(b[40:]))
	switch {
	case n.box.Number != number:
		return fmt.Errorf("block %d says that it is %d: %w", number, n.box.Number, ErrDamaged)
	case n.children > Fan || (n.level == 0) != (n.children == 0):
		return fmt.Errorf("block %d of level %d has %d children: %w", number, n.level, n.children, ErrDamaged)
	case text > Size || int64(n.place())+records*RecordSize > text:
		return fmt.Errorf("block %d has %d records, values at %d: %w", number, records, text, ErrDamaged)
	}
	n.records, n.text = int(records), int(text)
	return nil
}

// Number returns the node's number.
func (n *Node) Number() uint32 { return n.box.Number }

// SetNumber sets the node's number.
func (n *Node) SetNumber(number uint32) { n.box.Number = number }

// Level returns the node's level; that of leaves is 0.
func (n *Node) Level() uint16 { return n.level }

// Records returns the number of intervals in the node itself.
func (n *Node) Records() int { return n.records }

// Children returns the number of children.
func (n *Node) Children() int { return n.children }

// Sorted tells whether the records are in the order of (key, end).
func (n *Node) Sorted() bool { return n.sorted }

// SetSorted says that they are.
func (n *Node) SetSorted() { n.sorted = true }

// Start returns where the node begins.
func (n *Node) Start() int64 { return n.box.Start }

// Box returns the node's bounds, as a child.
func (n *Node) Box() Child { return n.box }

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
	n.SetChild(n.children, c)
	n.children++
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

// place returns where the records begin.
func (n *Node) place() int {
	if n.level == 0 {
		return fixed
	}
	return fixed + Fan*n.form.child()
}

// Room returns the bytes for records and values apart in an empty leaf.
func Room() int { return Size - fixed }

// Add adds an interval and widens the bounds. It returns false if there is no room.
func (n *Node) Add(in *Interval) bool {
	apart, at := in.apart(), n.place()+n.records*RecordSize
	if at+RecordSize+apart > n.text {
		return false
	}
	field := uint32(in.Word)
	if apart > 0 {
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
	return true
}

// Record returns the key and the range of record i.
func (n *Node) Record(i int) (key uint32, start, end int64) {
	b := n.raw[n.place()+i*RecordSize:]
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
	b := n.from(0)
	for i := 0; len(b) >= RecordSize; i, b = i+1, b[RecordSize:] {
		if u.Uint32(b[16:]) == key && int64(u.Uint64(b)) <= t && t <= int64(u.Uint64(b[8:])) {
			return i
		}
	}
	return -1
}

// NextAt returns the first record from i on that is there at t, or the number of records.
func (n *Node) NextAt(i int, t int64) int {
	for b := n.from(i); len(b) >= RecordSize; i, b = i+1, b[RecordSize:] {
		if int64(u.Uint64(b)) <= t && t <= int64(u.Uint64(b[8:])) {
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
