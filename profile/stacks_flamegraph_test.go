package profile

import (
	"cmp"
	"encoding/json"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// checkPruned compares a flame graph of at most the given number of nodes with the whole
// graph.
func checkPruned(t fataler, s *Stacks, most int) {
	t.Helper()
	totals, kept := map[string]int64{}, 0
	var all []uint64
	var walk func(n *FlameNode, path string, see func(n *FlameNode, path string))
	walk = func(n *FlameNode, path string, see func(n *FlameNode, path string)) {
		for _, c := range n.Children {
			at := path + "\n" + c.Name + "\t" + c.File
			see(c, at)
			walk(c, at, see)
		}
	}
	anyNegative := false
	walk(s.FlameGraph(FlameGraphOptions{}), "", func(n *FlameNode, path string) {
		totals[path] = n.Total
		all = append(all, size(n.Total))
	})
	for _, v := range s.values {
		anyNegative = anyNegative || v < 0
	}
	root := s.FlameGraph(FlameGraphOptions{MaxNodes: most})
	var largest []uint64
	walk(root, "", func(n *FlameNode, path string) {
		sum := n.Self
		for i, c := range n.Children {
			sum += c.Total
			if isOther(c) && (i != len(n.Children)-1 || len(c.Children) > 0) {
				t.Fatal("other is not the last child, or has children")
			}
		}
		if sum != n.Total {
			t.Fatal("a total is not the node's own and its children's")
		}
		if isOther(n) {
			return
		}
		kept++
		largest = append(largest, size(n.Total))
		if total, ok := totals[path]; !ok || total != n.Total {
			t.Fatal("a node is not one of the whole graph")
		}
	})
	if root.Total != s.Total || kept > most || kept < min(most, len(all)) && !anyNegative {
		t.Fatal("total or number of nodes", root.Total, s.Total, kept, most)
	}
	if anyNegative {
		return // an ancestor that is kept for a node can be smaller than dropped nodes
	}
	fall := func(a, b uint64) int { return cmp.Compare(b, a) }
	slices.SortFunc(all, fall)
	slices.SortFunc(largest, fall)
	if !slices.Equal(largest, all[:len(largest)]) {
		t.Fatal("others are larger than what is kept", largest, all)
	}
}

// isOther reports whether a node is the sum of dropped nodes and not a function named "other".
// All functions of the tests have files.
func isOther(n *FlameNode) bool { return n.Name == "other" && n.File == "" }

func TestFlameGraphMaxNodes(t *testing.T) {
	s := merged(t, makeProfile(start, "n:count",
		stack{frames: "c b a", values: []int64{30}}, stack{frames: "d b a", values: []int64{20}}, stack{frames: "a", values: []int64{5}},
		stack{frames: "y x", values: []int64{4}}, stack{frames: "z x", values: []int64{3}}, stack{frames: "w", values: []int64{-2}}, stack{frames: "", values: []int64{1}}))
	leaf := func(name string, total int64, children ...*FlameNode) *FlameNode {
		n := &FlameNode{Name: name, File: name + ".go", Self: total, Total: total, Children: children}
		for _, c := range children {
			n.Self -= c.Total
		}
		if name == "other" || name == "root" {
			n.File = ""
		}
		return n
	}
	whole := leaf("root", 61,
		leaf("a", 55, leaf("b", 50, leaf("c", 30), leaf("d", 20))),
		leaf("x", 7, leaf("y", 4), leaf("z", 3)), leaf("w", -2))
	for most, want := range map[int]*FlameNode{
		-1: whole, 0: whole, 8: whole, 9: whole,
		7: leaf("root", 61, leaf("a", 55, leaf("b", 50, leaf("c", 30), leaf("d", 20))), leaf("x", 7, leaf("y", 4), leaf("z", 3)), leaf("other", -2)),
		5: leaf("root", 61, leaf("a", 55, leaf("b", 50, leaf("c", 30), leaf("d", 20))), leaf("x", 7, leaf("other", 7)), leaf("other", -2)),
		3: leaf("root", 61, leaf("a", 55, leaf("b", 50, leaf("c", 30), leaf("other", 20))), leaf("other", 5)),
		1: leaf("root", 61, leaf("a", 55, leaf("other", 50)), leaf("other", 5)),
	} {
		if diff := gocmp.Diff(want, s.FlameGraph(FlameGraphOptions{MaxNodes: most})); diff != "" {
			t.Errorf("%d nodes: -want +got\n%s", most, diff)
		}
		checkPruned(t, s, max(1, most))
	}
	// In a difference a large node can be below a small one. It is kept only together with it.
	s = merged(t, makeProfile(start, "n:count", stack{frames: "b a", values: []int64{100}}, stack{frames: "c a", values: []int64{-99}}, stack{frames: "d", values: []int64{2}}))
	for most, want := range map[int]*FlameNode{
		1: leaf("root", 3, leaf("d", 2), leaf("other", 1)),
		2: leaf("root", 3, leaf("a", 1, leaf("b", 100), leaf("other", -99)), leaf("other", 2)),
	} {
		if diff := gocmp.Diff(want, s.FlameGraph(FlameGraphOptions{MaxNodes: most})); diff != "" {
			t.Errorf("difference, %d nodes: -want +got\n%s", most, diff)
		}
	}
	if root := new(Stacks).FlameGraph(FlameGraphOptions{MaxNodes: 1}); root.Name != "root" || root.Total != 0 {
		t.Errorf("of no stacks: %+v", root)
	}
}

// TestFlameNode_JSON holds the names of the fields that web pages read.
func TestFlameNode_JSON(t *testing.T) {
	root := &FlameNode{Name: "root", Total: 3, Children: []*FlameNode{
		{Name: "main", File: "main.go", Self: 1, Total: 3, Children: []*FlameNode{{Name: "work", Self: 2, Total: 2}}},
	}}
	const want = `{"name":"root","self":0,"total":3,"children":[` +
		`{"name":"main","file":"main.go","self":1,"total":3,"children":[{"name":"work","self":2,"total":2}]}]}`
	text, err := json.Marshal(root)
	if err != nil || string(text) != want {
		t.Fatalf("%s, %v\nwant %s", text, err, want)
	}
	var back *FlameNode
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(root, back); diff != "" {
		t.Error(diff)
	}
}
