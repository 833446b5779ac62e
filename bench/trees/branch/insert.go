package branch

import (
	"errors"

	"github.com/granarydb/granary/bench/trees/block"
)

// Add stores an interval that ends no earlier than the one before. It can be asked for at
// once. After an error other than block.ErrInterval the tree takes no more.
func (t *Tree) Add(in block.Interval) error {
	if t.closed || t.failed != nil {
		return errors.Join(block.ErrClosed, t.failed)
	}
	if err := in.Check(t.summary.Start, t.summary.End); err != nil {
		return err
	}
	for {
		level := t.level(in.Start)
		if t.open[level].Add(&in) {
			break
		}
		if err := t.split(level, t.siblingStart(in)); err != nil {
			return err
		}
	}
	t.summary.Intervals++
	t.summary.End = in.End
	t.summary.Keys = max(t.summary.Keys, in.Key+1)
	return nil
}

// level returns the lowest node of the branch that begins no later than an interval. The root
// begins with the history.
func (t *Tree) level(start int64) int {
	level := 0
	for t.open[level].Start() > start {
		level++
	}
	return level
}

// siblingStart returns where the sibling of a full node begins: behind all that is stored, so
// that nothing stored reaches into it, or, where siblings overlap, with the interval that had
// no room, which then fits into the new leaf.
func (t *Tree) siblingStart(in block.Interval) int64 {
	if t.file.Form() == block.Starts {
		return t.summary.End + 1
	}
	return in.Start
}
