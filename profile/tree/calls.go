package tree

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/granarydb/granary/columnstore"
)

// Direction is the way from the root of a tree to its leaves.
type Direction uint8

// The directions of trees. Callers and Callees have a function as their root, and only the stacks that
// contain the function.
const (
	FromRoot Direction = iota // from the roots of the stacks to their leaves: a flame graph
	FromLeaf                  // from the leaves of the stacks to their roots: an inverted tree
	Callers                   // from a function to the roots of its stacks
	Callees                   // from a function to the leaves of its stacks
)

// Calls is a tree of functions on call paths that stacks are added to. It belongs to one goroutine.
type Calls struct {
	direction Direction
	function  string // root of Callers and Callees

	most, bytes int64 // bytes of the functions and stacks
	nodes       pathNodes
	noNegatives bool
	isMonotone  bool     // no node is greater than its parent
	sum         [2]int64 // of values, while isMonotone
	frames      []Frame  // by number, one for each function
	walks       int
	numbers     map[pathFunction]uint32 // numbers of frames, from the second walk on: the first walk has one number for each function
	groups      []pathNodes             // their values are those of side 0
}

// pathFunction identifies the function of a frame.
type pathFunction struct{ name, file string }

// walk is the state of an Add: facts about frames by their numbers in profile.Stacks.Numbered.
type walk struct {
	to        *pathNodes
	isGroup   bool     // functions that the tree lacks are others
	isWhole   bool     // all frames are in the tree
	functions []uint32 // number of the function in the tree; 0 if it has none yet
	numbers   []uint32 // numbers of the stack, leaf first
	shared    int      // for FromRoot: number of frames at the root that equal the previous stack's and that numbers omits

	// Of a walk that is not whole: not every frame becomes a function of the tree.
	frames []seenFrame
	isRoot []bool // for Callers and Callees: the function is the root's

	inTree []uint32 // by number in the stacks, like functions
}

// Bytes for a stack of an answer, and for a node and a function of a tree. A node takes 16 bytes as one of a path, 4 while
// nodes are merged, 37 when they are, and 40 in columns. Maps and slices of functions can be half empty, and both grow by
// copying.
const (
	stackBytes  = 16
	nodeBytes   = 97
	secondBytes = 16  // for a node of a tree with two sides: 8 and 8
	frameBytes  = 320 // and its texts
	groupBytes  = 28  // for a node by group: its value, its total, its value in the answer, and its last path node
	pathBytes   = 56  // for a node of a group's paths: 16, 4 in overlay, and while nodes are merged 36
	seenBytes   = 192 // for a frame of a walk: 93, in slices that can be half empty
)

// stacksAtOnce is the number of stacks between two checks of the context.
const stacksAtOnce = 64

// The numbers of frames that no stack has.
const (
	rootFrame = iota
	Other     // index in Nodes.Frames of a node that stands for omitted nodes
	ownFrames
)

// New returns a tree without stacks. function is the root's name for Callers and Callees, as in
// profile.Frame. Other directions ignore it. most bounds the accounted bytes of the tree and its stacks;
// 0 or less means no bound.
func New(d Direction, function string, most int64) *Calls {
	root := "root"
	if d == Callers || d == Callees {
		root = function
	}
	return &Calls{
		direction: d, function: function, most: most, nodes: newPathNodes(), isMonotone: true,
		frames: []Frame{rootFrame: {Function: root}, Other: {Function: "other"}}, numbers: map[pathFunction]uint32{},
	}
}

// DropNegatives sets values below 0 to 0, because a picture cannot show a negative width. A value is the
// sum of the stacks that end in a node, on one side. Only differences, and profiles with negative values,
// have such sums.
func (c *Calls) DropNegatives() { c.noNegatives = true }

// Add adds stacks to side 0 or 1. In a difference, side 0 is before. The error is
// columnstore.ErrQueryMemory or ctx.Err(). After an error the tree is of no use. Add costs as much as
// profile.Stacks.Numbered, and 25 ns for each frame that a path does not share with the previous path.
func (c *Calls) Add(ctx context.Context, side int, stacks StackList) error {
	if c.groups != nil {
		panic("tree: a side comes after a group")
	}
	c.nodes.cut(0)
	w := &walk{to: &c.nodes, isWhole: c.isWhole()}
	return c.each(ctx, stacks, w, side)
}

// AddGroup adds stacks to a group's values by node, which are separate from the sides. AddGroup adds no node.
// If no side has a stack, its value counts in the last node that the stack's path shares with the tree.
// Groups have numbers from 0 on, and come after the sides: after a group, Add panics. Errors and cost are as
// for Add.
func (c *Calls) AddGroup(ctx context.Context, group int, stacks StackList) error {
	for len(c.groups) <= group {
		c.groups = append(c.groups, newPathNodes())
	}
	of := &c.groups[group]
	of.cut(0)
	return c.each(ctx, stacks, &walk{to: of, isGroup: true, isWhole: c.isWhole()}, 0)
}

// merge returns the tree of the sides, with at least the `most` greatest nodes, or with all if most is 0 or less.
func (c *Calls) merge(most int) *treeNodes {
	if !c.isMonotone {
		most = 0
	}
	m := c.nodes.merge(len(c.frames), max(most, 0))
	if c.noNegatives && !c.isMonotone {
		m.dropNegatives()
	}
	return m
}

// isWhole reports that all stacks and all frames are in the tree.
func (c *Calls) isWhole() bool { return c.direction == FromRoot || c.direction == FromLeaf }

// each adds each stack to the nodes of w while the tree fits.
func (c *Calls) each(ctx context.Context, stacks StackList, w *walk, side int) error {
	c.bytes += stackBytes * int64(stacks.Len())
	if c.walks++; c.walks == 2 {
		for i, f := range c.frames[ownFrames:] {
			c.numbers[pathFunction{f.Function, f.File}] = uint32(ownFrames + i)
		}
	}
	for b := range batches(ctx, stacks, c.direction == FromRoot) {
		for i := range b.seen {
			c.see(w, &b.seen[i])
		}
		for i, value := range b.values {
			if i%stacksAtOnce == 0 {
				runtime.Gosched()
				if err := ctx.Err(); err != nil {
					return err
				}
			}
			w.numbers, w.shared = b.frames(i), b.shared[i]
			from, direction, ok := c.way(w)
			if !ok {
				continue
			}
			c.path(w, from, direction)
			if w.to.add(side, value); !w.isGroup {
				c.isMonotone = c.isMonotone && value >= 0 && c.sum[side] <= math.MaxInt64-value
				c.sum[side] += value
			}
			if c.most > 0 && c.size() > c.most {
				if err := c.shrink(w); err != nil {
					return err
				}
			}
		}
	}
	return ctx.Err()
}

// size returns the accounted bytes.
func (c *Calls) size() int64 {
	bytes := c.bytes + nodeBytes*int64(c.nodes.count)
	if c.nodes.sum[1] != 0 {
		bytes += secondBytes * int64(c.nodes.count)
	}
	for i := range c.groups {
		bytes += groupBytes*int64(c.nodes.count) + pathBytes*int64(c.groups[i].count)
	}
	return bytes
}

// shrink merges the nodes of a walk that exceed the memory. If that frees less than an eighth of the memory, the error is
// columnstore.ErrQueryMemory, because the next merge would come soon.
func (c *Calls) shrink(w *walk) error {
	path := slices.Clone(w.to.path)
	*w.to = w.to.merge(len(c.frames), 0).asPaths()
	for _, s := range path { // the next stack can share it
		w.to.push(s.function)
	}
	if bytes := c.size(); bytes > c.most-c.most/8 {
		return fmt.Errorf("%w: stopped at %d bytes, with %d functions on call paths", columnstore.ErrQueryMemory, bytes, c.nodes.count-1)
	}
	return nil
}

// see records a new frame.
func (c *Calls) see(w *walk, f *seenFrame) {
	c.bytes += seenBytes
	if w.isWhole {
		w.functions = append(w.functions, c.functionOf(w, f))
		return
	}
	w.functions, w.frames = append(w.functions, 0), append(w.frames, *f)
	w.isRoot = append(w.isRoot, f.Function == c.function)
}

// way returns the index of the first frame after the root, and the step to the next frame. ok is false if
// the stack is not in the tree.
func (c *Calls) way(w *walk) (from, step int, ok bool) {
	at := len(w.numbers) - 1
	switch c.direction {
	case FromRoot:
		return at, -1, true
	case FromLeaf:
		return 0, 1, true
	case Callers, Callees:
	}
	for at >= 0 && !w.isRoot[w.numbers[at]] {
		at--
	}
	if c.direction == Callers {
		return at + 1, 1, at >= 0
	}
	return at - 1, -1, at >= 0
}

// path adds the path of the frames from index `from` on, in a direction, to the end. Neighbouring paths share the nodes of
// their first functions.
func (c *Calls) path(w *walk, from, direction int) {
	p, depth := w.to, w.shared
	for i := from; i >= 0 && i < len(w.numbers); i += direction {
		function := w.functions[w.numbers[i]]
		if function == 0 {
			function = c.functionOf(w, &w.frames[w.numbers[i]])
			w.functions[w.numbers[i]] = function
		}
		if depth < len(p.path) {
			if p.path[depth].function == function {
				depth++
				continue
			}
			p.cut(depth)
		}
		p.push(function)
		depth++
	}
	p.cut(depth)
}

// functionOf returns the number of the function of a frame in the tree.
func (c *Calls) functionOf(w *walk, f *seenFrame) uint32 {
	of := int(f.function)
	if of >= len(w.inTree) {
		w.inTree = append(w.inTree, make([]uint32, of+1-len(w.inTree))...)
	}
	if w.inTree[of] == 0 {
		w.inTree[of] = c.number(w, &f.Frame)
	}
	function := w.inTree[of]
	if !w.isGroup {
		least(&c.frames[function], &f.Frame)
	}
	return function
}

// number returns the number of the function of a frame that is new to the walk.
func (c *Calls) number(w *walk, f *Frame) uint32 {
	of := pathFunction{f.Function, f.File}
	if number, known := c.numbers[of]; known {
		return number
	}
	if w.isGroup {
		return Other
	}
	number := uint32(len(c.frames))
	if len(c.frames) == cap(c.frames) {
		c.frames = slices.Grow(c.frames, len(c.frames)) // append grows large slices by a quarter, and copies more
	}
	if c.frames = append(c.frames, Frame{Function: f.Function, File: f.File}); c.walks > 1 {
		c.numbers[of] = number
	}
	c.bytes += frameBytes + f.textBytes()
	return number
}

// least replaces the line and the binary of function `of` with those of frame f where f's are less, because
// the result must not depend on the order of stacks.
func least(of, f *Frame) {
	if f.Line > 0 && (of.Line == 0 || f.Line < of.Line) {
		of.Line = f.Line
	}
	if f.Mapping != "" && (of.Mapping == "" || f.Mapping < of.Mapping) {
		of.Mapping = f.Mapping
	}
}
