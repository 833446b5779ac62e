package profile

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestSandwich(t *testing.T) {
	s := merged(t, makeProfile(start, "n:count",
		stack{frames: "leaf f a main", values: []int64{8}},
		stack{frames: "f b main", values: []int64{4}},
		stack{frames: "f g f a main", values: []int64{2}}, // by way of g
		stack{frames: "f f main", values: []int64{1}},
		stack{frames: "in +f main", values: []int64{16}},
		stack{frames: "other main", values: []int64{64}},
		stack{frames: "f", values: []int64{-32}}))
	node := func(name string, self, total int64, children ...*FlameNode) *FlameNode {
		return &FlameNode{Name: name, File: name + ".go", Self: self, Total: total, Children: children}
	}
	root := func(self int64, children ...*FlameNode) *FlameNode {
		return &FlameNode{Name: "f", Self: self, Total: -1, Children: children}
	}
	want := &Sandwich{
		Function: Function{"f", -25, -1},
		Callers:  []Call{{"main", 17}, {"a", 10}, {"b", 4}, {"g", 2}},
		Callees:  []Call{{"in", 16}, {"leaf", 8}, {"g", 2}},
		Above: root(-32,
			node("a", 0, 10, node("main", 10, 10)), node("b", 0, 4, node("main", 4, 4)), node("main", 17, 17)),
		Below: root(-28,
			node("leaf", 8, 8), node("g", 0, 2, node("f", 2, 2)), node("f", 1, 1), node("in", 16, 16)),
	}
	byName := gocmp.Transformer("byName", func(children []*FlameNode) map[string]*FlameNode {
		out := map[string]*FlameNode{}
		for _, c := range children {
			out[c.Name] = c
		}
		return out
	})
	if diff := gocmp.Diff(want, s.Sandwich("f"), byName); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for name, s := range map[string]*Stacks{"no stack": {}, "no such function": s} {
		got := s.Sandwich("nobody")
		if diff := gocmp.Diff(&Sandwich{Function: Function{Name: "nobody"}, Above: &FlameNode{Name: "nobody"}, Below: &FlameNode{Name: "nobody"}}, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// checkSandwich compares a sandwich with one made stack by stack.
func checkSandwich(t fataler, s *Stacks, name string) {
	t.Helper()
	want := Sandwich{Function: Function{Name: name}}
	callers, callees, above, below := map[string]int64{}, map[string]int64{}, map[string]int64{}, map[string]int64{}
	for frames, value := range s.All() {
		outermost := -1
		seen := map[Call]bool{}
		once := func(sums map[string]int64, side int64, name string) {
			if !seen[Call{name, side}] {
				seen[Call{name, side}] = true
				sums[name] += value
			}
		}
		for i, f := range frames {
			if f.Function != name {
				continue
			}
			outermost = i
			if i > 0 && frames[i-1].Function != name {
				once(callees, 0, frames[i-1].Function)
			}
			if i < len(frames)-1 && frames[i+1].Function != name {
				once(callers, 1, frames[i+1].Function)
			}
		}
		if outermost < 0 {
			continue
		}
		want.Function.Cum += value
		if frames[0].Function == name {
			want.Function.Flat += value
		}
		path := ""
		for _, f := range frames[outermost+1:] {
			path += "\n" + f.Function + "\t" + f.File
		}
		above[path] += value
		path = ""
		for _, f := range slices.Backward(frames[:outermost]) {
			path += "\n" + f.Function + "\t" + f.File
		}
		below[path] += value
	}
	for _, sums := range []map[string]int64{above, below} {
		maps.DeleteFunc(sums, func(_ string, v int64) bool { return v == 0 })
	}
	want.Callers, want.Callees = callsOf(callers), callsOf(callees)
	got := s.Sandwich(name)
	for what, graph := range map[string]struct {
		root *FlameNode
		want map[string]int64
	}{"above": {got.Above, above}, "below": {got.Below, below}} {
		if diff := gocmp.Diff(graph.want, selves(t, graph.root)); diff != "" || graph.root.Total != got.Function.Cum || graph.root.Name != name {
			t.Fatal(what, name, graph.root.Total, "-want +got\n", diff)
		}
	}
	got.Above, got.Below = nil, nil
	if diff := gocmp.Diff(&want, got); diff != "" {
		t.Fatal(name, "-want +got\n", diff)
	}
}

func callsOf(sums map[string]int64) []Call {
	var out []Call
	for name, value := range sums {
		out = append(out, Call{name, value})
	}
	slices.SortFunc(out, func(a, b Call) int {
		return cmp.Or(cmp.Compare(size(b.Value), size(a.Value)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// selves returns the Self of a graph's nodes by path. Nodes without a value of their own are left out.
func selves(t fataler, root *FlameNode) map[string]int64 {
	out := map[string]int64{}
	var walk func(n *FlameNode, path string)
	walk = func(n *FlameNode, path string) {
		total := n.Self
		for _, c := range n.Children {
			walk(c, path+"\n"+c.Name+"\t"+c.File)
			total += c.Total
		}
		if total != n.Total {
			t.Fatal("a total is not the node's own and its children's", path)
		}
		if n.Self != 0 {
			out[path] = n.Self
		}
	}
	walk(root, "")
	return out
}
