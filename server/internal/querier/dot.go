package querier

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
)

// callGraph is a directed graph of functions. It is made from all nodes of a tree, because a graph of a pruned tree would
// have wrong values; functions are left out afterwards.
type callGraph struct {
	total     int64
	functions []graphFunction
	calls     map[callPair]*graphCall
}

// graphFunction is a function. A stack counts once in cum, however often the function is in it.
type graphFunction struct {
	name      string
	flat, cum int64
}

// callPair is a caller and a callee, as indexes of functions.
type callPair struct{ caller, callee int }

// graphCall is the value of the stacks with a call. A stack counts once.
type graphCall struct {
	value  int64
	isLong bool // functions between the two are left out
}

// onPath is a node of the path that a walk of a tree is on.
type onPath struct {
	function, caller int // caller is the nearest one in the graph, above the node; -1 if there is none
	isLong           bool
	isCall           bool // the node has added to the value of a call
}

// newCallGraph returns the graph of the `most` functions with the greatest values.
func newCallGraph(n *tree.Nodes, most int) *callGraph {
	g := &callGraph{total: n.Total[0][0], calls: map[callPair]*graphCall{}}
	numbers, of := map[string]int{}, make([]int, len(n.Frames)) // of: function by frame
	for i, f := range n.Frames {
		number, known := numbers[f.Function]
		if !known {
			number = len(g.functions)
			numbers[f.Function], g.functions = number, append(g.functions, graphFunction{name: f.Function})
		}
		of[i] = number
	}
	seen := make([]int, len(g.functions)) // how often a function is on the path
	walkPaths(n, func(i int, _ []onPath) onPath {
		f := &g.functions[of[n.Frame[i]]]
		if f.flat += n.Self[0][i]; seen[of[n.Frame[i]]] == 0 {
			f.cum += n.Total[0][i]
		}
		seen[of[n.Frame[i]]]++
		return onPath{function: of[n.Frame[i]]}
	}, func(p onPath) { seen[p.function]-- })
	kept := g.keep(most)
	onCall := map[callPair]int{}
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
			onCall[callPair{p.caller, p.function}]--
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
func (g *callGraph) keep(most int) (places []int) {
	order := make([]int, len(g.functions))
	places = make([]int, len(g.functions))
	for i := range order {
		order[i], places[i] = i, -1
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(g.functions[b].cum, g.functions[a].cum), cmp.Compare(g.functions[a].name, g.functions[b].name))
	})
	var kept []graphFunction
	for _, i := range order {
		if f := g.functions[i]; len(kept) < most && f.cum > 0 {
			places[i], kept = len(kept), append(kept, f)
		}
	}
	g.functions = kept
	return places
}

// add adds the value of a node to its call, unless the call is on the path above it.
func (g *callGraph) add(onCall map[callPair]int, at onPath, value int64) {
	key := callPair{at.caller, at.function}
	if onCall[key]++; value == 0 {
		return
	}
	c := g.calls[key]
	if c == nil {
		c = &graphCall{isLong: true}
		g.calls[key] = c
	}
	if onCall[key] == 1 {
		c.value += value
	}
	c.isLong = c.isLong && at.isLong
}

// dotOf returns the call graph of the first side of a tree in the language of Graphviz, with at most `most` functions.
func dotOf(calls *tree.Calls, most int, t profile.Type) string {
	calls.DropNegatives()
	n := calls.Nodes(0)
	g := newCallGraph(n, most)
	text := func(v int64) string { return profile.FormatValue(v, t.SampleUnit) }
	percent := func(v int64) string { return fmt.Sprintf("%.4g%%", 100*float64(v)/float64(max(g.total, 1))) }
	var out strings.Builder
	fmt.Fprintf(&out, "digraph %s {\nlabel=%s\nnode [style=filled fillcolor=\"#f8f8f8\" shape=box]\n", dotQuoted(t.Sample),
		dotQuoted(fmt.Sprintf("%s, total %s, %d functions", t.Sample, text(g.total), len(g.functions))))
	for i, f := range g.functions {
		label := fmt.Sprintf("%s\n%s (%s)", f.name, text(f.flat), percent(f.flat))
		if f.cum != f.flat {
			label += fmt.Sprintf("\nof %s (%s)", text(f.cum), percent(f.cum))
		}
		fmt.Fprintf(&out, "N%d [label=%s id=\"node%d\"]\n", i+1, dotQuoted(label), i+1)
	}
	for _, key := range slices.SortedFunc(maps.Keys(g.calls), func(a, b callPair) int {
		return cmp.Or(cmp.Compare(g.calls[b].value, g.calls[a].value), cmp.Compare(a.caller, b.caller), cmp.Compare(a.callee, b.callee))
	}) {
		style := ""
		if g.calls[key].isLong {
			style = " style=dotted"
		}
		fmt.Fprintf(&out, "N%d -> N%d [label=%s%s]\n", key.caller+1, key.callee+1, dotQuoted(text(g.calls[key].value)), style)
	}
	return out.String() + "}\n"
}

// dotQuoted returns a text in quotes of Graphviz.
func dotQuoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
