package sht

import (
	"math"

	"github.com/granarydb/granary/bench/trees/block"
)

// split gives the branch's node at a place of open a sibling, with a new branch below it down to the
// deepest level. All of them begin at start. The branch begins one node higher if the parent has no room for
// a child, or begins later. The caller holds the lock.
func (t *Tree) split(at int, start int64) error {
	above := at + 1
	if above == len(t.open) {
		t.newRoot()
	}
	if parent := t.open[above]; parent.Children == uint16(t.file.Fan) || start < parent.Start {
		return t.split(above, start)
	}
	if err := t.finish(at); err != nil {
		return err
	}
	for i := at; i >= 0; i-- {
		t.open[i] = t.node(t.base+i, start)
		t.open[i+1].AddChild(growing(t.open[i]))
	}
	return nil
}

// newRoot puts a root, which begins with the history, above the branch.
func (t *Tree) newRoot() {
	root := t.node(t.base+len(t.open), t.summary.Start)
	if n := len(t.open); n > 0 {
		root.AddChild(growing(t.open[n-1]))
	}
	t.open = append(t.open, root)
}

// growing is a node of the latest branch as its parent knows it: nobody knows yet where it
// will end, or which keys it will have.
func growing(n *block.Node) block.Child {
	return block.Child{Number: n.Number, Start: n.Start, End: math.MaxInt64, High: math.MaxUint32}
}

// finish closes the branch from its deepest node up to a place of open, and tells each parent the bounds.
func (t *Tree) finish(at int) error {
	for i, n := range t.open[:at+1] {
		if t.file.Form == block.Starts {
			n.End = max(n.End, t.summary.End)
		}
		if i+1 < len(t.open) {
			parent := t.open[i+1]
			parent.SetLast(n.Box())
			parent.Widen(n.Box())
			n.Parent = parent.Number
		}
		if err := t.file.Write(n); err != nil {
			return err
		}
		delete(t.live, n.Number)
	}
	return nil
}

// next closes the deepest node of an R-SHT, which has all its children. If a vR has too many attributes
// for the depth of its subtrees, the branch ends one level higher from now on, and the subtrees are that
// much deeper (R-SHT figure 12). Otherwise a sibling begins at start.
func (t *Tree) next(start int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kind != VR || rule(int(t.summary.Keys), t.file.Layout) <= t.base {
		return t.split(0, start)
	}
	if len(t.open) == 1 {
		t.newRoot()
	}
	if err := t.finish(0); err != nil {
		return err
	}
	t.open = t.open[1:]
	t.base++
	if t.open[0].Children == uint16(t.file.Fan) {
		return t.split(0, start)
	}
	return nil
}

// attributes is n of R-SHT 6.4 for a block of 64 KiB (see the package's comment).
const attributes = 50_598 / 45

// rule returns the depth of subtrees that R-SHT 6.4 has for a number of attributes, from 2 to 4.
func rule(keys int, l block.Layout) int {
	perNode := float64(attributes) * float64(l.Size) / (64 << 10)
	r := math.Ceil(math.Log(float64(keys)/perNode) / math.Log(float64(l.Fan)))
	return int(min(4, max(2, r)))
}
