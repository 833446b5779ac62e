package server

import (
	"cmp"
	"slices"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/profile"
)

// Grafana reads a flame graph level by level, from the root down. A node is four numbers: the distance
// from the end of the node on its left, its total, its self value, and the number of its name. A node
// of a difference has the first three for each side, and then the name.

// rootName is the name of the root.
const rootName = "total"

// otherName is the name of the nodes that stand for those left out.
const otherName = "other"

// names numbers names in the order of their first use.
type names struct {
	list   []string
	number map[string]int64
}

func (n *names) of(name string) int64 {
	number, known := n.number[name]
	if !known {
		if n.number == nil {
			n.number = map[string]int64{}
		}
		number = int64(len(n.list))
		n.list, n.number[name] = append(n.list, name), number
	}
	return number
}

// levelsOf returns a flame graph as Grafana reads it.
func levelsOf(root *profile.FlameNode) *querierv1.FlameGraph {
	out := &querierv1.FlameGraph{Total: root.Total}
	var known names
	type placed struct {
		node *profile.FlameNode
		x    int64
	}
	for level := []placed{{root, 0}}; len(level) > 0; {
		var next []placed
		values := make([]int64, 0, 4*len(level))
		end := int64(0)
		for _, p := range level {
			name := p.node.Name
			if p.node == root {
				name = rootName
			}
			values = append(values, p.x-end, p.node.Total, p.node.Self, known.of(name))
			out.MaxSelf = max(out.MaxSelf, p.node.Self)
			end = p.x + p.node.Total
			x := p.x
			for _, c := range p.node.Children {
				next = append(next, placed{c, x})
				x += c.Total
			}
		}
		out.Levels = append(out.Levels, &querierv1.Level{Values: values})
		level = next
	}
	out.Names = known.list
	return out
}

// below returns the part of a flame graph on and below a path of functions from the root: the
// functions of the path have the values of the samples that go through all of it. Without such a path
// nothing is left.
func below(root *profile.FlameNode, path []*typesv1.Location) *profile.FlameNode {
	if len(path) == 0 {
		return root
	}
	var child *profile.FlameNode
	if i := slices.IndexFunc(root.Children, func(c *profile.FlameNode) bool { return c.Name == path[0].GetName() }); i >= 0 {
		child = below(root.Children[i], path[1:])
	}
	out := &profile.FlameNode{Name: root.Name, File: root.File}
	if child != nil && (child.Total != 0 || len(child.Children) > 0) {
		out.Total, out.Children = child.Total, []*profile.FlameNode{child}
	}
	return out
}

// threshold returns the least total of the most nodes with the greatest totals, and how many nodes
// with that very total are among them.
func threshold(totals []int64, most int) (least int64, equal int) {
	slices.SortFunc(totals, func(a, b int64) int { return cmp.Compare(b, a) })
	least = totals[most-1]
	for i := most - 1; i >= 0 && totals[i] == least; i-- {
		equal++
	}
	return least, equal
}

// prune keeps the most functions with the greatest totals, the root not counted, and sums the others
// below their callers in nodes named other. Totals must not be negative: then no function has more
// than its caller.
func prune(root *profile.FlameNode, most int) {
	var totals []int64
	var walk func(n *profile.FlameNode)
	walk = func(n *profile.FlameNode) {
		for _, c := range n.Children {
			totals = append(totals, c.Total)
			walk(c)
		}
	}
	if walk(root); len(totals) <= most {
		return
	}
	least, equal := threshold(totals, most)
	var cut func(n *profile.FlameNode)
	cut = func(n *profile.FlameNode) {
		kept := n.Children[:0]
		rest := int64(0)
		for _, c := range n.Children {
			if c.Total > least || c.Total == least && equal > 0 {
				if c.Total == least {
					equal--
				}
				cut(c)
				kept = append(kept, c)
			} else {
				rest += c.Total
			}
		}
		if n.Children = kept; rest != 0 {
			n.Children = append(n.Children, &profile.FlameNode{Name: otherName, Self: rest, Total: rest})
		}
	}
	cut(root)
}

// diffNode is a function of two flame graphs: 0 is left, 1 is right.
type diffNode struct {
	name     string
	self     [2]int64
	total    [2]int64
	children []*diffNode
	named    map[string]*diffNode // the children, by name
}

// join joins two flame graphs by the names of their functions.
func join(left, right *profile.FlameNode) *diffNode {
	d := &diffNode{name: rootName}
	for side, n := range []*profile.FlameNode{left, right} {
		d.add(side, n)
	}
	return d
}

// add adds a side's node and what is below it. Functions of one name in several files are one here.
func (d *diffNode) add(side int, n *profile.FlameNode) {
	d.self[side] += n.Self
	d.total[side] += n.Total
	for _, c := range n.Children {
		child := d.named[c.Name]
		if child == nil {
			if d.named == nil {
				d.named = map[string]*diffNode{}
			}
			child = &diffNode{name: c.Name}
			d.children, d.named[c.Name] = append(d.children, child), child
		}
		child.add(side, c)
	}
}

func (d *diffNode) sum() int64 { return d.total[0] + d.total[1] }

// prune is prune of the sums of both sides.
func (d *diffNode) prune(most int) {
	var totals []int64
	var walk func(n *diffNode)
	walk = func(n *diffNode) {
		for _, c := range n.children {
			totals = append(totals, c.sum())
			walk(c)
		}
	}
	if walk(d); len(totals) <= most {
		return
	}
	least, equal := threshold(totals, most)
	var cut func(n *diffNode)
	cut = func(n *diffNode) {
		kept, rest := n.children[:0], &diffNode{name: otherName}
		for _, c := range n.children {
			switch {
			case c.sum() > least:
				cut(c)
				kept = append(kept, c)
			case c.sum() == least && equal > 0:
				equal--
				cut(c)
				kept = append(kept, c)
			default:
				for side := range rest.total {
					rest.total[side] += c.total[side]
				}
			}
		}
		if rest.self = rest.total; rest.sum() != 0 {
			kept = append(kept, rest)
		}
		n.children = kept
	}
	cut(d)
}

// diffLevels returns a difference as Grafana reads it, with at most so many functions.
func diffLevels(root *diffNode, most int) *querierv1.FlameGraphDiff {
	root.prune(most)
	out := &querierv1.FlameGraphDiff{LeftTicks: root.total[0], RightTicks: root.total[1], Total: root.sum()}
	var known names
	type placed struct {
		node *diffNode
		x    [2]int64
	}
	for level := []placed{{node: root}}; len(level) > 0; {
		var next []placed
		values := make([]int64, 0, 7*len(level))
		var end [2]int64
		for _, p := range level {
			for side := range end {
				values = append(values, p.x[side]-end[side], p.node.total[side], p.node.self[side])
				end[side] = p.x[side] + p.node.total[side]
				out.MaxSelf = max(out.MaxSelf, p.node.self[side])
			}
			values = append(values, known.of(p.node.name))
			x := p.x
			for _, c := range p.node.children {
				next = append(next, placed{c, x})
				for side := range x {
					x[side] += c.total[side]
				}
			}
		}
		out.Levels = append(out.Levels, &querierv1.Level{Values: values})
		level = next
	}
	out.Names = known.list
	return out
}
