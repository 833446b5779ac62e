package render

import (
	"math"
	"slices"
	"strconv"

	"github.com/granarydb/granary/profile"
)

// nodeChange is a node's Total and Self in both trees of a difference.
type nodeChange struct {
	before, after         int64
	selfBefore, selfAfter int64
}

// merged returns one tree with all nodes of two trees, matched by name and file below matching parents,
// and the change of each node. A node's Self is the sum of both sides' absolute values, so that Total is
// additive and a frame that only one side has is visible.
func merged(base, root *profile.FlameNode) (*profile.FlameNode, map[*profile.FlameNode]nodeChange) {
	type function struct{ name, file string }
	type work struct {
		node        *profile.FlameNode
		base, after []*profile.FlameNode
	}
	changes := map[*profile.FlameNode]nodeChange{}
	top := &profile.FlameNode{Name: root.Name, File: root.File}
	order := []work{{top, []*profile.FlameNode{base}, []*profile.FlameNode{root}}}
	parents := []int{-1}
	for i := 0; i < len(order); i++ { // without recursion, because the depth of stacks is unbounded
		w := order[i]
		var c nodeChange
		index := map[function]int{}
		child := func(n *profile.FlameNode) *work {
			f := function{n.Name, n.File}
			at, ok := index[f]
			if !ok {
				at = len(order)
				index[f] = at
				node := &profile.FlameNode{Name: n.Name, File: n.File}
				w.node.Children = append(w.node.Children, node)
				order = append(order, work{node: node})
				parents = append(parents, i)
			}
			return &order[at]
		}
		for _, n := range w.base {
			c.before, c.selfBefore = c.before+n.Total, c.selfBefore+n.Self
			for _, below := range n.Children {
				if below != nil {
					to := child(below)
					to.base = append(to.base, below)
				}
			}
		}
		for _, n := range w.after {
			c.after, c.selfAfter = c.after+n.Total, c.selfAfter+n.Self
			for _, below := range n.Children {
				if below != nil {
					to := child(below)
					to.after = append(to.after, below)
				}
			}
		}
		changes[w.node] = c
		w.node.Self = max(c.selfBefore, -c.selfBefore) + max(c.selfAfter, -c.selfAfter)
	}
	for i, o := range slices.Backward(order) {
		n := o.node
		n.Total += n.Self
		if i > 0 {
			order[parents[i]].node.Total += n.Total
		}
	}
	return top, changes
}

// share returns the change as a fraction of the greater side, from -1 for a node that is gone to 1 for a new
// node.
func (c nodeChange) share() float64 {
	greater := max(math.Abs(float64(c.before)), math.Abs(float64(c.after)))
	if greater == 0 {
		return 0
	}
	return min(1, max(-1, (float64(c.after)-float64(c.before))/greater))
}

// text formats the change with its sign: "+50%", "new" or "gone". A node without a change has no text.
func (c nodeChange) text() string {
	switch {
	case c.before == c.after:
		return ""
	case c.before == 0:
		return "new"
	case c.after == 0:
		return "gone"
	}
	percent := 100 * (float64(c.after) - float64(c.before)) / math.Abs(float64(c.before))
	digits := 0
	if math.Abs(percent) < 10 {
		digits = 1
	}
	text := strconv.FormatFloat(percent, 'f', digits, 64)
	if percent > 0 {
		return "+" + text + "%"
	}
	return "\u2212" + text[1:] + "%" // the minus sign is as wide as the plus sign
}

// changeColor returns a node's fill in a difference: orange-red for more, blue-green for less, stronger for a
// greater change, and light grey for no change. People with red-green blindness can distinguish
// these hues, and dark text is legible on all of them.
func changeColor(share float64) string {
	const more, less = 42, 212             // hues
	strength := math.Sqrt(math.Abs(share)) // the root makes small changes visible
	switch {
	case share > 0:
		return oklch(0.92-0.19*strength, 0.02+0.14*strength, more)
	case share < 0:
		return oklch(0.92-0.19*strength, 0.02+0.09*strength, less)
	default:
		return oklch(0.92, 0.003, 260)
	}
}
