package profile

import (
	"slices"

	"github.com/granarydb/granary/profile/symbols"
)

// FlameNode is one function in a flame graph. A node and its ancestors are one call path, and
// Total is the value sampled on that path or below it.
//
// A graph is a tree with one root, named "root", for all samples. No node has two parents. In
// a difference of two profiles values may be zero or negative, and the positive children of a
// node may exceed it. Nodes are plain values: they are not safe for concurrent use while a
// goroutine changes the tree.
//
// In JSON the names of the fields are in lower case. A file or children that a node does not
// have are left out. Values beyond 2^53 lose digits in JavaScript.
type FlameNode struct {
	Name     string       `json:"name"`           // function name, as pprof prints it
	File     string       `json:"file,omitempty"` // source file of the function, empty if unknown
	Self     int64        `json:"self"`           // value of the samples that end here
	Total    int64        `json:"total"`          // Self plus the Totals of the children
	Children []*FlameNode `json:"children,omitempty"`
}

// FlameGraphOptions limits the size of a flame graph. The zero value means no limit.
type FlameGraphOptions struct {
	// MaxNodes is the maximum number of functions in the graph. The root and nodes named
	// "other" do not count. 0 or less means no limit.
	MaxNodes int
}

// FlameGraph returns the stacks as a tree of functions, callers above callees. Children are in
// the order of their first stack.
//
// If there are more than MaxNodes functions, those with the greatest absolute Total are kept,
// together with their ancestors. If one does not fit with its ancestors, lesser ones take its
// place. The dropped children of a node are summed in its last child, named "other", so that
// every Total is still Self plus the Totals of the children.
//
// The tree belongs to the caller. FlameGraph costs as much as All, and 50 to 100 bytes for
// each distinct call path while it runs.
func (s *Stacks) FlameGraph(opts FlameGraphOptions) *FlameNode {
	resolver := s.known()
	t := newFlameTree()
	w := resolver.Walk()
	for i, code := range s.codes {
		t.add(w.Locations(code), s.values[i])
	}
	t.sum()
	keep := t.largest(opts.MaxNodes)
	return t.graph(keep, resolver.Functions())
}

// flameTree is a flame graph under construction. The root comes first, and each node after its
// parent.
type flameTree struct {
	nodes    []flameNode
	children map[flameEdge]int32
	last     []flameStep // the previous stack, root first
}

func newFlameTree() *flameTree {
	return &flameTree{nodes: []flameNode{{}}, children: map[flameEdge]int32{}}
}

type flameNode struct {
	parent      int32
	function    uint32 // number in symbols
	self, total int64
}

type flameEdge struct {
	parent   int32
	function uint32
}

// flameStep is a location of a stack and the node of its innermost function.
type flameStep struct {
	symbol *symbols.Symbol
	node   int32
}

// add adds a stack. Consecutive stacks share their frames near the root, whose nodes are taken
// from the previous stack.
func (t *flameTree) add(locations []*symbols.Symbol, value int64) {
	depth := 0
	for n := len(locations); depth < min(n, len(t.last)) && t.last[depth].symbol == locations[n-1-depth]; {
		depth++
	}
	t.last = t.last[:depth]
	at := int32(0)
	if depth > 0 {
		at = t.last[depth-1].node
	}
	for _, y := range slices.Backward(locations[:len(locations)-depth]) {
		for _, function := range slices.Backward(y.Functions) {
			at = t.child(at, function)
		}
		t.last = append(t.last, flameStep{y, at})
	}
	t.nodes[at].self += value
}

func (t *flameTree) child(parent int32, function uint32) int32 {
	edge := flameEdge{parent, function}
	i, ok := t.children[edge]
	if !ok {
		i = int32(len(t.nodes))
		t.children[edge] = i
		t.nodes = append(t.nodes, flameNode{parent: parent, function: function})
	}
	return i
}

// sum sets the totals of all nodes.
func (t *flameTree) sum() {
	for i := len(t.nodes) - 1; i > 0; i-- {
		n := &t.nodes[i]
		n.total += n.self
		t.nodes[n.parent].total += n.total
	}
	t.nodes[0].total += t.nodes[0].self
}

// largest reports which nodes to keep, including the root. nil means all.
func (t *flameTree) largest(most int) []bool {
	if most <= 0 || len(t.nodes)-1 <= most {
		return nil
	}
	order := make([]int32, len(t.nodes)-1)
	for i := range order {
		order[i] = int32(i + 1)
	}
	slices.SortFunc(order, func(a, b int32) int {
		x, y := size(t.nodes[a].total), size(t.nodes[b].total)
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return int(a - b) // a parent comes before its children
	})
	keep := make([]bool, len(t.nodes))
	keep[0] = true
	for _, i := range order {
		missing := 0
		for at := i; !keep[at] && missing <= most; at = t.nodes[at].parent {
			missing++
		}
		if missing > most {
			continue
		}
		for at := i; !keep[at]; at = t.nodes[at].parent {
			keep[at] = true
		}
		if most -= missing; most == 0 {
			break
		}
	}
	return keep
}

// graph returns the tree for the caller.
func (t *flameTree) graph(keep []bool, names []symbols.FunctionID) *FlameNode {
	kept := func(i int32) bool { return keep == nil || keep[i] }
	made := make([]*FlameNode, len(t.nodes))
	for i, n := range t.nodes {
		if !kept(int32(i)) {
			continue
		}
		made[i] = &FlameNode{Self: n.self, Total: n.total}
		if i == 0 {
			made[i].Name = "root"
			continue
		}
		made[i].Name, made[i].File = names[n.function].Name, names[n.function].File
		parent := made[n.parent]
		parent.Children = append(parent.Children, made[i])
	}
	others := map[int32]*FlameNode{}
	for i, n := range t.nodes {
		if kept(int32(i)) || !kept(n.parent) {
			continue
		}
		other := others[n.parent]
		if other == nil {
			other = &FlameNode{Name: "other"}
			others[n.parent] = other
			made[n.parent].Children = append(made[n.parent].Children, other)
		}
		other.Self += n.total
		other.Total += n.total
	}
	return made[0]
}
