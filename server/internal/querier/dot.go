package querier

import (
	"fmt"
	"strings"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/server/internal/callgraph"
)

// dotOf returns the call graph of the first side of a tree in the language of Graphviz, with at most `most` functions.
func dotOf(calls *tree.Calls, most int, t profile.Type) string {
	calls.DropNegatives()
	n := calls.Nodes(0)
	g := callgraph.Of(n, most)
	text := func(v int64) string { return profile.FormatValue(v, t.SampleUnit) }
	percent := func(v int64) string { return fmt.Sprintf("%.4g%%", 100*float64(v)/float64(max(g.Total, 1))) }
	var out strings.Builder
	fmt.Fprintf(&out, "digraph %s {\nlabel=%s\nnode [style=filled fillcolor=\"#f8f8f8\" shape=box]\n", dotQuoted(t.Sample),
		dotQuoted(fmt.Sprintf("%s, total %s, %d functions", t.Sample, text(g.Total), len(g.Functions))))
	for i, f := range g.Functions {
		label := fmt.Sprintf("%s\n%s (%s)", f.Name, text(f.Flat), percent(f.Flat))
		if f.Cum != f.Flat {
			label += fmt.Sprintf("\nof %s (%s)", text(f.Cum), percent(f.Cum))
		}
		fmt.Fprintf(&out, "N%d [label=%s id=\"node%d\"]\n", i+1, dotQuoted(label), i+1)
	}
	for _, key := range g.Sorted() {
		style := ""
		if g.Calls[key].IsLong {
			style = " style=dotted"
		}
		fmt.Fprintf(&out, "N%d -> N%d [label=%s%s]\n", key.Caller+1, key.Callee+1, dotQuoted(text(g.Calls[key].Value)), style)
	}
	return out.String() + "}\n"
}

// dotQuoted returns a text in quotes of Graphviz.
func dotQuoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
