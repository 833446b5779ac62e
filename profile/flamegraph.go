package profile

import "slices"

// FlameNode is one function in a flame graph: the node and its ancestors are
// one call path, and Total says how much was sampled on that path or below it.
//
// A graph is a tree of nodes under one root that stands for all samples
// (named "root"); no node has two parents. In a difference of two profiles
// values may be zero or negative, and the positive children of a node may
// exceed it. Nodes are plain values: nothing here is safe for use by several
// goroutines while one of them changes the tree.
type FlameNode struct {
	Name     string // function name, as pprof prints it
	File     string // source file of the function, empty when unknown
	Self     int64  // value of the samples that end here
	Total    int64  // Self plus the Totals of the children
	Children []*FlameNode
}

// FlameGraph returns the stacks as a tree of functions, callers above callees.
// The order of children is that of their first stack; WriteSVG sorts them.
func (s *Stacks) FlameGraph() *FlameNode {
	type edge struct {
		parent *FlameNode
		name   string
		file   string
	}
	root := &FlameNode{Name: "root"}
	nodes := map[edge]*FlameNode{}
	s.Each(func(frames []Frame, value int64) {
		root.Total += value
		at := root
		for _, f := range slices.Backward(frames) {
			e := edge{at, f.Function, f.File}
			child := nodes[e]
			if child == nil {
				child = &FlameNode{Name: e.name, File: e.file}
				nodes[e] = child
				at.Children = append(at.Children, child)
			}
			child.Total += value
			at = child
		}
		at.Self += value
	})
	return root
}
