package branch

import (
	"errors"
	"fmt"

	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/query"
)

// Tree is a tree that is being built or was opened. It is not safe for concurrent use.
type Tree struct {
	file    *block.File
	open    []*block.Node // the latest branch by level, the root last; none once closed
	live    map[uint32]*block.Node
	summary block.Summary
	closed  bool
	failed  error
}

// New returns an empty tree whose history begins at start. Storage must be empty.
func New(storage block.Storage, form block.Form, start int64) *Tree {
	t := &Tree{file: block.NewFile(storage, form), live: map[uint32]*block.Node{}}
	t.summary.Start, t.summary.End = start, start
	t.open = []*block.Node{t.node(0, start)}
	return t
}

// Open opens a closed tree. The error is block.ErrDamaged or one of storage.
func Open(storage block.Storage, form block.Form) (*Tree, error) {
	t := &Tree{file: block.NewFile(storage, form), closed: true}
	var err error
	if t.summary, err = t.file.Summary(); err != nil {
		return nil, fmt.Errorf("open tree: %w", err)
	}
	for _, number := range []uint32{t.summary.Nodes, t.summary.Root} {
		if _, err := t.file.Node(number); err != nil {
			return nil, fmt.Errorf("open tree: %w", err)
		}
	}
	return t, nil
}

// node makes the next node.
func (t *Tree) node(level uint16, start int64) *block.Node {
	t.summary.Nodes++
	n := block.NewNode(t.file.Form(), t.summary.Nodes, level, start)
	t.live[t.summary.Nodes] = n
	return n
}

// Summary returns the number of nodes and intervals, the depth and the range of the tree.
func (t *Tree) Summary() block.Summary {
	s := t.summary
	if !t.closed {
		s.Depth = uint32(len(t.open))
		s.Root = t.open[len(t.open)-1].Number()
	}
	return s
}

// Close writes the latest branch and the summary. The tree can still be asked.
func (t *Tree) Close() error {
	if t.closed || t.failed != nil {
		return errors.Join(block.ErrClosed, t.failed)
	}
	t.summary = t.Summary()
	if err := t.finish(len(t.open) - 1); err != nil {
		return err
	}
	if err := t.file.WriteSummary(t.summary); err != nil {
		t.failed = err
		return err
	}
	t.closed, t.open = true, nil
	return nil
}

// read returns a node of the latest branch or of the file.
func (t *Tree) read(number uint32) (*block.Node, error) {
	if n := t.live[number]; n != nil {
		return n, nil
	}
	return t.file.Node(number)
}

func (t *Tree) root() (*block.Node, error) { return t.read(t.Summary().Root) }

// Single returns the interval of a key at an instant, and whether there is one. Its text is
// part of a block and must not be changed.
func (t *Tree) Single(key uint32, at int64) (block.Interval, bool, error) {
	root, err := t.root()
	if err != nil {
		return block.Interval{}, false, err
	}
	return query.Nodes(t.read).Single(root, key, at)
}

// Full calls f for the interval of each key at an instant, in no order.
func (t *Tree) Full(at int64, f func(block.Interval)) error {
	root, err := t.root()
	if err != nil {
		return err
	}
	return query.Nodes(t.read).Full(root, at, f)
}

// Plane calls f once for each interval of one of the keys that is there at one of the times,
// in no order.
func (t *Tree) Plane(keys []uint32, times []int64, f func(block.Interval)) error {
	root, err := t.root()
	if err != nil {
		return err
	}
	return query.NewPlane(keys, times).Ask(t.read, root, f)
}
