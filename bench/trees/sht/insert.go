package sht

import (
	"bytes"

	"github.com/granarydb/granary/bench/trees/block"
)

// Add stores an interval that ends no earlier than the one before. It can be asked for at
// once. After an error other than block.ErrInterval the tree takes no more.
func (t *Tree) Add(in block.Interval) error {
	if err := t.taking(); err != nil {
		return err
	}
	if err := in.Check(t.file.Layout, t.summary.Start, t.summary.End); err != nil {
		return err
	}
	t.summary.Keys = max(t.summary.Keys, in.Key+1)
	if t.base > 0 {
		t.failed = t.buffer(&in)
	} else {
		t.failed = t.insert(&in)
	}
	if t.failed != nil {
		return t.failed
	}
	t.summary.Intervals++
	t.summary.End = in.End
	return nil
}

// insert stores an interval in the latest branch. A full node on its way up is closed before its start is
// looked at. The interval then begins anew at the leaf, because the sibling's branch may have a place for
// it: in an overlapping tree it always has.
func (t *Tree) insert(in *block.Interval) error {
	for level := 0; ; {
		switch n := t.open[level]; {
		case !n.Fits(in):
			t.mu.Lock()
			err := t.split(level, t.siblingStart(in))
			t.mu.Unlock()
			if err != nil {
				return err
			}
			level = 0
		case n.Start > in.Start:
			level++ // the root begins with the history
		default:
			n.Lock()
			n.Add(in)
			n.Unlock()
			return nil
		}
	}
}

// siblingStart returns where the sibling of a full node begins: behind all that is stored, or, where
// siblings overlap, with the interval that had no room.
func (t *Tree) siblingStart(in *block.Interval) int64 {
	if t.file.Form == block.Starts {
		return t.summary.End + 1
	}
	return in.Start
}

// buffer stores an interval of an R-SHT: in the latest branch if it begins before the branch's deepest
// node, and else in the buffer, which is full if a subtree may have no room for one more.
func (t *Tree) buffer(in *block.Interval) error {
	if len(t.open) > 0 && in.Start < t.open[0].Start {
		return t.insert(in)
	}
	size, largest := in.Bytes(), max(t.held.largest, in.Bytes())
	if len(t.held.all) > 0 && t.held.size+size > capacity(t.file.Layout, t.base, largest) {
		if err := t.flush(true); err != nil {
			return err
		}
		if t.open[0].Children == uint16(t.file.Fan) {
			if err := t.next(in.Start); err != nil {
				return err
			}
			return t.buffer(in) // the deepest node is another one
		}
	}
	in.Text = bytes.Clone(in.Text)
	t.held.add(in)
	return nil
}
