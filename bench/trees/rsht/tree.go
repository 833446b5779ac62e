package rsht

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/query"
)

// Variable is the depth of a vR.
const Variable = 0

// MaxDepth is the greatest depth of subtrees.
const MaxDepth = 4

// Tree is a tree that is being built or was opened. It is not safe for concurrent use.
type Tree struct {
	file    *block.File
	open    []*block.Node // nodes that grow by time, by level less 1; nil where there is none
	held    []block.Interval
	size    int // bytes of held in blocks
	largest int // bytes of the largest of held
	depth   int
	summary block.Summary
	closed  bool
	failed  error
}

// New returns an empty tree with subtrees of 2, 3 or 4 levels, or Variable. The history begins
// at start. Storage must be empty. Memory holds the intervals of one subtree.
func New(storage block.Storage, depth int, start int64) (*Tree, error) {
	if depth != Variable && (depth < 2 || depth > MaxDepth) {
		return nil, fmt.Errorf("subtrees of depth %d: want 2 to %d or Variable", depth, MaxDepth)
	}
	t := &Tree{file: block.NewFile(storage, block.Boxes), depth: depth}
	t.summary.Start, t.summary.End = start, start
	return t, nil
}

// Open opens a closed tree of any depth. The error is block.ErrDamaged or one of storage.
func Open(storage block.Storage) (*Tree, error) {
	t := &Tree{file: block.NewFile(storage, block.Boxes), closed: true}
	var err error
	if t.summary, err = t.file.Summary(); err != nil {
		return nil, fmt.Errorf("open tree: %w", err)
	}
	if t.summary.Nodes == 0 {
		return t, nil
	}
	for _, number := range []uint32{t.summary.Nodes, t.summary.Root} {
		if _, err := t.file.Node(number); err != nil {
			return nil, fmt.Errorf("open tree: %w", err)
		}
	}
	return t, nil
}

// Add stores an interval that ends no earlier than the one before. It can be asked for at
// once. After an error other than block.ErrInterval the tree takes no more.
func (t *Tree) Add(in block.Interval) error {
	if t.closed || t.failed != nil {
		return errors.Join(block.ErrClosed, t.failed)
	}
	if err := in.Check(t.summary.Start, t.summary.End); err != nil {
		return err
	}
	keys := max(t.summary.Keys, in.Key+1)
	if len(t.held) > 0 && t.full(in, keys) {
		if err := t.flush(); err != nil {
			t.failed = err
			return err
		}
	}
	in.Text = bytes.Clone(in.Text)
	t.held = append(t.held, in)
	t.size += in.Bytes()
	t.largest = max(t.largest, in.Bytes())
	t.summary.Intervals++
	t.summary.End, t.summary.Keys = in.End, keys
	return nil
}

// full tells whether another interval might not fit into the subtree. A leaf is left with less
// room than the largest interval takes.
func (t *Tree) full(in block.Interval, keys uint32) bool {
	leaves := 1
	for range t.levels(keys) - 1 {
		leaves *= block.Fan
	}
	return t.size+in.Bytes() > leaves*(block.Room()-max(t.largest, in.Bytes()))
}

// levels returns the depth of the subtree that is due. That of a vR is the least whose leaves
// have room for as many intervals as there are keys.
func (t *Tree) levels(keys uint32) int {
	if t.depth != Variable {
		return t.depth
	}
	room := block.Fan * block.Room() / block.RecordSize
	depth := 2
	for ; depth < MaxDepth && room < int(keys); depth++ {
		room *= block.Fan
	}
	return depth
}

// flush packs the held intervals and hangs the subtree below the nodes that grow by time.
func (t *Tree) flush() error {
	top, level, err := t.pack()
	if err != nil {
		return err
	}
	t.held, t.size, t.largest = t.held[:0], 0, 0
	return t.hang(top, level)
}

// hang adds a finished node of a level to the growing node above it. A growing node without
// room is finished first, and goes up in turn.
func (t *Tree) hang(c block.Child, level int) error {
	for len(t.open) <= level {
		t.open = append(t.open, nil)
	}
	if n := t.open[level]; n != nil && n.Children() == block.Fan {
		t.open[level] = nil
		if err := t.write(n); err != nil {
			return err
		}
		if err := t.hang(n.Box(), level+1); err != nil {
			return err
		}
	}
	if t.open[level] == nil {
		t.open[level] = block.NewNode(block.Boxes, 0, uint16(level+1), c.Start)
	}
	n := t.open[level]
	n.AddChild(c)
	n.Widen(c)
	return nil
}

// write writes the next node. Only its parent has its number, and that is not yet made.
func (t *Tree) write(n *block.Node) error {
	t.summary.Nodes++
	n.SetNumber(t.summary.Nodes)
	return t.file.Write(n)
}

// Summary returns the number of nodes and intervals, the depth and the range of the tree.
// While it is built, root and depth are 0, and nodes do not include what is held back.
func (t *Tree) Summary() block.Summary { return t.summary }

// Close packs what is held back and writes the rest and the summary. The tree can still be
// asked.
func (t *Tree) Close() error {
	if t.closed || t.failed != nil {
		return errors.Join(block.ErrClosed, t.failed)
	}
	if t.failed = t.finish(); t.failed != nil {
		return t.failed
	}
	t.closed, t.open, t.held = true, nil, nil
	return nil
}

func (t *Tree) finish() error {
	if len(t.held) > 0 {
		if err := t.flush(); err != nil {
			return err
		}
	}
	for level := 0; level < len(t.open); level++ {
		n := t.open[level]
		if n == nil {
			continue
		}
		t.open[level] = nil
		if level+1 == len(t.open) && n.Children() == 1 { // the child will do
			t.root(n.Child(0).Number, level)
			break
		}
		if err := t.write(n); err != nil {
			return err
		}
		if level+1 == len(t.open) {
			t.root(n.Number(), level+1)
			break
		}
		if err := t.hang(n.Box(), level+1); err != nil {
			return err
		}
	}
	return t.file.WriteSummary(t.summary)
}

func (t *Tree) root(number uint32, level int) {
	t.summary.Root, t.summary.Depth = number, uint32(level)+1
}

// each calls f for the tops of all that is not held back.
func (t *Tree) each(f func(*block.Node) error) error {
	if t.closed && t.summary.Root != 0 {
		root, err := t.file.Node(t.summary.Root)
		if err != nil {
			return err
		}
		return f(root)
	}
	for _, n := range t.open {
		if n != nil {
			if err := f(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// Single returns the interval of a key at an instant, and whether there is one. Its text is
// part of a block and must not be changed.
func (t *Tree) Single(key uint32, at int64) (in block.Interval, found bool, err error) {
	for _, in := range t.held {
		if in.Box().Holds(key, at) {
			return in, true, nil
		}
	}
	err = t.each(func(n *block.Node) (err error) {
		if !found {
			in, found, err = query.Nodes(t.file.Node).Single(n, key, at)
		}
		return err
	})
	return in, found, err
}

// Full calls f for the interval of each key at an instant, in no order.
func (t *Tree) Full(at int64, f func(block.Interval)) error {
	for _, in := range t.held {
		if in.Start <= at && at <= in.End {
			f(in)
		}
	}
	return t.each(func(n *block.Node) error { return query.Nodes(t.file.Node).Full(n, at, f) })
}

// Plane calls f once for each interval of one of the keys that is there at one of the times,
// in no order.
func (t *Tree) Plane(keys []uint32, times []int64, f func(block.Interval)) error {
	p := query.NewPlane(keys, times)
	for _, in := range t.held {
		if p.At(in.Key, in.Start, in.End) {
			f(in)
		}
	}
	return t.each(func(n *block.Node) error { return p.Ask(t.file.Node, n, f) })
}
