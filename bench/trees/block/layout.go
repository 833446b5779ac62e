package block

import (
	"encoding/binary"
	"errors"
	"fmt"
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
	if l.Size == 0 {
		l.Size = defaultSize
	}
	if l.Fan == 0 {
		l.Fan = defaultFan
	}
	if l.Form < Starts || l.Form > Boxes || l.Size > largest || l.Fan < 2 || l.Fan > l.Size || l.Room(1) < RecordSize+8 || l.Size < summarySize {
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
	Root      uint32 // number of the root, 0 in an empty tree
	Nodes     uint32
	Depth     uint32
	Keys      uint32 // the greatest key and one
	Intervals uint64
	Start     int64 // of the history
	End       int64 // the latest end of an interval
	Size      int   // bytes of a block
}

// Bytes returns the size of the file.
func (s Summary) Bytes() int64 { return (int64(s.Nodes) + 1) * int64(s.Size) }

const (
	magic       = "SHTREE2\n"
	summarySize = 4 + len(magic) + 1 + 6*4 + 3*8
)

// putSummary writes block 0.
func putSummary(raw []byte, l Layout, s Summary) {
	b := append(raw[:4], magic...)
	b = append(b, byte(l.Form))
	for _, v := range []uint32{uint32(l.Size), uint32(l.Fan), s.Root, s.Nodes, s.Depth, s.Keys} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for _, v := range []uint64{s.Intervals, uint64(s.Start), uint64(s.End)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
}

// readSummary reads what putSummary wrote, of which raw has summarySize bytes.
func readSummary(raw []byte) (Layout, Summary, error) {
	if string(raw[4:12]) != magic {
		return Layout{}, Summary{}, fmt.Errorf("block 0 is not of a tree: %w", ErrDamaged)
	}
	b := raw[13:]
	l, err := Layout{Form: Form(raw[12]), Size: int(u.Uint32(b)), Fan: int(u.Uint32(b[4:]))}.whole()
	if err != nil {
		return l, Summary{}, fmt.Errorf("block 0: %w: %w", ErrDamaged, err)
	}
	s := Summary{
		Root: u.Uint32(b[8:]), Nodes: u.Uint32(b[12:]), Depth: u.Uint32(b[16:]), Keys: u.Uint32(b[20:]),
		Intervals: u.Uint64(b[24:]), Start: int64(u.Uint64(b[32:])), End: int64(u.Uint64(b[40:])), Size: l.Size,
	}
	if s.Root > s.Nodes || (s.Root == 0) != (s.Nodes == 0) {
		return l, s, fmt.Errorf("root %d of %d nodes: %w", s.Root, s.Nodes, ErrDamaged)
	}
	return l, s, nil
}
