package tree

import (
	"hash/maphash"
	"slices"
)

// node is a function on a path, with the values of both sides.
type node struct {
	parent      int32
	frame       uint32
	self, total [2]int64
}

// pathNodes are the nodes of a tree, the root first and each after its parent. They are in blocks, so that more of them
// copy none, and a table finds a node by its parent and its frame.
type pathNodes struct {
	blocks [][]node // all but the last are full
	count  int32
	slots  []int32 // a power of two of them, at most 3/4 of them taken: the number of a node, 0 for none
	seed   maphash.Seed
}

const (
	blockBits  = 12
	blockNodes = 1 << blockBits
	leastSlots = 16
)

// newPathNodes returns a root.
func newPathNodes() pathNodes {
	return pathNodes{blocks: [][]node{make([]node, 1)}, count: 1, slots: make([]int32, leastSlots), seed: maphash.MakeSeed()}
}

// at returns a node, which stays where it is until the next one is added.
func (p *pathNodes) at(i int32) *node { return &p.blocks[i>>blockBits][i&(blockNodes-1)] }

// slot returns the slot of a node, or the free one where it belongs. Profiles choose parents and frames: the hash has a
// seed, so that they cannot choose the slots.
func (p *pathNodes) slot(parent int32, frame uint32) *int32 {
	mask := uint64(len(p.slots) - 1)
	for i := maphash.Comparable(p.seed, uint64(parent)<<32|uint64(frame)); ; i++ {
		s := &p.slots[i&mask]
		if *s == 0 {
			return s
		}
		if n := p.at(*s); n.parent == parent && n.frame == frame {
			return s
		}
	}
}

// child returns a node of a parent, 0 if there is none.
func (p *pathNodes) child(parent int32, frame uint32) int32 { return *p.slot(parent, frame) }

// add returns a node of a parent, and whether it is new.
func (p *pathNodes) add(parent int32, frame uint32) (i int32, isNew bool) {
	s := p.slot(parent, frame)
	if *s != 0 {
		return *s, false
	}
	i = p.count
	*s = i
	last := len(p.blocks) - 1
	if len(p.blocks[last]) == blockNodes {
		p.blocks, last = append(p.blocks, slices.Grow([]node(nil), blockNodes)), last+1
	}
	p.blocks[last] = append(p.blocks[last], node{parent: parent, frame: frame})
	if p.count++; 4*int(p.count) > 3*len(p.slots) {
		p.slots = make([]int32, 2*len(p.slots))
		for k := int32(1); k < p.count; k++ {
			n := p.at(k)
			*p.slot(n.parent, n.frame) = k
		}
	}
	return i, true
}
