package tree

import "slices"

// node is a function on a path, with the value of the stacks that end there.
type node struct {
	frame uint32
	end   int32 // number of the first node after this one that is not below it
	self  int64 // value of side 0
}

// pathNodes has the nodes of paths in preorder: the nodes below node i have the numbers from i+1 to before i's
// end. A path shares nodes with the previous path alone, so several nodes can have one path until merge makes
// them one. Adding a path is cheap, because it looks up nothing.
//
//	number  frame  end
//	0       root     7
//	1        main    4     its children: 2 is the first, 3 is where 2 ends, and 4 is where 1 ends
//	2         f      3
//	3         g      4
//	4        main    7     main and f again, after g
//	5         f      7
//	6          h     7
//
// The nodes are in blocks, so that growth copies none.
type pathNodes struct {
	blocks [][]node  // all but the last are full
	second [][]int64 // values of side 1, by block; nil for a block without them
	count  int32
	path   []step // the last path, without the root; its nodes and the root have no end yet
}

// step is a function on a path, and its node.
type step struct {
	function uint32
	node     int32
}

const (
	blockBits  = 12
	blockNodes = 1 << blockBits
)

// newPathNodes returns a root.
func newPathNodes() pathNodes {
	return pathNodes{blocks: [][]node{make([]node, 1, 16)}, count: 1}
}

// at returns a node. The pointer is valid until the next node is added.
func (p *pathNodes) at(i int32) *node { return &p.blocks[i>>blockBits][i&(blockNodes-1)] }

// last returns the last node of the last path.
func (p *pathNodes) last() int32 {
	if len(p.path) == 0 {
		return 0
	}
	return p.path[len(p.path)-1].node
}

// cut ends the nodes of the last path from a depth on: the next node is a child of what is left.
func (p *pathNodes) cut(depth int) {
	for _, s := range p.path[depth:] {
		p.at(s.node).end = p.count
	}
	p.path = p.path[:depth]
}

// close ends all nodes. They can be read then, until the next one is added.
func (p *pathNodes) close() {
	p.cut(0)
	p.at(0).end = p.count
}

// push adds a node at the end of the last path.
func (p *pathNodes) push(frame uint32) (i int32) {
	last := len(p.blocks) - 1
	if len(p.blocks[last]) == blockNodes {
		p.blocks, last = append(p.blocks, slices.Grow([]node(nil), blockNodes)), last+1
	}
	i = p.count
	p.blocks[last] = append(p.blocks[last], node{frame: frame})
	p.path = append(p.path, step{frame, i})
	p.count++
	return i
}

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
