package query

import (
	"fmt"

	"github.com/granarydb/granary/bench/trees/block"
)

// Nodes returns a node by its number: one that is being built, or one of the file.
type Nodes func(number uint32) (*block.Node, error)

// below returns a child, whose level must be lower.
func (nodes Nodes) below(parent *block.Node, c block.Child) (*block.Node, error) {
	n, err := nodes(c.Number)
	if err == nil && n.Level() >= parent.Level() {
		return nil, fmt.Errorf("block %d of level %d is a child of block %d of level %d: %w",
			c.Number, n.Level(), parent.Number(), parent.Level(), block.ErrDamaged)
	}
	return n, err
}

// Single returns the interval of a key at t. It stops when it is found; false means that the tree has
// none.
func (nodes Nodes) Single(n *block.Node, key uint32, t int64) (in block.Interval, found bool, err error) {
	n.RLock()
	if i := n.Find(key, t); i >= 0 {
		in, err = n.Interval(i)
		found = err == nil
	}
	n.RUnlock()
	for i := 0; i < n.Children() && !found && err == nil; i++ {
		c := n.Child(i)
		if !c.Holds(key, t) {
			continue
		}
		var child *block.Node
		if child, err = nodes.below(n, c); err == nil {
			in, found, err = nodes.Single(child, key, t)
		}
	}
	return in, found, err
}

// Full calls f for the interval of each key at t, in no order.
func (nodes Nodes) Full(n *block.Node, t int64, f func(block.Interval)) error {
	if err := at(n, t, f); err != nil {
		return err
	}
	for i := range n.Children() {
		c := n.Child(i)
		if t < c.Start || c.End < t {
			continue
		}
		child, err := nodes.below(n, c)
		if err == nil {
			err = nodes.Full(child, t, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// at calls f for the intervals of a node that are there at t.
func at(n *block.Node, t int64, f func(block.Interval)) error {
	n.RLock()
	defer n.RUnlock()
	for i := n.NextAt(n.First(t), t); i < n.Records(); i = n.NextAt(i+1, t) {
		in, err := n.Interval(i)
		if err != nil {
			return err
		}
		f(in)
	}
	return nil
}
