package server

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/server/internal/page"
)

// TestPage_Nodes holds trees of real profiles, cut at any number of nodes, to what is so of every tree: the values of its
// nodes add up to the total, a node that stands for others is counted, and the functions of a whole tree are those of the
// table, which does not know of trees.
func TestPage_Nodes(t *testing.T) {
	effort.Slow(t)
	effort.Alone(t)
	a := newAsker(t, Options{})
	for _, folder := range []string{"etcd", "pebble", "staticcheck", "compile", "nats-server"} {
		a.insertFiles(folder)
	}
	for _, typ := range []string{"cpu", "alloc_space", "inuse_objects", "goroutine"} {
		for _, more := range [][]string{nil, {"q", `{job="etcd"}`}, {"bq", `{job="etcd"}`, "q", `{job="nats-server"}`}, {"hide", "^runtime[.]"}} {
			named := append([]string{"t", typ}, more...)
			top := a.top(append(named, "rows", "100000")...)
			if len(top.Functions) != top.All || top.All == 0 {
				t.Fatalf("%q: %d functions of %d", named, len(top.Functions), top.All)
			}
			for _, most := range []int{1, 7, 3000, 100_000} {
				of := a.flame(append(named, "max_nodes", fmt.Sprint(most))...)
				checkNodes(t, fmt.Sprintf("%q of %d nodes", named, most), of, top, most)
			}
		}
	}
	if status, text, _ := a.page("top", nil, "t", "cpu", "max_nodes", "5"); status != http.StatusBadRequest {
		t.Errorf("top with max_nodes: %d %s", status, text)
	}
}

// checkNodes holds a tree to what is so of every tree, and to the functions of all stacks.
func checkNodes(t *testing.T, what string, of *flameAnswer, top *page.TopAnswer, most int) {
	t.Helper()
	c := of.Tree
	kept, others := -1, 0 // without the root
	for _, f := range c.Function {
		if f == tree.Other {
			others++
		} else {
			kept++
		}
	}
	if kept > most || kept < min(most, 1) || (others > 0) != (c.Omitted > 0) {
		t.Errorf("%s: %d nodes of at most %d, %d stand for others, the greatest of which has %d", what, kept, most, others, c.Omitted)
	}
	for side := range of.Total {
		if totals := c.totals(side); totals[0] != of.Total[side] || of.Total[side] != top.Total[side] {
			t.Errorf("%s: side %d: the root has %d, the tree %d, the table %d", what, side, totals[0], of.Total[side], top.Total[side])
		}
	}
	if others > 0 {
		return
	}
	for side := range of.Total {
		flat, cum := map[string]int64{}, map[string]int64{}
		var path []string
		for i, total := range c.totals(side) {
			name := c.Names[c.Function[i]]
			path = append(path[:c.Depth[i]], name)
			flat[name] += c.Self[side][i]
			if isOutermost(path) {
				cum[name] += total
			}
		}
		for _, f := range top.Functions {
			if flat[f.Name] != f.Flat[side] || cum[f.Name] != f.Cum[side] {
				t.Errorf("%s: side %d: %s has %d and %d in the tree, %d and %d in the table", what, side, f.Name, flat[f.Name], cum[f.Name], f.Flat[side], f.Cum[side])
			}
		}
	}
}

// isOutermost reports whether the last function of a path is in it once.
func isOutermost(path []string) bool {
	last := len(path) - 1
	return !slices.Contains(path[:last], path[last])
}
