package branch

import (
	"math"

	"github.com/granarydb/granary/bench/trees/block"
)

// split gives the branch's node of a level a sibling, with a new branch below it down to a
// leaf. All of them begin at start.
func (t *Tree) split(level int, start int64) error {
	above := level + 1
	if above == len(t.open) {
		root := t.node(uint16(above), t.summary.Start)
		root.AddChild(growing(t.open[level]))
		t.open = append(t.open, root)
	}
	if t.open[above].Children() == block.Fan {
		return t.split(above, start)
	}
	if err := t.finish(level); err != nil {
		return err
	}
	for l := level; l >= 0; l-- {
		t.open[l] = t.node(uint16(l), start)
		t.open[l+1].AddChild(growing(t.open[l]))
	}
	return nil
}

// growing is a node of the latest branch as its parent knows it: nobody knows yet where it
// will end, or which keys it will have.
func growing(n *block.Node) block.Child {
	return block.Child{Number: n.Number(), Start: n.Box().Start, End: math.MaxInt64, High: math.MaxUint32}
}

// finish writes the branch from its leaf up to a level, and tells each parent the bounds.
func (t *Tree) finish(level int) error {
	for l, n := range t.open[:level+1] {
		if l+1 < len(t.open) {
			parent := t.open[l+1]
			parent.SetChild(parent.Children()-1, n.Box())
			parent.Widen(n.Box())
		}
		if err := t.file.Write(n); err != nil {
			t.failed = err
			return err
		}
		delete(t.live, n.Number())
	}
	return nil
}
