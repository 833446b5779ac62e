package sht

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/query"
)

// Kind is one of the trees.
type Kind int

// The trees of Table II. R4 is one of section 7.1.
const (
	SHT  Kind = iota // siblings tile time
	OSHT             // siblings overlap
	ESHT             // and headers have keys
	R2               // with subtrees of two levels by key
	R3
	R4
	VR // with subtrees as deep as there are attributes
)

// depth returns the levels of the first subtrees: 0 in a tree without any.
func (k Kind) depth() int { return [...]int{R2: 2, R3: 3, R4: 4, VR: 2}[k] }

func (k Kind) form() block.Form { return min(block.Boxes, block.Starts+block.Form(k)) }

// Options are those of a new tree.
type Options struct {
	Kind      Kind
	Size, Fan int   // bytes of a block and children of a node; 0 is 64 KiB and 50
	Start     int64 // of the history
}

// Tree is a tree that is being built or was opened. One goroutine may add while others ask: an answer
// has at least what was added when the question began.
type Tree struct {
	// mu is held, shared, by each question, and by the builder where it changes which nodes there are.
	// It comes before the buffer's lock, and that before a node's.
	mu       sync.RWMutex
	file     *block.File
	kind     Kind
	base     int           // level of open[0]: the depth of the subtrees below it
	open     []*block.Node // the latest branch from its deepest node to the root; none once closed
	live     map[uint32]*block.Node
	held     buffer
	summary  block.Summary // the builder's, but for the root
	closed   bool
	failed   error
	searched atomic.Int64
}

// New returns an empty tree. Storage must be empty. The error is block.ErrLayout.
func New(storage block.Storage, o Options) (*Tree, error) {
	file, err := block.NewFile(storage, block.Layout{Form: o.Kind.form(), Size: o.Size, Fan: o.Fan})
	if err != nil {
		return nil, err
	}
	t := &Tree{file: file, kind: o.Kind, base: o.Kind.depth(), live: map[uint32]*block.Node{}}
	t.summary = block.Summary{Start: o.Start, End: o.Start, Size: uint32(file.Size)}
	if t.base == 0 {
		t.open = []*block.Node{t.node(0, o.Start)}
	}
	return t, nil
}

// Open opens a closed tree of any kind. The error is block.ErrDamaged or one of storage.
func Open(storage block.Storage) (*Tree, error) {
	file, summary, err := block.OpenFile(storage)
	if err == nil && summary.Nodes > 0 {
		_, last := file.Node(summary.Nodes)
		_, root := file.Node(summary.Root)
		err = errors.Join(last, root)
	}
	if err != nil {
		return nil, fmt.Errorf("open tree: %w", err)
	}
	return &Tree{file: file, summary: summary, closed: true}, nil
}

// node makes the next node of the latest branch.
func (t *Tree) node(level int, start int64) *block.Node {
	t.summary.Nodes++
	n := t.file.NewNode(t.summary.Nodes, level, start)
	t.live[n.Number] = n
	return n
}

// Summary returns the number of nodes and intervals, the depth and the range of the tree. While the tree
// is built it is for the goroutine that adds.
func (t *Tree) Summary() block.Summary {
	s := t.summary
	if len(t.open) > 0 {
		s.Depth, s.Root = uint32(t.base+len(t.open)), t.open[len(t.open)-1].Number
	}
	return s
}

// Close writes what is in memory, and the summary. The tree can still be asked.
func (t *Tree) Close() (err error) {
	if err := t.taking(); err != nil {
		return err
	}
	defer func() { t.failed = err }()
	if len(t.held.all) > 0 {
		if err := t.flush(false); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.summary = t.Summary()
	if err := t.finish(len(t.open) - 1); err != nil {
		return err
	}
	if err := t.file.WriteSummary(t.summary); err != nil {
		return err
	}
	t.closed, t.open = true, nil
	return nil
}

// taking returns an error of a tree that takes no more.
func (t *Tree) taking() error {
	if t.closed || t.failed != nil {
		return errors.Join(block.ErrClosed, t.failed)
	}
	return nil
}

// read returns a node of the latest branch or of the file, and counts it.
func (t *Tree) read(number uint32) (*block.Node, error) {
	t.searched.Add(1)
	if n := t.live[number]; n != nil {
		return n, nil
	}
	return t.file.Node(number)
}

// Searched returns how many nodes all questions so far have looked at: the papers' measure of a question
// (R-SHT 4.4).
func (t *Tree) Searched() int64 { return t.searched.Load() }

// Walk calls f for each node of a closed tree.
func (t *Tree) Walk(f func(*block.Node)) error {
	for number := uint32(1); number <= t.summary.Nodes; number++ {
		n, err := t.file.Node(number)
		if err != nil {
			return err
		}
		f(n)
	}
	return nil
}

// ask calls held for each interval of the buffer, and then below with the root, unless nothing has been written
// yet.
func (t *Tree) ask(held func(*block.Interval), below func(*block.Node) error) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	t.held.each(held)
	number := t.summary.Root
	if len(t.open) > 0 {
		number = t.open[len(t.open)-1].Number
	}
	if number == 0 {
		return nil
	}
	root, err := t.read(number)
	if err != nil {
		return err
	}
	return below(root)
}

// Single returns the interval of a key at an instant, and whether there is one. Its text is
// part of a block and must not be changed.
func (t *Tree) Single(key uint32, at int64) (in block.Interval, found bool, err error) {
	err = t.ask(func(one *block.Interval) {
		if one.Box().Holds(key, at) {
			in, found = *one, true
		}
	}, func(root *block.Node) (err error) {
		if !found {
			in, found, err = query.Nodes(t.read).Single(root, key, at)
		}
		return err
	})
	return in, found, err
}

// Full calls f for the interval of each key at an instant, in no order. f must not add.
func (t *Tree) Full(at int64, f func(block.Interval)) error {
	return t.ask(func(in *block.Interval) {
		if in.Start <= at && at <= in.End {
			f(*in)
		}
	}, func(root *block.Node) error { return query.Nodes(t.read).Full(root, at, f) })
}

// Plane calls f once for each interval of one of the keys that is there at one of the times,
// in no order. f must not add.
func (t *Tree) Plane(keys []uint32, times []int64, f func(block.Interval)) error {
	return t.plane(query.NewPlane(keys, times), f)
}

// Range is Plane for all times from start to end, both inclusive.
func (t *Tree) Range(keys []uint32, start, end int64, f func(block.Interval)) error {
	return t.plane(query.NewRange(keys, start, end), f)
}

func (t *Tree) plane(p *query.Plane, f func(block.Interval)) error {
	return t.ask(func(in *block.Interval) {
		if p.At(in.Key, in.Start, in.End) {
			f(*in)
		}
	}, func(root *block.Node) error { return p.Ask(t.read, root, f) })
}
