package query

import (
	"fmt"

	"github.com/granarydb/granary/bench/trees/block"
)

// Nodes returns a node by its number: one that is being built, or one of the file.
type Nodes func(number uint32) (*block.Node, error)

// below opens the children that meet a question, as far as their parent knows them, and calls ask for each.
func (nodes Nodes) below(n *block.Node, meets func(block.Child) bool, ask func(*block.Node) error) error {
	for i := range int(n.Children) {
		c := n.Child(i)
		if !meets(c) {
			continue
		}
		child, err := nodes(c.Number)
		if err == nil && child.Level >= n.Level {
			err = fmt.Errorf("block %d of level %d is a child of block %d of level %d: %w", c.Number, child.Level, n.Number, n.Level, block.ErrDamaged)
		}
		if err == nil {
			err = ask(child)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
	if found || err != nil {
		return in, found, err
	}
	err = nodes.below(n, func(c block.Child) bool { return !found && c.Holds(key, t) }, func(child *block.Node) (err error) {
		in, found, err = nodes.Single(child, key, t)
		return err
	})
	return in, found, err
}

// Full calls f for the interval of each key at t, in no order.
func (nodes Nodes) Full(n *block.Node, t int64, f func(block.Interval)) error {
	n.RLock()
	for i := n.NextAt(n.First(t), t); i < int(n.Records); i = n.NextAt(i+1, t) {
		in, err := n.Interval(i)
		if err != nil {
			n.RUnlock()
			return err
		}
		f(in)
	}
	n.RUnlock()
	return nodes.below(n, func(c block.Child) bool { return c.Start <= t && t <= c.End },
		func(child *block.Node) error { return nodes.Full(child, t, f) })
}
