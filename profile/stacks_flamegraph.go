package profile

import (
	"context"

	"github.com/granarydb/granary/profile/tree"
)

// FlameNode is a function in a flame graph: Name, File, Self, Total and Children. A node and its
// ancestors are a call path.
type FlameNode = tree.FlameNode

// FlameGraphOptions limits a flame graph's size. The zero value means no limit.
type FlameGraphOptions struct {
	// MaxNodes is the maximum number of functions in the graph. The root and nodes named
	// "other" do not count. 0 or less means no limit.
	MaxNodes int
}

// FlameGraph returns the stacks as a tree of functions, callers above callees. Children are in order of
// first stack.
//
// If there are more than MaxNodes functions, the functions with the greatest absolute Total are kept,
// together with their ancestors. If a function does not fit with its ancestors, lesser functions take its
// place. The dropped children of a node are summed in its last child, named "other", so that every Total
// is still Self plus the children's Totals.
//
// The tree belongs to the caller. FlameGraph is a view of a tree from package profile/tree, which bounds
// its memory and takes a context. It costs as much as All, and 50 to 150 bytes for each distinct call
// path while it runs.
func (s *Stacks) FlameGraph(opts FlameGraphOptions) *FlameNode {
	return s.graph(tree.FromRoot, "", opts.MaxNodes)
}

// graph returns a tree of the stacks with at most `most` functions.
func (s *Stacks) graph(d tree.Direction, function string, most int) *FlameNode {
	calls := tree.New(d, function, 0)
	_ = calls.Add(context.Background(), 0, s) // without a bound on memory and a deadline there is no error
	return calls.Nodes(most).FlameGraph(0)
}
