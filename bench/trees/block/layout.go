package block

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Errors of trees.
var (
	// ErrDamaged means that a block is cut, changed or not of a tree.
	ErrDamaged = errors.New("tree is damaged")
	// ErrInterval means that an interval cannot be stored: it ends before it starts or before
	// its predecessor, starts before the tree, or has a value that is too long.
	ErrInterval = errors.New("interval cannot be stored")
	// ErrClosed means that a closed tree was written.
	ErrClosed = errors.New("tree is closed")
	// ErrLayout means that blocks of a size have no room for the children and a record.
	ErrLayout = errors.New("layout of blocks is impossible")
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

// Layout is what all blocks of a file have in common. The file's header has it.
type Layout struct {
	Form Form
	Size int // bytes of a block; 0 is 64 KiB (R-SHT 3.1)
	Fan  int // the most children of a node; 0 is 50 (R-SHT 3.1)
}

const (
	defaultSize = 64 << 10
	defaultFan  = 50
	largest     = 64 << 20 // a header that says more is damaged
	fixed       = 48       // bytes of a node's header before the children
)

// whole returns the layout with its defaults, or ErrLayout.
func (l Layout) whole() (Layout, error) {
	l.Size, l.Fan = cmp.Or(l.Size, defaultSize), cmp.Or(l.Fan, defaultFan)
	if l.Form < Starts || l.Form > Boxes || l.Size > largest || l.Fan < 2 || l.Fan > math.MaxUint16 || l.Room(1) < RecordSize+8 || l.Size < headSize {
		return l, fmt.Errorf("form %d, blocks of %d bytes, %d children: %w", l.Form, l.Size, l.Fan, ErrLayout)
	}
	return l, nil
}

// Room returns the bytes for records and values apart in an empty node of a level.
func (l Layout) Room(level int) int {
	if level == 0 {
		return l.Size - fixed
	}
	return l.Size - fixed - l.Fan*l.Form.child()
}

// MaxText returns the length of the longest string, which has room in an empty node of any level.
func (l Layout) MaxText() int { return max(0, min(1<<15-1, l.Room(1)-RecordSize-2)) }

// Summary describes a tree.
type Summary struct {
	Size      uint32 // bytes of a block
	Root      uint32 // number of the root, 0 in an empty tree
	Nodes     uint32
	Depth     uint32
	Keys      uint32 // the greatest key and one
	Intervals uint64
	Start     int64 // of the history
	End       int64 // the latest end of an interval
}

// Bytes returns the size of the file.
func (s Summary) Bytes() int64 { return (int64(s.Nodes) + 1) * int64(s.Size) }

// head is what block 0 begins with, behind the checksum.
type head struct {
	Magic [8]byte
	Form  Form
	Fan   uint32
	Summary
}

var (
	magic    = [8]byte([]byte("SHTREE3\n"))
	headSize = 4 + binary.Size(head{})
)

// layout returns the layout that the file's header has, or what is wrong with the header.
func (h head) layout() (Layout, error) {
	if h.Magic != magic {
		return Layout{}, fmt.Errorf("block 0 is not of a tree: %w", ErrDamaged)
	}
	l, err := Layout{Form: h.Form, Size: int(h.Size), Fan: int(h.Fan)}.whole()
	if err == nil && (h.Root > h.Nodes || (h.Root == 0) != (h.Nodes == 0)) {
		err = fmt.Errorf("root %d of %d nodes", h.Root, h.Nodes)
	}
	if err != nil {
		err = fmt.Errorf("block 0: %w: %w", ErrDamaged, err)
	}
	return l, err
}
