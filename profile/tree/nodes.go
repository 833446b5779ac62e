package tree

import (
	"cmp"
	"iter"
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
// ancestors, lesser functions take its place. Stacks can be added afterwards.
//
// It costs about 200 ns for each node of the whole tree, and 60 bytes for each node of the answer.
func (c *Calls) Nodes(most int) *Nodes {
	t := c.sum()
	l := layout{c: c, totals: t, keep: c.largest(&t, most)}
	l.link()
	return l.columns()
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

// totals are the values of nodes including the nodes below them, by side. A side without stacks is nil.
type totals [2][]int64

func (c *Calls) sum() (t totals) {
	t[0] = make([]int64, c.nodes.count)
	if c.nodes.second != nil {
		t[1] = make([]int64, c.nodes.count)
	}
	for i := range c.nodes.count {
		self := c.nodes.self(i)
		for side := range t {
			if t[side] != nil {
				t[side][i] = self[side]
			}
		}
	}
	for i := c.nodes.count - 1; i > 0; i-- {
		parent := c.nodes.at(i).parent
		for _, sums := range t {
			if sums != nil {
				sums[parent] += sums[i]
			}
		}
	}
	return t
}

// of returns a node's totals.
func (t *totals) of(i int32) (v [2]int64) {
	v[0] = t[0][i]
	if t[1] != nil {
		v[1] = t[1][i]
	}
	return v
}

func plus(a, b [2]int64) [2]int64 { return [2]int64{a[0] + b[0], a[1] + b[1]} }

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

// largest reports which nodes to keep, including the root. nil means all.
func (c *Calls) largest(t *totals, most int) []bool {
	count := int(c.nodes.count)
	if most <= 0 || count-1 <= most {
		return nil
	}
	keep := make([]bool, count)
	keep[0] = true
	for some := range c.bySize(t, most) {
		slices.SortFunc(some, func(a, b int32) int { // a parent comes before its children
			return cmp.Or(cmp.Compare(sizeOf(t.of(b)), sizeOf(t.of(a))), cmp.Compare(a, b))
		})
		for _, i := range some {
			missing := 0
			for at := i; !keep[at] && missing <= most; at = c.nodes.at(at).parent {
				missing++
			}
			if missing > most {
				continue
			}
			for at := i; !keep[at]; at = c.nodes.at(at).parent {
				keep[at] = true
			}
			if most -= missing; most == 0 {
				return keep
			}
		}
	}
	return keep
}

// A class of sizes has the sizes with the same number of bits and the same classBits bits after the
// first.
const classBits = 5

func classOf(size uint64) int {
	n := bits.Len64(size)
	if n <= classBits {
		return int(size)
	}
	return (n-classBits)<<classBits + int(size>>(n-1-classBits)&(1<<classBits-1))
}

// bySize yields all nodes except the root in classes of sizes, the largest first. Nodes after the first
// `most` are put in order only on demand, because most of a large tree is omitted.
func (c *Calls) bySize(t *totals, most int) iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		classes := make([]uint16, c.nodes.count) // the largest is 0
		counts := make([]int, classOf(math.MaxUint64)+1)
		for i := int32(1); i < c.nodes.count; i++ {
			class := len(counts) - 1 - classOf(sizeOf(t.of(i)))
			classes[i] = uint16(class)
			counts[class]++
		}
		first, some := 0, 0
		for ; first < len(counts) && some < most; first++ {
			some += counts[first]
		}
		for _, in := range [][2]int{{0, first}, {first, len(counts)}} {
			starts := make([]int, in[1]-in[0]+1)
			for k, n := range counts[in[0]:in[1]] {
				starts[k+1] = starts[k] + n
			}
			order, at := make([]int32, starts[len(starts)-1]), slices.Clone(starts)
			for i, class := range classes[1:] {
				if k := int(class) - in[0]; k >= 0 && k < in[1]-in[0] {
					order[at[k]] = int32(i + 1)
					at[k]++
				}
			}
			for k := range in[1] - in[0] {
				if starts[k] < starts[k+1] && !yield(order[starts[k]:starts[k+1]]) {
					return
				}
			}
		}
	}
}

// layout is a tree whose nodes are brought into preorder.
type layout struct {
	c      *Calls
	totals totals
	keep   []bool           // nil: all
	first  []int32          // first kept child, by node; 0 if there is none
	next   []int32          // next kept sibling, by node
	other  map[int32]*other // by parent
	below  []int32          // number of nodes in the subtree, by omitted node
	sums   [][]int64        // totals, by group and node
}

// other is the sum of a node's omitted children: their totals, and the number of omitted nodes at all depths.
type other struct {
	value [2]int64
	nodes int
	sums  []int64 // by group
}

func (l *layout) kept(i int32) bool { return l.keep == nil || l.keep[i] }

// link finds each node's children, and the omitted nodes below it.
func (l *layout) link() {
	nodes, count := &l.c.nodes, l.c.nodes.count
	l.first, l.next = make([]int32, count), make([]int32, count)
	if l.keep != nil {
		l.below, l.other = make([]int32, count), map[int32]*other{}
		for _, group := range l.c.groups {
			l.sums = append(l.sums, slices.Clone(group))
		}
	}
	for i := count - 1; i > 0; i-- {
		n := nodes.at(i)
		for _, sums := range l.sums {
			sums[n.parent] += sums[i]
		}
		if l.kept(i) {
			l.next[i], l.first[n.parent] = l.first[n.parent], i
			continue
		}
		l.below[i]++
		if !l.kept(n.parent) {
			l.below[n.parent] += l.below[i]
			continue
		}
		o := l.other[n.parent]
		if o == nil {
			o = &other{sums: make([]int64, len(l.sums))}
			l.other[n.parent] = o
		}
		o.value, o.nodes = plus(o.value, l.totals.of(i)), o.nodes+int(l.below[i])
		for g, sums := range l.sums {
			o.sums[g] += sums[i]
		}
	}
}

// grow makes room in columns.
func (l *layout) grow(out *Nodes) {
	count := int(l.c.nodes.count)
	if l.keep != nil {
		count = len(l.other)
		for _, kept := range l.keep {
			if kept {
				count++
			}
		}
	}
	out.Depth, out.Frame = make([]int32, 0, count), make([]uint32, 0, count)
	for side := range out.Self {
		out.Self[side], out.Total[side] = make([]int64, 0, count), make([]int64, 0, count)
	}
}

// columns walks the tree.
func (l *layout) columns() *Nodes {
	nodes := &l.c.nodes
	out := &Nodes{Frames: slices.Clone(l.c.frames[:ownFrames]), All: int(nodes.count) - 1, Groups: make([][]int64, len(l.c.groups))}
	places := make([]uint32, len(l.c.frames)) // index in out.Frames; 0: none yet
	l.grow(out)
	add := func(depth int32, frame uint32, self, total [2]int64) {
		out.Depth, out.Frame = append(out.Depth, depth), append(out.Frame, frame)
		for side := range self {
			out.Self[side], out.Total[side] = append(out.Self[side], self[side]), append(out.Total[side], total[side])
		}
	}
	at, depth := int32(0), int32(0)
	for {
		n := nodes.at(at)
		if places[n.frame] == 0 && at > 0 {
			places[n.frame] = uint32(len(out.Frames))
			out.Frames = append(out.Frames, l.c.frames[n.frame])
		}
		add(depth, places[n.frame], nodes.self(at), l.totals.of(at))
		for g, group := range l.c.groups {
			out.Groups[g] = append(out.Groups[g], group[at])
		}
		if child := l.first[at]; child != 0 {
			at, depth = child, depth+1
			continue
		}
		for { // at is done: its omitted children come next, and then its sibling
			if o := l.other[at]; o != nil {
				out.Others = append(out.Others, Other{len(out.Depth), o.nodes})
				add(depth+1, otherFrame, o.value, o.value)
				for g, sum := range o.sums {
					out.Groups[g] = append(out.Groups[g], sum)
				}
			}
			if at == 0 {
				return out
			}
			if sibling := l.next[at]; sibling != 0 {
				at = sibling
				break
			}
			at, depth = nodes.at(at).parent, depth-1
		}
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
