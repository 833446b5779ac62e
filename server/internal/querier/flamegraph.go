package querier

import (
	"encoding/binary"
	"runtime"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"

	"github.com/granarydb/granary/profile/tree"
)

// nodesAtOnce is the number of nodes after which a loop yields to pushes that wait for a processor: about
// 0.3 ms.
const nodesAtOnce = 4096

// rootName is the root node's name.
const rootName = "total"

// graphOf returns the flame graph of the first side of a tree in Grafana's form, with at most `most`
// functions.
func graphOf(calls *tree.Calls, most int) *querierv1.FlameGraph {
	n := widthsOf(calls, most)
	names, levels, maxSelf := levelsOf(n, 1)
	return &querierv1.FlameGraph{Names: names, Levels: levels, Total: n.Total[0][0], MaxSelf: maxSelf}
}

// diffOf returns the flame graph of both sides, with at most `most` functions.
func diffOf(calls *tree.Calls, most int) *querierv1.FlameGraphDiff {
	n := widthsOf(calls, most)
	names, levels, maxSelf := levelsOf(n, 2)
	left, right := n.Total[0][0], n.Total[1][0]
	return &querierv1.FlameGraphDiff{Names: names, Levels: levels, Total: left + right, MaxSelf: maxSelf, LeftTicks: left, RightTicks: right}
}

// widthsOf returns the nodes in a tree with values as widths. Negative values, which only some profiles
// have, count as 0.
func widthsOf(calls *tree.Calls, most int) *tree.Nodes {
	calls.DropNegatives()
	return calls.Nodes(max(most, 1)) // 0 would mean all
}

// levelsOf returns nodes level by level, from the root down. A node is three numbers for each side, and
// the index of its name. The three are the distance from the node's end on its left, its total and its
// self value. A node is below its parent, after its earlier siblings.
func levelsOf(n *tree.Nodes, sides int) (names []string, levels []*querierv1.Level, maxSelf int64) {
	var free, ends [][2]int64 // by level: start of the next child of the last node, and end of that node
	for i, depth := range n.Depth {
		if i%nodesAtOnce == 0 {
			runtime.Gosched()
		}
		d := int(depth)
		if d == len(levels) {
			levels, free, ends = append(levels, &querierv1.Level{}), append(free, [2]int64{}), append(ends, [2]int64{})
		}
		var x [2]int64
		if d > 0 {
			x = free[d-1]
		}
		if n.Frame[i] == tree.Other && n.Total[0][i] == 0 && n.Total[1][i] == 0 {
			continue // an omitted node has no width
		}
		total := [2]int64{n.Total[0][i], n.Total[1][i]}
		level := levels[d]
		for side := range sides {
			level.Values = append(level.Values, x[side]-ends[d][side], total[side], n.Self[side][i])
			maxSelf = max(maxSelf, n.Self[side][i])
		}
		level.Values = append(level.Values, int64(n.Frame[i]))
		free[d], ends[d] = x, plus(x, total)
		if d > 0 {
			free[d-1] = ends[d]
		}
	}
	if last := len(levels) - 1; len(levels[last].Values) == 0 { // all of its nodes have no width
		levels = levels[:last]
	}
	return numbered(n, levels, 3*sides+1), levels, maxSelf
}

// numbered replaces the last value of each node, its frame, by the index of its name, and returns the
// names in the order of the levels.
func numbered(n *tree.Nodes, levels []*querierv1.Level, size int) (names []string) {
	numbers := map[string]int64{}
	for _, level := range levels {
		for i := size - 1; i < len(level.Values); i += size {
			name := n.Frames[level.Values[i]].Function
			if level.Values[i] == 0 {
				name = rootName
			}
			number, known := numbers[name]
			if !known {
				number = int64(len(names))
				names, numbers[name] = append(names, name), number
			}
			level.Values[i] = number
		}
		runtime.Gosched()
	}
	return names
}

// treeBytes returns a flame graph as Pyroscope's trees: for each node, in preorder, the bytes of its name, the name, its self
// value and the number of its children, with numbers as varints. The root has no name.
func treeBytes(calls *tree.Calls, most int) (out []byte) {
	n := widthsOf(calls, most)
	children, path := make([]uint64, len(n.Depth)), []int(nil)
	for i, depth := range n.Depth {
		if path = append(path[:depth], i); depth > 0 {
			children[path[depth-1]]++
		}
	}
	for i, frame := range n.Frame {
		if i%nodesAtOnce == 0 {
			runtime.Gosched()
		}
		name := n.Frames[frame].Function
		if i == 0 {
			name = ""
		}
		out = binary.AppendUvarint(out, uint64(len(name)))
		out = append(out, name...)
		out = binary.AppendUvarint(out, uint64(n.Self[0][i]))
		out = binary.AppendUvarint(out, children[i])
	}
	return out
}

func plus(a, b [2]int64) [2]int64 { return [2]int64{a[0] + b[0], a[1] + b[1]} }
