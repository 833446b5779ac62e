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
	// second, "other", belongs to nodes that stand for omitted nodes. Line and Mapping of a function are
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
	// Others describes the nodes that stand for omitted nodes, in their order.
	Others []Other
	// All is the number of functions on call paths in the whole tree, without the root.
	All int
}

// Other describes a node that stands for omitted nodes. The node has the index At, is the last child of its
// parent, and has the sum of the omitted nodes' values. Nodes is the number of omitted nodes, at all depths.
type Other struct{ At, Nodes int }

// Nodes returns the tree with at most `most` functions, or with all if most is 0 or less. The root and
// nodes for omitted nodes do not count. The functions with the greatest totals are kept, as absolute
// values added up over both sides, together with their ancestors. If a function does not fit with its
// ancestors, lesser functions take its place. Of equal functions that do not all fit, a hash of the names on their
// paths decides: the choice does not depend on the order of stacks. Stacks can be added afterwards.
//
// It costs 25 ns for each frame that a stack does not share with the previous one, and 200 ns and 60 bytes for each node of the
// answer.
func (c *Calls) Nodes(most int) *Nodes {
	m := c.whole
	if m == nil {
		m = c.merge(most)
	}
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

// columns returns some nodes of a tree as columns: ascending, the root and the ancestors of all among them.
func (c *Calls) columns(m *treeNodes, nodes []int32) *Nodes {
	a := preorder{calls: c, tree: m, places: make([]uint32, len(c.frames))}
	a.Nodes = &Nodes{Frames: slices.Clone(c.frames[:ownFrames]), All: int(m.all) - 1, Groups: make([][]int64, len(c.groups))}
	for _, own := range c.groups {
		a.groups = append(a.groups, m.totals(own))
	}
	room := len(nodes)
	if room < int(m.all) {
		room += room / 2 // for omitted nodes
	}
	a.Depth, a.Frame = make([]int32, 0, room), make([]uint32, 0, room)
	for side := range a.Self {
		a.Self[side], a.Total[side] = make([]int64, 0, room), make([]int64, 0, room)
	}
	for _, i := range nodes {
		for len(a.path) > 0 && a.path[len(a.path)-1].end <= i {
			a.end()
		}
		a.begin(i)
	}
	for len(a.path) > 0 {
		a.end()
	}
	return a.Nodes
}

// preorder is a tree in columns, of which some nodes are known.
type preorder struct {
	*Nodes
	calls  *Calls
	tree   *treeNodes
	groups [][]int64 // totals of groups
	places []uint32  // index in Frames, by frame; 0: none yet
	path   []answered
}

// answered is the last node of the answer or an ancestor of it, with the sum of its omitted children: of what is below
// it, but not below a child that the answer has.
type answered struct {
	end    int32
	nodes  int32 // at all depths
	value  [2]int64
	groups []int64
}

// begin adds a node.
func (a *preorder) begin(i int32) {
	n := &a.tree.nodes[i]
	own, total := a.tree.of(i)
	b := answered{end: n.end, nodes: n.below, value: minus(total, own), groups: make([]int64, len(a.groups))}
	for g, t := range a.groups {
		b.groups[g] = t[i] - a.calls.groups[g][i]
		a.Groups[g] = append(a.Groups[g], a.calls.groups[g][i])
	}
	if len(a.path) > 0 {
		above := &a.path[len(a.path)-1]
		above.nodes, above.value = above.nodes-n.below-1, minus(above.value, total)
		for g, t := range a.groups {
			above.groups[g] -= t[i]
		}
	}
	if a.places[n.frame] == 0 && i > 0 {
		a.places[n.frame] = uint32(len(a.Frames))
		a.Frames = append(a.Frames, a.calls.frames[n.frame])
	}
	a.add(a.places[n.frame], own, total)
	a.path = append(a.path, b)
}

// end ends the last node with a node for its omitted children, if there are any.
func (a *preorder) end() {
	b := &a.path[len(a.path)-1]
	if b.nodes > 0 {
		a.Others = append(a.Others, Other{len(a.Depth), int(b.nodes)})
		a.add(otherFrame, b.value, b.value)
		for g, sum := range b.groups {
			a.Groups[g] = append(a.Groups[g], sum)
		}
	}
	a.path = a.path[:len(a.path)-1]
}

// add adds a node below the path.
func (a *preorder) add(frame uint32, self, total [2]int64) {
	a.Depth, a.Frame = append(a.Depth, int32(len(a.path))), append(a.Frame, frame)
	for side := range self {
		a.Self[side], a.Total[side] = append(a.Self[side], self[side]), append(a.Total[side], total[side])
	}
}

func minus(a, b [2]int64) [2]int64 { return [2]int64{a[0] - b[0], a[1] - b[1]} }

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
	// Others has pairs: the index of a node that stands for omitted nodes, and the number of these.
	Others [][2]int `json:"others"`
	// All is the number of nodes in the whole tree, without the root.
	All int `json:"all"`
}

// Columns returns the columns of a tree with `sides` sides, 1 or 2. They share slices with the nodes.
func (n *Nodes) Columns(sides int) *NodeColumns {
	out := &NodeColumns{Texts: []string{""}, Depth: n.Depth, Function: n.Frame, Groups: n.Groups, Others: [][2]int{}, All: n.All}
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
	for _, o := range n.Others {
		out.Others = append(out.Others, [2]int{o.At, o.Nodes})
	}
	return out
}
