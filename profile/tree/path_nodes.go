package tree

import (
	"hash/maphash"
	"slices"
)

// node is a function on a path, with the value of the stacks that end there.
type node struct {
	parent int32
	frame  uint32
	child  int32 // first child; 0 if there is none
	self   int64 // value of side 0
}

// pathNodes has a tree's nodes, the root first and each after its parent. They are in blocks, so that
// growth copies no node. A node knows its first child. A table finds the other children by parent and
// frame, because most nodes in a large tree are an only child.
type pathNodes struct {
	blocks [][]node  // all but the last are full
	second [][]int64 // values of side 1, by block; nil for a block without them
	count  int32
	slots  []pathSlot // the length is a power of two; at most 3/4 are taken
	taken  int
	seed   maphash.Seed
}

// pathSlot is the number of a node, or 0, and half of the hash of the node's parent and frame. Probing and
// growing look only at slots, because nodes are far away in memory.
type pathSlot struct {
	hash uint32
	node int32
}

const (
	blockBits  = 12
	blockNodes = 1 << blockBits
	leastSlots = 16
)

// newPathNodes returns a root.
func newPathNodes() pathNodes {
	return pathNodes{blocks: [][]node{make([]node, 1)}, count: 1, slots: make([]pathSlot, leastSlots), seed: maphash.MakeSeed()}
}

// at returns a node. The pointer is valid until the next node is added.
func (p *pathNodes) at(i int32) *node { return &p.blocks[i>>blockBits][i&(blockNodes-1)] }

// addValue adds to a node's value on a side.
func (p *pathNodes) addValue(i int32, side int, value int64) {
	if side == 0 {
		p.at(i).self += value
		return
	}
	block := int(i >> blockBits)
	if more := block + 1 - len(p.second); more > 0 {
		p.second = append(p.second, make([][]int64, more)...)
	}
	if p.second[block] == nil {
		p.second[block] = make([]int64, blockNodes)
	}
	p.second[block][i&(blockNodes-1)] += value
}

// self returns a node's values.
func (p *pathNodes) self(i int32) (v [2]int64) {
	v[0] = p.at(i).self
	if block := int(i >> blockBits); block < len(p.second) && p.second[block] != nil {
		v[1] = p.second[block][i&(blockNodes-1)]
	}
	return v
}

// values returns the values of all nodes on a side.
func (p *pathNodes) values(side int) []int64 {
	out := make([]int64, 0, p.count)
	if side == 0 {
		for _, block := range p.blocks {
			for k := range block {
				out = append(out, block[k].self)
			}
		}
		return out
	}
	for _, block := range p.second {
		if block == nil {
			block = noValues[:]
		}
		out = append(out, block[:min(blockNodes, int(p.count)-len(out))]...)
	}
	return out[:p.count] // of the last blocks, none can have values
}

// noValues are the values of a block without any.
var noValues [blockNodes]int64

// addUp adds each node's element of sums to the parent's, after the node has those of its children.
func addUp[T int32 | int64](p *pathNodes, sums []T) {
	for b, block := range slices.Backward(p.blocks) {
		for k := len(block) - 1; k >= 0 && b+k > 0; k-- { // the root has no parent
			sums[block[k].parent] += sums[b<<blockBits+k]
		}
	}
}

// child returns the child of parent with the frame, or 0 if there is none.
func (p *pathNodes) child(parent int32, frame uint32) int32 {
	first := p.at(parent).child
	if first == 0 || p.at(first).frame == frame {
		return first
	}
	s, _ := p.slot(parent, frame)
	return s.node
}

// add returns the child of parent with the frame, and adds the child if there is none. isNew reports that.
func (p *pathNodes) add(parent int32, frame uint32) (i int32, isNew bool) {
	above := p.at(parent)
	if above.child == 0 {
		above.child = p.count
		return p.push(parent, frame), true
	}
	if p.at(above.child).frame == frame {
		return above.child, false
	}
	s, hash := p.slot(parent, frame)
	if s.node != 0 {
		return s.node, false
	}
	*s = pathSlot{hash, p.count}
	if p.taken++; 4*p.taken > 3*len(p.slots) {
		p.grow()
	}
	return p.push(parent, frame), true
}

// push adds a node.
func (p *pathNodes) push(parent int32, frame uint32) (i int32) {
	last := len(p.blocks) - 1
	if len(p.blocks[last]) == blockNodes {
		p.blocks, last = append(p.blocks, slices.Grow([]node(nil), blockNodes)), last+1
	}
	p.blocks[last] = append(p.blocks[last], node{parent: parent, frame: frame})
	p.count++
	return p.count - 1
}

// slot returns the slot of the node with this parent and frame, or the free slot where that node belongs. The
// hash has a seed, because profiles choose parents and frames, and must not choose the slots.
func (p *pathNodes) slot(parent int32, frame uint32) (slot *pathSlot, hash uint32) {
	hash = uint32(maphash.Comparable(p.seed, uint64(parent)<<32|uint64(frame)))
	mask := uint32(len(p.slots) - 1)
	for i := hash; ; i++ {
		s := &p.slots[i&mask]
		if s.node == 0 {
			return s, hash
		}
		if s.hash == hash {
			if n := p.at(s.node); n.parent == parent && n.frame == frame {
				return s, hash
			}
		}
	}
}

// grow doubles the table.
func (p *pathNodes) grow() {
	old := p.slots
	p.slots = make([]pathSlot, 2*len(old))
	mask := uint32(len(p.slots) - 1)
	for _, s := range old {
		if s.node == 0 {
			continue
		}
		i := s.hash
		for p.slots[i&mask].node != 0 {
			i++
		}
		p.slots[i&mask] = s
	}
}
