// Package callgraph makes graphs of functions and their calls from trees.
package callgraph

import (
	"cmp"
	"maps"
	"runtime"
	"slices"

	"github.com/granarydb/granary/profile/tree"
)

// nodesAtOnce is the number of nodes after which a loop yields to others that wait for a processor.
const nodesAtOnce = 4096

// Graph is a directed graph of functions. It is made from all nodes of a tree, because a graph of a pruned tree would
// have wrong values; functions are left out afterwards.
type Graph struct {
	Total     int64
	Functions []Function // the greatest first
	Calls     map[Pair]*Call
}

// Function is a function. A stack counts once in cum, however often the function is in it.
type Function struct {
	Name      string
	Flat, Cum int64
}

// Pair is a caller and a callee, as indexes of functions.
type Pair struct{ Caller, Callee int }

// Call is the value of the stacks with a call. A stack counts once.
type Call struct {
	Value  int64
	IsLong bool // functions between the two are left out
}

// onPath is a node of the path that a walk of a tree is on.
type onPath struct {
	function, caller int // caller is the nearest one in the graph, above the node; -1 if there is none
	isLong           bool
	isCall           bool // the node has added to the value of a call
}

// Of returns the graph of the `most` functions with the greatest values.
func Of(n *tree.Nodes, most int) *Graph {
	g := &Graph{Total: n.Total[0][0], Calls: map[Pair]*Call{}}
	numbers, of := map[string]int{}, make([]int, len(n.Frames)) // of: function by frame
	for i, f := range n.Frames {
		number, known := numbers[f.Function]
		if !known {
			number = len(g.Functions)
			numbers[f.Function], g.Functions = number, append(g.Functions, Function{Name: f.Function})
		}
		of[i] = number
	}
	seen := make([]int, len(g.Functions)) // how often a function is on the path
	walkPaths(n, func(i int, _ []onPath) onPath {
		f := &g.Functions[of[n.Frame[i]]]
		if f.Flat += n.Self[0][i]; seen[of[n.Frame[i]]] == 0 {
			f.Cum += n.Total[0][i]
		}
		seen[of[n.Frame[i]]]++
		return onPath{function: of[n.Frame[i]]}
	}, func(p onPath) { seen[p.function]-- })
	kept := g.keep(most)
	onCall := map[Pair]int{}
	walkPaths(n, func(i int, path []onPath) onPath {
		at := onPath{function: kept[of[n.Frame[i]]], caller: -1}
		if len(path) > 0 {
			above := path[len(path)-1]
			if at.caller = above.function; at.caller < 0 {
				at.caller, at.isLong = above.caller, true
			}
		}
		if at.isCall = at.function >= 0 && at.caller >= 0; at.isCall {
			g.add(onCall, at, n.Total[0][i])
		}
		return at
	}, func(p onPath) {
		if p.isCall {
			onCall[Pair{p.caller, p.function}]--
		}
	})
	return g
}

// walkPaths calls enter for each node of a tree but the root, with the nodes above it, and leave after the last node below.
func walkPaths(n *tree.Nodes, enter func(i int, path []onPath) onPath, leave func(onPath)) {
	var path []onPath
	for i := 1; i < len(n.Depth); i++ {
		if i%nodesAtOnce == 0 {
			runtime.Gosched()
		}
		for len(path) > int(n.Depth[i])-1 {
			leave(path[len(path)-1])
			path = path[:len(path)-1]
		}
		path = append(path, enter(i, path))
	}
}

// keep keeps the functions with the greatest values. It returns the new index of each, or -1.
func (g *Graph) keep(most int) (places []int) {
	order := make([]int, len(g.Functions))
	places = make([]int, len(g.Functions))
	for i := range order {
		order[i], places[i] = i, -1
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(g.Functions[b].Cum, g.Functions[a].Cum), cmp.Compare(g.Functions[a].Name, g.Functions[b].Name))
	})
	var kept []Function
	for _, i := range order {
		if f := g.Functions[i]; len(kept) < most && f.Cum > 0 {
			places[i], kept = len(kept), append(kept, f)
		}
	}
	g.Functions = kept
	return places
}

// add adds the value of a node to its call, unless the call is on the path above it.
func (g *Graph) add(onCall map[Pair]int, at onPath, value int64) {
	key := Pair{at.caller, at.function}
	if onCall[key]++; value == 0 {
		return
	}
	c := g.Calls[key]
	if c == nil {
		c = &Call{IsLong: true}
		g.Calls[key] = c
	}
	if onCall[key] == 1 {
		c.Value += value
	}
	c.IsLong = c.IsLong && at.isLong
}

// Sorted returns the pairs of callers and callees, those with the greatest values first.
func (g *Graph) Sorted() []Pair {
	return slices.SortedFunc(maps.Keys(g.Calls), func(a, b Pair) int {
		return cmp.Or(cmp.Compare(g.Calls[b].Value, g.Calls[a].Value), cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Callee, b.Callee))
	})
}
