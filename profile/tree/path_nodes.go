package tree

import "slices"

// node is a function on a path.
type node struct {
	frame  uint32
	end    int32 // number of the first node after this one that is not below it
	before int64 // sum of the values of side 0 that were added before the node
}

// pathNodes has the nodes of paths in preorder: the nodes below node i have the numbers from i+1 to before i's
// end. A path shares nodes with the previous path alone, so several nodes can have one path until merge makes
// them one. Adding a path is cheap, because it looks up nothing.
//
//	number  frame  end  before
//	0       root     7       0
//	1        main    4       0    its children: 2 is the first, 3 is where 2 ends, and 4 is where 1 ends
//	2         f      3       0    the value of main, f is 5
//	3         g      4       5    the value of main, g is 1
//	4        main    7       6    main and f again, after g
//	5         f      7       6
//	6          h     7       6    the value of main, f, h is 2
//	                         8
//
// A value is added when the last node is that of its path. So the total of a node is what is before its end, less what is before
// the node: that of the first main is 6, and that of the second 2. The root's own values, of stacks without
// frames, are apart.
//
// The nodes are in blocks, so that growth copies none.
type pathNodes struct {
	blocks [][]node  // all but the last are full
	second [][]int64 // before of side 1, by block; nil for a block of which all are 0
	count  int32
	sum    [2]int64 // of all values but the root's own
	own    [2]int64 // of the root
	path   []step   // the last path, without the root; its nodes and the root have no end yet
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
func (p *pathNodes) push(frame uint32) {
	last := len(p.blocks) - 1
	if len(p.blocks[last]) == blockNodes {
		p.blocks, last = append(p.blocks, slices.Grow([]node(nil), blockNodes)), last+1
	}
	if p.sum[1] != 0 {
		p.setSecond()
	}
	p.blocks[last] = append(p.blocks[last], node{frame: frame, before: p.sum[0]})
	p.path = append(p.path, step{frame, p.count})
	p.count++
}

// setSecond sets what is before the next node of side 1.
func (p *pathNodes) setSecond() {
	block := int(p.count >> blockBits)
	if more := block + 1 - len(p.second); more > 0 {
		p.second = append(p.second, make([][]int64, more)...)
	}
	if p.second[block] == nil {
		p.second[block] = make([]int64, blockNodes)
	}
	p.second[block][p.count&(blockNodes-1)] = p.sum[1]
}

// add adds a value of a side to the last path.
func (p *pathNodes) add(side int, value int64) {
	last := len(p.path) - 1
	if last < 0 {
		p.own[side] += value
		return
	}
	if s := p.path[last]; s.node != p.count-1 { // the previous path goes on below it
		p.cut(last)
		p.push(s.function)
	}
	p.sum[side] += value
}

// before returns what was added before a node, by side, or everything for a number behind the last node.
func (p *pathNodes) before(i int32) (v [2]int64) {
	if i == p.count {
		return p.sum
	}
	v[0] = p.at(i).before
	if block := int(i >> blockBits); block < len(p.second) && p.second[block] != nil {
		v[1] = p.second[block][i&(blockNodes-1)]
	}
	return v
}

// total returns a node's values with those of the nodes below it.
func (p *pathNodes) total(i int32) [2]int64 {
	total := minus(p.before(p.at(i).end), p.before(i))
	if i == 0 {
		total = plus(total, p.own)
	}
	return total
}

// self returns a node's own values.
func (p *pathNodes) self(i int32) [2]int64 {
	if i == 0 {
		return p.own
	}
	return minus(p.before(i+1), p.before(i))
}

func plus(a, b [2]int64) [2]int64  { return [2]int64{a[0] + b[0], a[1] + b[1]} }
func minus(a, b [2]int64) [2]int64 { return [2]int64{a[0] - b[0], a[1] - b[1]} }
