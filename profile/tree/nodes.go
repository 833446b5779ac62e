package tree

import (
	"cmp"
	"hash/fnv"
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
// ancestors, lesser functions take its place. Of equal functions that do not all fit, a hash of the names on their
// paths decides: the choice does not depend on the order of stacks. Stacks can be added afterwards.
//
// It costs about 40 ns for each node of the whole tree, and 200 ns and 60 bytes for each node of the answer.
func (c *Calls) Nodes(most int) *Nodes {
	t := c.sum()
	l := layout{c: c, totals: t, kept: c.largest(&t, most)}
	l.link()
	if l.kept != nil {
		l.leaveOut()
	}
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
	for side := range t {
		if side == 0 || c.nodes.second != nil {
			t[side] = c.nodes.values(side)
			addUp(&c.nodes, t[side])
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

func minus(a, b [2]int64) [2]int64 { return [2]int64{a[0] - b[0], a[1] - b[1]} }

// size returns the absolute value of a node's total, or of both sides' added up.
func (t *totals) size(i int32) uint64 {
	if t[1] == nil {
		return size(t[0][i])
	}
	return sizeOf(t.of(i))
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

// largest returns the nodes to keep, ascending, with the root. nil means all.
func (c *Calls) largest(t *totals, most int) []int32 {
	if count := int(c.nodes.count); most <= 0 || count-1 <= most {
		return nil
	}
	k := keeper{calls: c, most: most, keep: make([]bool, c.nodes.count), kept: make([]int32, 1, most+1)}
	k.keep[0] = true
	for some := range c.bySize(t, most) {
		slices.SortFunc(some, func(a, b int32) int { return cmp.Compare(t.size(b), t.size(a)) })
		for len(some) > 0 {
			equal := 1
			for equal < len(some) && t.size(some[equal]) == t.size(some[0]) {
				equal++
			}
			k.addEqual(some[:equal])
			some = some[equal:]
		}
		if k.room() == 0 {
			break
		}
	}
	slices.Sort(k.kept)
	return k.kept
}

// keeper chooses the nodes to keep. The choice depends on values and names alone, because the same stacks come in another
// order from another store.
type keeper struct {
	calls  *Calls
	most   int
	keep   []bool
	kept   []int32
	hashes []uint64 // of the paths of nodes; nil until more nodes are equal than fit
}

func (k *keeper) room() int { return k.most - (len(k.kept) - 1) }

// add keeps a node and its ancestors, if they fit.
func (k *keeper) add(i int32) bool {
	missing := 0
	for at := i; !k.keep[at] && missing <= k.room(); at = k.calls.nodes.at(at).parent {
		missing++
	}
	if missing > k.room() {
		return false
	}
	for at := i; !k.keep[at]; at = k.calls.nodes.at(at).parent {
		k.keep[at], k.kept = true, append(k.kept, at)
	}
	return true
}

// addEqual adds nodes of one size: all if they fit, or as many as do, in the order of the hashes of their paths.
func (k *keeper) addEqual(nodes []int32) {
	before := len(k.kept)
	if !slices.ContainsFunc(nodes, func(i int32) bool { return !k.add(i) }) {
		return
	}
	for _, i := range k.kept[before:] {
		k.keep[i] = false
	}
	k.kept = k.kept[:before]
	if k.hashes == nil {
		k.hashes = k.calls.hashes()
	}
	slices.SortFunc(nodes, func(a, b int32) int { return cmp.Or(cmp.Compare(k.hashes[a], k.hashes[b]), cmp.Compare(a, b)) })
	for _, i := range nodes {
		k.add(i)
	}
}

// hashes returns a hash of each node's path: of the names and files of its functions.
func (c *Calls) hashes() []uint64 {
	functions := make([]uint64, len(c.frames))
	for i := range c.frames {
		functions[i] = functionHash(c.frames[i].Function, c.frames[i].File)
	}
	out := make([]uint64, c.nodes.count)
	for i := int32(1); i < c.nodes.count; i++ {
		n := c.nodes.at(i)
		out[i] = pathHash(out[n.parent], functions[n.frame])
	}
	return out
}

// functionHash returns the hash of a function: FNV-1a.
func functionHash(name, file string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name + "\x00" + file)) // a hash returns no errors
	return h.Sum64()
}

// pathHash returns the hash of a path from those of the path above, 0 for the root, and of its last function.
func pathHash(above, function uint64) uint64 {
	high, low := bits.Mul64(above^function, 0x9e3779b97f4a7c15) // 2^64 divided by the golden ratio
	return high ^ low
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
			class := len(counts) - 1 - classOf(t.size(i))
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

// layout is a tree whose nodes are brought into preorder. A kept node has a place, its index in kept.
type layout struct {
	c       *Calls
	totals  totals
	kept    []int32   // nodes, ascending; nil: all, and a node is its place
	first   []int32   // place of the first child, by place; 0 if there is none
	next    []int32   // place of the next sibling, by place
	omitted []omitted // by place; nil if all are kept
}

// omitted is the sum of a node's omitted children: their totals, and the number of omitted nodes at all depths.
type omitted struct {
	value [2]int64
	nodes int32
	sums  []int64 // by group
}

// count returns the number of kept nodes.
func (l *layout) count() int {
	if l.kept == nil {
		return int(l.c.nodes.count)
	}
	return len(l.kept)
}

// node returns the node of a place.
func (l *layout) node(place int32) int32 {
	if l.kept == nil {
		return place
	}
	return l.kept[place]
}

// above returns the place of the parent of a place's node. A parent is kept, because ancestors are.
func (l *layout) above(place int32) int32 {
	parent := l.c.nodes.at(l.node(place)).parent
	if l.kept == nil {
		return parent
	}
	at, _ := slices.BinarySearch(l.kept[:place], parent)
	return int32(at)
}

// link finds each kept node's kept children.
func (l *layout) link() {
	l.first, l.next = make([]int32, l.count()), make([]int32, l.count())
	for place := int32(l.count() - 1); place > 0; place-- {
		above := l.above(place)
		l.next[place], l.first[above] = l.first[above], place
	}
}

// leaveOut sums each kept node's omitted children: what is below the node, but neither its own nor below a kept child.
func (l *layout) leaveOut() {
	nodes := &l.c.nodes
	below := slices.Repeat([]int32{1}, int(nodes.count)) // number of nodes from a node on
	addUp(nodes, below)
	l.omitted = make([]omitted, len(l.kept))
	for place, i := range l.kept {
		l.omitted[place] = omitted{minus(l.totals.of(i), nodes.self(i)), below[i] - 1, make([]int64, len(l.c.groups))}
	}
	for place, i := range l.kept[1:] {
		o := &l.omitted[l.above(int32(place+1))]
		o.value, o.nodes = minus(o.value, l.totals.of(i)), o.nodes-below[i]
	}
	for g, group := range l.c.groups {
		sums := slices.Clone(group)
		addUp(nodes, sums)
		for place, i := range l.kept {
			l.omitted[place].sums[g] += sums[i] - group[i]
			if place > 0 {
				l.omitted[l.above(int32(place))].sums[g] -= sums[i]
			}
		}
	}
}

// columns walks the tree.
func (l *layout) columns() *Nodes {
	w := preorder{layout: l, places: make([]uint32, len(l.c.frames))}
	w.out = &Nodes{Frames: slices.Clone(l.c.frames[:ownFrames]), All: int(l.c.nodes.count) - 1, Groups: make([][]int64, len(l.c.groups))}
	w.grow()
	var path []int32 // places of the ancestors
	for at := int32(0); ; {
		w.node(at, len(path))
		if child := l.first[at]; child != 0 {
			path, at = append(path, at), child
			continue
		}
		for { // at is done: its omitted children come next, and then its sibling
			if w.others(at, len(path)+1); len(path) == 0 {
				return w.out
			}
			if sibling := l.next[at]; sibling != 0 {
				at = sibling
				break
			}
			at, path = path[len(path)-1], path[:len(path)-1]
		}
	}
}

// preorder writes the nodes of a layout.
type preorder struct {
	*layout
	out    *Nodes
	places []uint32 // index in out.Frames, by frame; 0: none yet
}

// grow makes room in the columns.
func (w *preorder) grow() {
	count := w.count()
	for i := range w.omitted {
		if w.omitted[i].nodes > 0 {
			count++
		}
	}
	w.out.Depth, w.out.Frame = make([]int32, 0, count), make([]uint32, 0, count)
	for side := range w.out.Self {
		w.out.Self[side], w.out.Total[side] = make([]int64, 0, count), make([]int64, 0, count)
	}
}

// node adds the node of a place.
func (w *preorder) node(place int32, depth int) {
	i := w.layout.node(place)
	frame := w.c.nodes.at(i).frame
	if w.places[frame] == 0 && i > 0 {
		w.places[frame] = uint32(len(w.out.Frames))
		w.out.Frames = append(w.out.Frames, w.c.frames[frame])
	}
	w.add(depth, w.places[frame], w.c.nodes.self(i), w.totals.of(i))
	for g, group := range w.c.groups {
		w.out.Groups[g] = append(w.out.Groups[g], group[i])
	}
}

// others adds a node for a place's omitted children, if there are any.
func (w *preorder) others(place int32, depth int) {
	if w.omitted == nil || w.omitted[place].nodes == 0 {
		return
	}
	o := &w.omitted[place]
	w.out.Others = append(w.out.Others, Other{len(w.out.Depth), int(o.nodes)})
	w.add(depth, otherFrame, o.value, o.value)
	for g, sum := range o.sums {
		w.out.Groups[g] = append(w.out.Groups[g], sum)
	}
}

func (w *preorder) add(depth int, frame uint32, self, total [2]int64) {
	w.out.Depth, w.out.Frame = append(w.out.Depth, int32(depth)), append(w.out.Frame, frame)
	for side := range self {
		w.out.Self[side], w.out.Total[side] = append(w.out.Self[side], self[side]), append(w.out.Total[side], total[side])
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
