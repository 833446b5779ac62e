package arrowconv

import (
	"slices"

	"github.com/granarydb/granary/encoding/dict"
)

// listBlocks keeps the element codes of lists that were read from a dictionary.
//
// Lists that were added together have codes close to each other, and are read together. Reading one list
// costs as much as reading several lists in its block (dict.ListBlock) in order. Therefore the first list of
// a block is read alone, and the second read takes the whole block. Once mostElements elements are kept,
// lists of other blocks are read alone.
type listBlocks struct {
	of     *dict.Lists
	cursor dict.ListCursor
	blocks pages[listBlock] // by (code-1) / dict.ListBlock
	room   []uint32         // its free capacity is memory for the next blocks
	kept   int              // elements of all blocks
}

// listBlock has the lists that a block had when it was read. The i-th list has the codes [ends[i],
// ends[i+1]).
type listBlock struct {
	asked bool // a list was asked for
	lists int  // 0 before the block is read
	ends  [dict.ListBlock + 1]uint32
	codes []uint32
}

// newListBlocks returns an empty cache for a dictionary's lists.
func newListBlocks(of *dict.Lists) *listBlocks {
	return &listBlocks{of: of, cursor: of.View().Cursor()}
}

// at returns the element codes of a list, or false if the list must be read alone.
func (l *listBlocks) at(code uint32) ([]uint32, bool) {
	n, i := (code-1)/dict.ListBlock, (code-1)%dict.ListBlock
	b := l.blocks.make(n)
	if int(i) >= b.lists { // not read, or added later
		if !b.asked || l.kept >= mostElements {
			b.asked = true
			return nil, false
		}
		l.readBlock(b, n*dict.ListBlock+1)
	}
	return b.codes[b.ends[i]:b.ends[i+1]], true
}

// readBlock reads a block's lists, from its first list on.
func (l *listBlocks) readBlock(b *listBlock, first uint32) {
	b.lists = min(dict.ListBlock, l.of.Len()-int(first-1))
	codes := l.room[len(l.room):]
	if cap(codes) < dict.ListBlock*32 {
		codes = make([]uint32, 0, 16<<10)
	}
	for i := range b.lists {
		l.cursor.Move(first + uint32(i))
		codes = append(codes, l.cursor.Elements()...)
		b.ends[i+1] = uint32(len(codes))
	}
	l.kept += len(codes)
	l.room, b.codes = codes, slices.Clip(codes)
}
