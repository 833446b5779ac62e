package names

import (
	"fmt"
	"math"
	"sync/atomic"
	"unicode/utf8"
)

// maxName is the greatest length of a name, in bytes.
const maxName = 64 << 10

// maxAttributes bounds a tree's attributes, so that an int counts them on every platform. Their nodes would
// fill 32 GiB.
const maxAttributes = math.MaxInt32 - 1

const (
	nodeSize = 16
	// fewChildren is the number of children that the writer walks past to find the last child. For a
	// parent with more it keeps the last child. A field in each node would usually be empty, because
	// most attributes have no children.
	fewChildren = 8
)

// Tree is a history's attributes: the parent and the name of each. One goroutine at a time writes, while
// any number read through [Names], without a lock.
//
// Attributes are nodes in order of creation, in pages that never move. Node 0 is Top and attribute a is
// node a+1, so that 0 means "none" wherever a child may be.
//
//	node    parent | name | first child | next sibling    16 bytes
//	cells   by hash of (parent, name): a node
//	texts   names, each once
//
// A reader knows the first n attributes, and must find only these, whatever the writer has added since,
// removed, and added in its place. Three invariants ensure that:
//
//	N1  A child is later than its parent, a sibling later than the previous one. So the
//	    first link to a node that the reader does not know ends its walk, unread, and
//	    every walk ends.
//	N2  The cells are as if the nodes had been put in one by one, in order. So the first
//	    cell with a node that the reader does not know ends its search, unread.
//	N3  Fields that a reader shares with the writer are atomic, and written before the
//	    links to them. The parent and the name of a node that a reader knows never change.
type Tree struct {
	limit uint32 // most attributes
	nodes paged[node]
	cells numberTable
	texts nameTexts

	// The writer's own.
	n    uint32            // number of attributes, and the last node
	last map[uint32]uint32 // last child of nodes with more than fewChildren

	reserved int // attributes for which cells have room
}

// node is an attribute, or Top.
type node struct {
	parent, name, first, next atomic.Uint32
}

// New returns a tree without attributes, for at most `attributes` attributes, and never more than 2^31 - 2.
// The seed keys its hashes, so that names made to collide in one history do not collide in another.
func New(seed uint64, attributes int) *Tree {
	t := &Tree{limit: uint32(min(attributes, maxAttributes)), texts: nameTexts{writer: writer{seed: seed, largest: maxName}}, last: map[uint32]uint32{}}
	t.nodes.grow(0)
	return t
}

// Names returns all attributes, for the writer. Others may use the value once it is published to them. It
// costs nothing.
func (t *Tree) Names() Names { return Names{t, int(t.n)} }

// node returns node i, which must exist.
func (t *Tree) node(i uint32) *node { return t.nodes.at(i) }

// text returns node i's name, which must not be changed.
func (t *Tree) text(i uint32) []byte { return t.texts.At(t.node(i).name.Load()) }

// key returns node i's key in the cells. Only the writer may call it.
func (t *Tree) key(i uint32) uint64 {
	node := t.node(i)
	return uint64(node.parent.Load())<<32 | t.texts.key(node.name.Load())
}

// find returns p's child with the name, if it is among the first n nodes, or 0. hash is the name's.
func (t *Tree) find(p uint32, name string, hash, n uint32) uint32 {
	return t.cells.find(uint64(p)<<32|uint64(hash), n, func(i uint32) bool {
		node := t.node(i)
		return node.parent.Load() == p && string(t.texts.At(node.name.Load())) == name
	})
}

// childOf returns p's child whose name has the number text, or 0. No attribute has a name without a number.
// Only the writer may call it.
func (t *Tree) childOf(p, text, hash uint32) uint32 {
	if text == 0 {
		return 0
	}
	return t.cells.find(uint64(p)<<32|uint64(hash), t.n, func(i uint32) bool {
		node := t.node(i)
		return node.name.Load() == text && node.parent.Load() == p
	})
}

// reserve makes room for `attributes` attributes in a new tree, so that the cells need not grow meanwhile.
// If most of the first attributes have names of their own, it makes room for as many names.
func (t *Tree) reserve(attributes int) {
	t.reserved = min(attributes, int(t.limit))
	t.cells.reserve(t.reserved, t.n, t.key)
}

// firstNames is the number of attributes whose names tell how many there will be.
const firstNames = 1 << 12

// addName gives a number to node i's name.
func (t *Tree) addName(name string, hash, i uint32) uint32 {
	if i == firstNames && 2*t.texts.n > i {
		t.texts.cells.reserve(t.reserved, t.texts.n, t.texts.key)
	}
	return t.texts.add(name, hash, i)
}

// Add returns parent's child called name, and creates it if there is none: then isNew. The errors are
// ErrAttribute for the parent, and ErrLimit for a name longer than maxName or not UTF-8, or too many
// attributes. Then nothing was added. Only the writer may call it. The cost is a hash and a search. Now and
// then the cells grow.
func (t *Tree) Add(parent Attribute, name string) (a Attribute, isNew bool, err error) {
	p := uint32(parent + 1)
	if p > t.n {
		return 0, false, unknown(parent)
	}
	hash := t.texts.hash(name)
	text := t.texts.find(name, hash)
	if i := t.childOf(p, text, hash); i != 0 {
		return Attribute(i - 1), false, nil
	}
	switch {
	case len(name) > maxName:
		return 0, false, fmt.Errorf("%w: a name of %d bytes, at most %d are allowed", ErrLimit, len(name), maxName)
	case !utf8.ValidString(name):
		return 0, false, fmt.Errorf("%w: name %.100q is not UTF-8", ErrLimit, name)
	case t.n >= t.limit:
		return 0, false, fmt.Errorf("%w: %d attributes", ErrLimit, t.n)
	}
	i := t.n + 1
	t.nodes.grow(i)
	node := t.node(i)
	node.parent.Store(p)
	if text == 0 {
		text = t.addName(name, hash, i)
	}
	node.name.Store(text)
	node.first.Store(0) // it may have been taken back
	node.next.Store(0)
	t.n = i
	t.cells.add(i, t.key)
	t.link(p, i)
	return Attribute(i - 1), true, nil
}

// link puts node i after the last child of p.
func (t *Tree) link(p, i uint32) {
	last, kept := t.last[p]
	children := 0
	if !kept {
		for c := t.node(p).first.Load(); c != 0; c = t.node(c).next.Load() {
			last = c
			children++
		}
	}
	if last == 0 {
		t.node(p).first.Store(i)
	} else {
		t.node(last).next.Store(i)
	}
	if kept || children >= fewChildren {
		t.last[p] = i
	}
}

// Truncate removes attributes n and up, and the names that only they have. The next attribute is n again.
// Readers that know at most n are not disturbed. Names with more attributes, which only a writer can have
// had, must not be used any longer, because they would see the new attributes in place of the removed ones.
// The memory is kept. Only the writer may call it. The cost is a search for each removed attribute, a walk
// past the remaining children of each parent that loses some, and a copy of at most 64 KiB of names.
func (t *Tree) Truncate(n int) {
	keep := uint32(n)
	for i := t.n; i > keep; i-- {
		t.cells.drop(i, t.key(i))
		delete(t.last, i)
		if p := t.node(i).parent.Load(); p <= keep {
			t.unlink(p, keep)
		}
	}
	t.texts.truncate(keep)
	t.n = min(t.n, keep)
}

// unlink ends p's children before the first that is later than keep.
func (t *Tree) unlink(p, keep uint32) {
	last, kept := t.last[p]
	if kept && last <= keep {
		return // done when a later child was forgotten
	}
	last = 0
	for i := t.node(p).first.Load(); i != 0 && i <= keep; i = t.node(i).next.Load() {
		last = i
	}
	if last == 0 {
		t.node(p).first.Store(0)
		delete(t.last, p)
		return
	}
	t.node(last).next.Store(0)
	if kept {
		t.last[p] = last
	}
}

// Size returns the tree's heap bytes, to about a tenth. Only the writer may call it.
func (t *Tree) Size() int {
	const perParent = 16 // a Go map's bytes, for two numbers
	return t.nodes.size(nodeSize) + t.cells.size() + t.texts.size() + perParent*len(t.last)
}
