package tree

import (
	"math"
	"math/bits"
	"slices"
)

// Nodes is a tree in preorder: a node comes before its children, which are in order of first stack. All
// columns have an element for each node, the root first. The slices belong to the caller.
type Nodes struct {
	// Frames are the functions of the nodes. The first is the root's, "root" or the tree's function. The
	// second, "other", belongs to nodes that stand for omitted nodes: such a node is the last child of its parent, and has
	// the sum of the omitted children's totals. Line and Mapping of a function are
	// the least of its frames in the tree's stacks, and Inlined is not set.
	Frames []Frame
	Depth  []int32  // 0 for the root
	Frame  []uint32 // index in Frames
	// Self is the value of the stacks that end in a node. Total includes the nodes below it. Both are by
	// side.
	Self, Total [2][]int64
	// Groups are the values of AddGroup by group. Like Self, a value does not include the nodes below its
	// node.
	Groups [][]int64
	// Omitted is the size of the greatest omitted node: the absolute value of its total, or of both sides' added up. It is 0 if
	// none is omitted.
	Omitted uint64
}

// Nodes returns the tree with at most `most` functions, or with all if most is 0 or less. The root and
// nodes for omitted nodes do not count. The functions with the greatest totals are kept, as absolute
// values added up over both sides, together with their ancestors. If a function does not fit with its
// ancestors, lesser functions take its place. Of equal functions that do not all fit, a hash of the names on their
// paths decides: the choice does not depend on the order of stacks. Stacks can be added afterwards.
//
// It costs 20 ns for each frame that a stack does not share with the previous one, or 60 ns if all nodes are kept, and 200 ns
// and 60 bytes for each node of the answer.
func (c *Calls) Nodes(most int) *Nodes {
	m := c.merge(most)
	return c.columns(m, c.largest(m, most))
}

// FlameGraph returns a side of the tree as nodes that package render draws. Names and files come from the
// functions. The nodes belong to the caller.
func (n *Nodes) FlameGraph(side int) *FlameNode {
	var path []*FlameNode
	for i, depth := range n.Depth {
		f := &n.Frames[n.Frame[i]]
		at := &FlameNode{Name: f.Function, File: f.File, Self: n.Self[side][i], Total: n.Total[side][i]}
		if path = append(path[:depth], at); depth > 0 {
			path[depth-1].Children = append(path[depth-1].Children, at)
		}
	}
	return path[0]
}

// size returns the absolute value of v.
func size(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// sizeOf returns the sum of both sides' absolute values.
func sizeOf(v [2]int64) uint64 {
	sum, carry := bits.Add64(size(v[0]), size(v[1]), 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}

// columns returns the nodes to keep as columns: the root and the ancestors of all are among them.
func (c *Calls) columns(m *treeNodes, keep []bool) *Nodes {
	a := preorder{calls: c, treeNodes: m, keep: keep, places: make([]uint32, len(c.frames))}
	a.out = &Nodes{Frames: slices.Clone(c.frames[:ownFrames]), Groups: make([][]int64, len(c.groups))}
	for i := range c.groups {
		own := m.overlay(&c.groups[i])
		a.own, a.totals = append(a.own, own), append(a.totals, m.below(own))
	}
	nodes := 0
	for i, is := range keep {
		if is {
			nodes++
		} else {
			a.out.Omitted = max(a.out.Omitted, m.size(int32(i)))
		}
	}
	if nodes < len(keep) {
		nodes += nodes // for omitted nodes
	}
	a.out.Depth, a.out.Frame = make([]int32, 0, nodes), make([]uint32, 0, nodes)
	for side := range a.out.Self {
		a.out.Self[side], a.out.Total[side] = make([]int64, 0, nodes), make([]int64, 0, nodes)
	}
	a.each(a.begin, a.end)
	return a.out
}

// preorder is a tree in columns, of which some nodes are known.
type preorder struct {
	*treeNodes
	calls       *Calls
	keep        []bool
	own, totals [][]int64 // of groups, by node
	places      []uint32  // index in out.Frames, by frame; 0: none yet
	out         *Nodes
}

// begin adds a node at a depth, if it is to keep.
func (a *preorder) begin(i int32, depth int) bool {
	if !a.keep[i] {
		return false
	}
	n := &a.nodes[i]
	if a.places[n.frame] == 0 && i > 0 {
		a.places[n.frame] = uint32(len(a.out.Frames))
		a.out.Frames = append(a.out.Frames, a.calls.frames[n.frame])
	}
	a.addRow(depth, a.places[n.frame], a.self(i), a.total(i))
	for g, own := range a.own {
		a.out.Groups[g] = append(a.out.Groups[g], own[i])
	}
	return true
}

// end adds a node for the omitted children of a node at a depth, if there are any.
func (a *preorder) end(i int32, depth int) {
	n := &a.nodes[i]
	omitted := 0
	var sum [2]int64
	sums := make([]int64, len(a.totals)) // by group
	for child := n.children; child < n.end; child++ {
		if a.keep[child] {
			continue
		}
		omitted, sum = omitted+1, plus(sum, a.total(child))
		for g, totals := range a.totals {
			sums[g] += totals[child]
		}
	}
	if omitted == 0 {
		return
	}
	a.addRow(depth+1, Other, sum, sum)
	for g, sum := range sums {
		a.out.Groups[g] = append(a.out.Groups[g], sum)
	}
}

func (a *preorder) addRow(depth int, frame uint32, self, total [2]int64) {
	a.out.Depth, a.out.Frame = append(a.out.Depth, int32(depth)), append(a.out.Frame, frame)
	for side := range self {
		a.out.Self[side], a.out.Total[side] = append(a.out.Self[side], self[side]), append(a.out.Total[side], total[side])
	}
}

// NodeColumns is Nodes as columns of names and numbers, for JSON. It omits totals, because a total is the
// sum of the self values of a node and of all nodes below it. Its JSON field names are stable.
type NodeColumns struct {
	// Names, Files, Lines and Binaries describe functions, in the order of Nodes.Frames. Files and
	// Binaries are indexes in Texts.
	Names    []string `json:"names"`
	Files    []int    `json:"files"`
	Lines    []int64  `json:"lines"`
	Binaries []int    `json:"binaries"`
	Texts    []string `json:"texts"`
	// Depth, Function and Self describe nodes in preorder. Self is by side.
	Depth    []int32   `json:"depth"`
	Function []uint32  `json:"function"`
	Self     [][]int64 `json:"self"`
	// Groups is Nodes.Groups.
	Groups [][]int64 `json:"groups,omitempty"`
	// Omitted is Nodes.Omitted.
	Omitted uint64 `json:"omitted"`
}

// Columns returns the columns of a tree with `sides` sides, 1 or 2. They share slices with the nodes.
func (n *Nodes) Columns(sides int) *NodeColumns {
	out := &NodeColumns{Texts: []string{""}, Depth: n.Depth, Function: n.Frame, Groups: n.Groups, Omitted: n.Omitted}
	numbers := map[string]int{"": 0}
	number := func(text string) int {
		i, known := numbers[text]
		if !known {
			i = len(out.Texts)
			numbers[text], out.Texts = i, append(out.Texts, text)
		}
		return i
	}
	for _, f := range n.Frames {
		out.Names, out.Lines = append(out.Names, f.Function), append(out.Lines, f.Line)
		out.Files, out.Binaries = append(out.Files, number(f.File)), append(out.Binaries, number(f.Mapping))
	}
	for side := range sides {
		out.Self = append(out.Self, n.Self[side])
	}
	return out
}
