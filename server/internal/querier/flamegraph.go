package querier

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// How far a loop goes before it gives way to pushes that wait for a processor: about 0.3 ms.
const (
	stacksAtOnce = 64
	nodesAtOnce  = 4096
)

// rootName is the name of the root.
const rootName = "total"

// otherName is the name of the nodes that stand for those left out.
const otherName = "other"

// flameTree is a flame graph of one profile, or of the two sides of a difference, while it is made.
// The root comes first, and each node after its parent. It has the nodes of
// profile.Stacks.FlameGraph, in the same order.
type flameTree struct {
	most      int64 // bytes
	bytes     int64
	nodes     []flameNode
	children  map[flameEdge]int32
	functions []flameFunction // by number
	numbers   map[flameFunction]uint32
	last      []flameStep // the stack before, root first
}

// flameNode is a function on a call path. Each side has a width, so values below 0, which only
// profiles with such values have, count as 0.
type flameNode struct {
	parent      int32
	function    uint32
	self, total [2]int64
}

type flameFunction struct{ name, file string }

type flameEdge struct {
	parent   int32
	function uint32
}

// flameStep is a frame of a stack and its node.
type flameStep struct {
	function uint32
	node     int32
}

// What a stack of an answer takes, and what a node, a function and a frame of a tree take: their maps and
// slices can be half empty, and both grow by copying.
const (
	stackBytes    = 16
	frameBytes    = 16
	nodeBytes     = 160
	functionBytes = 256
)

// newFlameTree returns an empty tree that can take a number of bytes.
func newFlameTree(most int64) *flameTree {
	return &flameTree{most: most, nodes: make([]flameNode, 1), children: map[flameEdge]int32{}, numbers: map[flameFunction]uint32{}}
}

// add adds the stacks of a side. The error is columnstore.ErrQueryMemory, or that of the context.
func (t *flameTree) add(ctx context.Context, side int, stacks *profile.Stacks) (err error) {
	t.bytes += stackBytes * int64(stacks.Len())
	n := 0
	var functions, stack []uint32 // by number of the frame; of the stack at hand
	see := func(f profile.Frame, _ uint32) {
		functions = append(functions, t.number(flameFunction{f.Function, f.File}))
		t.bytes += frameBytes
	}
	stacks.Numbered(see, func(frames []uint32, _ int, value int64) bool {
		if n++; n%stacksAtOnce == 0 {
			runtime.Gosched()
			if err = ctx.Err(); err != nil {
				return false
			}
		}
		stack = stack[:0]
		for _, frame := range frames {
			stack = append(stack, functions[frame])
		}
		if t.addStack(side, stack, value); t.bytes > t.most {
			err = fmt.Errorf("%w: stopped at %d bytes, with %d functions of a flame graph", columnstore.ErrQueryMemory, t.bytes, len(t.nodes)-1)
		}
		return err == nil
	})
	return err
}

// addStack adds a stack of functions, leaf first. Neighbouring stacks share their frames near the root, whose
// nodes are taken from the stack before.
func (t *flameTree) addStack(side int, functions []uint32, value int64) {
	depth := 0
	for n := len(functions); depth < min(n, len(t.last)) && t.last[depth].function == functions[n-1-depth]; {
		depth++
	}
	t.last = t.last[:depth]
	at := int32(0)
	if depth > 0 {
		at = t.last[depth-1].node
	}
	for _, f := range slices.Backward(functions[:len(functions)-depth]) {
		at = t.child(at, f)
		t.last = append(t.last, flameStep{f, at})
	}
	t.nodes[at].self[side] += value
}

// number returns the number of a function.
func (t *flameTree) number(f flameFunction) uint32 {
	number, known := t.numbers[f]
	if !known {
		number = uint32(len(t.functions))
		t.functions, t.numbers[f] = append(t.functions, f), number
		t.bytes += functionBytes
	}
	return number
}

func (t *flameTree) child(parent int32, number uint32) int32 {
	edge := flameEdge{parent, number}
	i, known := t.children[edge]
	if !known {
		i = int32(len(t.nodes))
		t.nodes, t.children[edge] = append(t.nodes, flameNode{parent: parent, function: number}), i
		t.bytes += nodeBytes
	}
	return i
}

// flameBar is a node that is drawn.
type flameBar struct {
	name        string
	self, total [2]int64
	children    []int32
}

// bars sums the values, and returns the root and the most functions with the greatest totals of both
// sides, callers before callees. The other children of a node are summed in its last one, named
// other.
func (t *flameTree) bars(most int) []flameBar {
	t.sum()
	keep := t.largest(most)
	bars := []flameBar{{name: rootName, self: t.nodes[0].self, total: t.nodes[0].total}}
	place := make([]int32, len(t.nodes)) // in bars, or -1
	others := map[int32][2]int64{}       // by the place of the caller
	for i := 1; i < len(t.nodes); i++ {
		if i%nodesAtOnce == 0 {
			runtime.Gosched()
		}
		n := &t.nodes[i]
		above := place[n.parent]
		switch {
		case above < 0:
			place[i] = -1
		case keep != nil && !keep[i]:
			place[i] = -1
			others[above] = plus(others[above], n.total)
		default:
			place[i] = int32(len(bars))
			bars[above].children = append(bars[above].children, place[i])
			bars = append(bars, flameBar{name: t.functions[n.function].name, self: n.self, total: n.total})
		}
	}
	for above := range int32(len(bars)) {
		if rest := others[above]; rest != [2]int64{} {
			bars[above].children = append(bars[above].children, int32(len(bars)))
			bars = append(bars, flameBar{name: otherName, self: rest, total: rest})
		}
	}
	return bars
}

// sum sets the totals of all nodes.
func (t *flameTree) sum() {
	for i, n := range slices.Backward(t.nodes) {
		for side, v := range n.self {
			t.nodes[i].self[side] = max(0, v)
		}
		total := plus(t.nodes[i].self, n.total)
		if t.nodes[i].total = total; i > 0 {
			t.nodes[n.parent].total = plus(t.nodes[n.parent].total, total)
		}
	}
}

func plus(a, b [2]int64) [2]int64 { return [2]int64{a[0] + b[0], a[1] + b[1]} }

// largest reports which nodes to keep beside the root. nil means all.
func (t *flameTree) largest(most int) []bool {
	if len(t.nodes)-1 <= most {
		return nil
	}
	order := make([]int32, len(t.nodes)-1)
	for i := range order {
		order[i] = int32(i + 1)
	}
	size := func(i int32) uint64 { return uint64(t.nodes[i].total[0]) + uint64(t.nodes[i].total[1]) }
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(size(b), size(a)), cmp.Compare(a, b)) // a caller is not smaller than its callees, and comes before
	})
	keep := make([]bool, len(t.nodes))
	for _, i := range order[:most] {
		keep[i] = true
	}
	return keep
}

// levelsOf returns bars as Grafana reads them: level by level, from the root down. A bar is three
// numbers for each side, and the number of its name: the distance from the end of the bar on its left,
// its total and its self value.
func levelsOf(bars []flameBar, sides int) (names []string, levels []*querierv1.Level, maxSelf int64) {
	type placed struct {
		bar int32
		x   [2]int64
	}
	numbers := map[string]int64{}
	for row := []placed{{}}; len(row) > 0; {
		var next []placed
		values := make([]int64, 0, (3*sides+1)*len(row))
		var end [2]int64
		for _, p := range row {
			b := &bars[p.bar]
			for side := range sides {
				values = append(values, p.x[side]-end[side], b.total[side], b.self[side])
				maxSelf = max(maxSelf, b.self[side])
			}
			end = plus(p.x, b.total)
			number, known := numbers[b.name]
			if !known {
				number = int64(len(names))
				names, numbers[b.name] = append(names, b.name), number
			}
			values = append(values, number)
			for _, c := range b.children {
				next = append(next, placed{c, p.x})
				p.x = plus(p.x, bars[c].total)
			}
		}
		levels = append(levels, &querierv1.Level{Values: values})
		runtime.Gosched()
		row = next
	}
	return names, levels, maxSelf
}

// graph returns the flame graph of the first side, with at most so many functions.
func (t *flameTree) graph(most int) *querierv1.FlameGraph {
	bars := t.bars(most)
	names, levels, maxSelf := levelsOf(bars, 1)
	return &querierv1.FlameGraph{Names: names, Levels: levels, Total: bars[0].total[0], MaxSelf: maxSelf}
}

// diff returns the flame graph of both sides, with at most so many functions.
func (t *flameTree) diff(most int) *querierv1.FlameGraphDiff {
	bars := t.bars(most)
	names, levels, maxSelf := levelsOf(bars, 2)
	left, right := bars[0].total[0], bars[0].total[1]
	return &querierv1.FlameGraphDiff{Names: names, Levels: levels, Total: left + right, MaxSelf: maxSelf, LeftTicks: left, RightTicks: right}
}
