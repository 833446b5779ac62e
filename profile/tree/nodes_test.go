package tree_test

import (
	stdcmp "cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
)

// nodesOf returns the tree of one side or two.
func nodesOf(t testing.TB, d tree.Direction, function string, most int, sides ...*profile.Stacks) *tree.Nodes {
	t.Helper()
	c := tree.New(d, function, 0)
	for side, s := range sides {
		if err := c.Add(t.Context(), side, s); err != nil {
			t.Fatal(err)
		}
	}
	return c.Nodes(most)
}

// linesOf returns a side of a tree in preorder, a line for each node.
func linesOf(n *tree.Nodes, side int) (lines []string) {
	for i, depth := range n.Depth {
		f := n.Frames[n.Frame[i]]
		lines = append(lines, fmt.Sprintf("%d %s %s %d/%d", depth, f.Function, f.File, n.Self[side][i], n.Total[side][i]))
	}
	return lines
}

// sums returns the total of each path of a direction, and the value that ends there, stack by stack: the slow oracle.
func sums(d tree.Direction, name string, stacks *profile.Stacks) map[string][2]int64 {
	out := map[string][2]int64{}
	for frames, value := range stacks.All() {
		frames = slices.Clone(frames)
		if d == tree.FromRoot || d == tree.Callees {
			slices.Reverse(frames) // root first
		}
		is := func(f profile.Frame) bool { return f.Function == name }
		switch d {
		case tree.Callees:
			at := slices.IndexFunc(frames, is)
			if at < 0 {
				continue
			}
			frames = frames[at+1:]
		case tree.Callers:
			slices.Reverse(frames)
			at := slices.IndexFunc(frames, is)
			if at < 0 {
				continue
			}
			frames = frames[:at]
			slices.Reverse(frames)
		}
		path := ""
		for i := 0; ; i++ {
			v := out[path]
			v[1] += value
			if i == len(frames) {
				v[0] += value
			}
			if out[path] = v; i == len(frames) {
				break
			}
			path += "\n" + frames[i].Function + "\t" + frames[i].File
		}
	}
	return out
}

// checkNodes compares both sides of a tree with the oracle, and checks what holds of every tree.
func checkNodes(t *testing.T, n *tree.Nodes, want [2]map[string][2]int64, most int) {
	t.Helper()
	var path []string
	all := map[string]bool{}
	left := [2][]int64{slices.Clone(n.Total[0]), slices.Clone(n.Total[1])} // less the children
	var parents []int
	for i, depth := range n.Depth {
		if int(depth) > len(parents) || (depth == 0) != (i == 0) {
			t.Fatalf("node %d is at depth %d, after one at %d", i, depth, len(parents)-1)
		}
		parents = append(parents[:depth], i)
		f := n.Frames[n.Frame[i]]
		path = append(path[:depth], f.Function+"\t"+f.File)
		at := ""
		for _, p := range path[1:] {
			at += "\n" + p
		}
		for side := range 2 {
			if i > 0 {
				left[side][parents[depth-1]] -= n.Total[side][i]
			}
			if v := want[side][at]; n.Frame[i] != tree.Other && (v[0] != n.Self[side][i] || v[1] != n.Total[side][i]) {
				t.Fatalf("%q on side %d: %d/%d, want %v", at, side, n.Self[side][i], n.Total[side][i], v)
			}
		}
		if i > 0 && n.Frame[i] != tree.Other {
			all[at] = true
		}
	}
	for side := range 2 {
		if !slices.Equal(left[side], n.Self[side]) {
			t.Fatal("a total is not the node's own and its children's")
		}
	}
	omitted := map[string]uint64{}
	for side := range 2 {
		for path, v := range want[side] {
			if path != "" && !all[path] {
				omitted[path] += sizeOf(v[1])
			}
		}
	}
	greatest := uint64(0)
	for _, size := range omitted {
		greatest = max(greatest, size)
	}
	if greatest != n.Omitted || (most <= 0) && len(omitted) > 0 || most > 0 && len(all) > most {
		t.Fatalf("%d nodes are kept of at most %d, %d are omitted, the greatest of %d: want %d", len(all), most, len(omitted), n.Omitted, greatest)
	}
}

// sizeOf returns the absolute value of v.
func sizeOf(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// TestNodes_Random compares trees of random stacks, in all directions and cut, with sums over paths.
func TestNodes_Random(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 12 {
		before, after := stacksOf(t, randomSamples(rng, 60)...), stacksOf(t, randomSamples(rng, 60)...)
		for d := tree.FromRoot; d <= tree.Callees; d++ {
			want := [2]map[string][2]int64{sums(d, "f2", before), sums(d, "f2", after)}
			for _, most := range []int{0, 1, 7, 50, 10_000} {
				checkNodes(t, nodesOf(t, d, "f2", most, before, after), want, most)
			}
		}
	}
}

// TestNodes_Groups compares the groups of random trees with sums over paths: of stacks that are in no side too.
func TestNodes_Groups(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 8 {
		side, other := stacksOf(t, randomSamples(rng, 60)...), stacksOf(t, randomSamples(rng, 60)...)
		for d := tree.FromRoot; d <= tree.Callees; d++ {
			for _, most := range []int{0, 1, 7, 50} {
				c := tree.New(d, "f2", 0)
				err := c.Add(t.Context(), 0, side)
				for group, s := range []*profile.Stacks{other, side, other} { // the last one goes to the first too
					err = errors.Join(err, c.AddGroup(t.Context(), group%2, s))
				}
				if err != nil {
					t.Fatal(err)
				}
				n := c.Nodes(most)
				checkGroup(t, n, n.Groups[0], sums(d, "f2", other), 2)
				checkGroup(t, n, n.Groups[1], sums(d, "f2", side), 1)
				if !slices.Equal(n.Groups[1], n.Self[0]) {
					t.Fatalf("a group of the stacks of the side has %v, not %v", n.Groups[1], n.Self[0])
				}
			}
		}
	}
}

// checkGroup compares the totals of a group with the oracle, times a factor.
func checkGroup(t *testing.T, n *tree.Nodes, group []int64, want map[string][2]int64, times int64) {
	t.Helper()
	total, parents, paths := slices.Clone(group), []int{}, make([]string, len(n.Depth))
	parent := make([]int, len(n.Depth))
	for i, depth := range n.Depth {
		if parents = append(parents[:depth], i); i > 0 {
			f := n.Frames[n.Frame[i]]
			parent[i] = parents[depth-1]
			paths[i] = paths[parent[i]] + "\n" + f.Function + "\t" + f.File
		}
	}
	for i := len(total) - 1; i > 0; i-- {
		total[parent[i]] += total[i]
	}
	for i, path := range paths {
		if n.Frame[i] != tree.Other && total[i] != times*want[path][1] {
			t.Fatalf("%q has %d of the group, want %d", path, total[i], times*want[path][1])
		}
	}
}

// TestNodes_GroupLast has a side after a group panic.
func TestNodes_GroupLast(t *testing.T) {
	c := tree.New(tree.FromRoot, "", 0)
	if err := c.AddGroup(t.Context(), 0, stacksOf(t)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a side was added after a group")
		}
	}()
	_ = c.Add(t.Context(), 0, stacksOf(t))
}

// plainNode is a node of plainTree.
type plainNode struct {
	frame       profile.Frame
	self, total int64
	parent      *plainNode
	children    []*plainNode
	hash        uint64 // of the path
	kept        bool
}

// plainTree makes a tree of at most some functions from a pointer a node: the slow oracle of order and of what is kept.
func plainTree(d tree.Direction, name string, most int, stacks *profile.Stacks) *plainNode {
	root := &plainNode{frame: profile.Frame{Function: "root"}, kept: true}
	if d == tree.Callers || d == tree.Callees {
		root.frame.Function = name
	}
	var all []*plainNode
	for frames, value := range stacks.All() {
		frames = slices.Clone(frames)
		slices.Reverse(frames)
		at := slices.IndexFunc(frames, func(f profile.Frame) bool { return f.Function == name })
		switch {
		case d == tree.FromRoot:
		case at < 0:
			continue
		case d == tree.Callers:
			frames = frames[:at]
			slices.Reverse(frames)
		default:
			frames = frames[at+1:]
		}
		n := root
		n.total += value
		for _, f := range frames {
			i := slices.IndexFunc(n.children, func(c *plainNode) bool { return c.frame.Function == f.Function && c.frame.File == f.File })
			if i < 0 {
				i = len(n.children)
				n.children = append(n.children, &plainNode{frame: f, parent: n, hash: tree.PathHash(n.hash, f)})
				all = append(all, n.children[i])
			}
			n = n.children[i]
			n.total += value
		}
		n.self += value
	}
	size := func(n *plainNode) int64 { return max(n.total, -n.total) }
	slices.SortFunc(all, func(a, b *plainNode) int {
		return stdcmp.Or(stdcmp.Compare(size(b), size(a)), stdcmp.Compare(a.hash, b.hash))
	})
	left := most
	for _, n := range all {
		var missing []*plainNode
		for at := n; !at.kept; at = at.parent {
			missing = append(missing, at)
		}
		if most > 0 && len(missing) > left {
			continue
		}
		left -= len(missing)
		for _, m := range missing {
			m.kept = true
		}
	}
	return root
}

// graph returns the tree as package render draws it, and a line for each node in preorder.
func (n *plainNode) graph(depth int, lines []string) (*profile.FlameNode, []string) {
	out := &profile.FlameNode{Name: n.frame.Function, File: n.frame.File, Self: n.self, Total: n.total}
	lines = append(lines, fmt.Sprintf("%d %s %s %d/%d", depth, out.Name, out.File, out.Self, out.Total))
	others, rest := 0, int64(0)
	for _, c := range n.children {
		if !c.kept {
			others, rest = others+1, rest+c.total
			continue
		}
		var child *profile.FlameNode
		child, lines = c.graph(depth+1, lines)
		out.Children = append(out.Children, child)
	}
	if others > 0 {
		out.Children = append(out.Children, &profile.FlameNode{Name: "other", Self: rest, Total: rest})
		lines = append(lines, fmt.Sprintf("%d other  %d/%d", depth+1, rest, rest))
	}
	return out, lines
}

// TestNodes_FlameGraph compares trees, in their order, with slow ones, and with the views of package profile.
func TestNodes_FlameGraph(t *testing.T) {
	effort.Slow(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for name, s := range map[string]*profile.Stacks{
		"random": stacksOf(t, randomSamples(rng, 300)...), "none": {}, "etcd": realStacks(t, "etcd", "cpu"), "compile": realStacks(t, "compile", "cpu"),
	} {
		for _, most := range []int{0, 1, 2, 30, 1000} {
			want, lines := plainTree(tree.FromRoot, "", most, s).graph(0, nil)
			got := nodesOf(t, tree.FromRoot, "", most, s)
			if diff := cmp.Diff(lines, linesOf(got, 0)); diff != "" {
				t.Fatalf("%s, %d nodes: -want +got\n%s", name, most, diff)
			}
			for _, graph := range []*profile.FlameNode{got.FlameGraph(0), s.FlameGraph(profile.FlameGraphOptions{MaxNodes: most})} {
				if !reflect.DeepEqual(want, graph) {
					t.Fatalf("%s, %d nodes: another flame graph", name, most)
				}
			}
			if slices.ContainsFunc(got.Self[1], func(v int64) bool { return v != 0 }) {
				t.Fatalf("%s: another side has values", name)
			}
		}
		for _, f := range s.Top()[:min(len(s.Top()), effort.Less(20, 10))] {
			want := s.Sandwich(f.Name)
			for d, root := range map[tree.Direction]*profile.FlameNode{tree.Callers: want.Above, tree.Callees: want.Below} {
				want, lines := plainTree(d, f.Name, 0, s).graph(0, nil)
				if diff := cmp.Diff(lines, linesOf(nodesOf(t, d, f.Name, 0, s), 0)); diff != "" || !reflect.DeepEqual(want, root) {
					t.Fatalf("%s, %s of %s: -want +got\n%s", name, []string{"", "", "callers", "callees"}[d], f.Name, diff)
				}
			}
		}
	}
}

// TestNodes_Frames is about the lines and binaries of functions, whatever the order of stacks.
func TestNodes_Frames(t *testing.T) {
	f := func(line int64, file, binary string) profile.Frame {
		return profile.Frame{Function: "f", File: file, Line: line, Mapping: binary}
	}
	samples := []sample{{[]profile.Frame{f(7, "a.go", "/bin/b")}, 1}, {[]profile.Frame{f(3, "a.go", "/bin/c")}, 1}, {[]profile.Frame{f(0, "a.go", "")}, 1}, {[]profile.Frame{f(2, "b.go", "/bin/a")}, 1}}
	want := []profile.Frame{{Function: "root"}, {Function: "other"}, {Function: "f", File: "a.go", Line: 3, Mapping: "/bin/b"}, {Function: "f", File: "b.go", Line: 2, Mapping: "/bin/a"}}
	for range 2 {
		slices.Reverse(samples)
		s := stacksOf(t, samples...)
		got := nodesOf(t, tree.FromRoot, "", 0, s).Frames
		slices.SortFunc(got[2:], func(a, b profile.Frame) int { return int(b.Line - a.Line) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		costs, err := tree.Top(t.Context(), 0, s)
		if diff := cmp.Diff([]tree.Cost{{want[2], [2]int64{4}, [2]int64{4}}}, costs); diff != "" || err != nil {
			t.Errorf("%v: -want +got\n%s", err, diff)
		}
	}
}

// costsOf adds the costs of functions on a side, counted stack by stack.
func costsOf(costs map[string]tree.Cost, side int, s *profile.Stacks) {
	for frames, value := range s.All() {
		seen := map[string]bool{}
		for i, f := range frames {
			c := costs[f.Function]
			if i == 0 {
				c.Flat[side] += value
			}
			if !seen[f.Function] {
				seen[f.Function] = true
				c.Cum[side] += value
			}
			costs[f.Function] = c
		}
	}
}

// TestTop compares functions of one side and of two with sums of their stacks.
func TestTop(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, pair := range [][2]*profile.Stacks{
		{stacksOf(t, randomSamples(rng, 90)...), stacksOf(t, randomSamples(rng, 90)...)},
		{{Type: countType}, stacksOf(t, randomSamples(rng, 90)...)},
		{realStacks(t, "etcd", "cpu"), realStacks(t, "compile", "cpu")},
		{stacksOf(t, sample{[]profile.Frame{{Function: "a"}}, math.MinInt64}), stacksOf(t, sample{[]profile.Frame{{Function: "a"}}, math.MaxInt64})},
	} {
		for _, sides := range [][]*profile.Stacks{{pair[1]}, pair[:]} {
			want := map[string]tree.Cost{}
			for side, s := range sides {
				costsOf(want, side, s)
			}
			size := func(v [2]int64) uint64 { // of the value, or of the change
				if len(sides) == 2 {
					v[0] = v[1] - v[0]
				}
				return sizeOf(v[0])
			}
			got, err := tree.Top(t.Context(), 0, sides...)
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range got {
				if w := want[c.Function]; w.Flat != c.Flat || w.Cum != c.Cum {
					t.Errorf("%s costs %v and %v, want %v and %v", c.Function, c.Flat, c.Cum, w.Flat, w.Cum)
				}
				delete(want, c.Function)
				if i == 0 {
					continue
				}
				before := got[i-1]
				if stdcmp.Or(stdcmp.Compare(size(c.Flat), size(before.Flat)), stdcmp.Compare(size(c.Cum), size(before.Cum)), stdcmp.Compare(before.Function, c.Function)) >= 0 {
					t.Errorf("%v comes after %v", c, before)
				}
			}
			for name, w := range want {
				if len(sides) == 1 || w.Flat[0] != w.Flat[1] || w.Cum[0] != w.Cum[1] {
					t.Errorf("%s is missing: %v", name, w)
				}
			}
		}
	}
}

// TestClasses has sizes in the order of their classes: the largest of each are not less than those of the class before.
func TestClasses(t *testing.T) {
	last, sizes := -1, []uint64{0, 1}
	for n := 1; n < 64; n++ {
		for k := range uint64(200) {
			sizes = append(sizes, 1<<n+k<<max(0, n-8), 1<<n-1-min(k, 1<<n-1))
		}
	}
	sizes = append(sizes, math.MaxUint64-1, math.MaxUint64)
	slices.Sort(sizes)
	for _, size := range sizes {
		class := tree.ClassOf(size)
		if class < last || class > last+1 && size < 1<<tree.ClassBits {
			t.Fatalf("%d is of class %d, and a lesser one of %d", size, class, last)
		}
		last = class
	}
	if first := tree.ClassOf(1 << 63); last-first != 1<<tree.ClassBits-1 {
		t.Errorf("the largest sizes are of %d to %d", first, last)
	}
}

// TestLargest compares cut trees, whose small nodes have no children, with trees that are cut when all nodes are there: with a value
// below 0, no node is left out.
func TestLargest(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 3))
		sides := make([]*profile.Stacks, 1+seed%2)
		var known []profile.Frame // a stack of side 0
		for side := range sides {
			samples := randomSamples(rng, 300)
			if side == 0 {
				known = samples[0].frames
			}
			for i := range samples {
				samples[i].value = 1 + rng.Int64N(1<<rng.Int64N(12))
			}
			sides[side] = stacksOf(t, samples...)
		}
		for d := tree.FromRoot; d <= tree.Callees; d++ {
			for _, most := range []int{1, 2, 20, 150} {
				whole := tree.New(d, "f1", 0)
				for side, s := range sides {
					if err := whole.Add(t.Context(), side, s); err != nil {
						t.Fatal(err)
					}
				}
				for _, value := range []int64{-1, 1} {
					if err := whole.Add(t.Context(), 0, stacksOf(t, sample{known, value})); err != nil {
						t.Fatal(err)
					}
				}
				want, got := whole.Nodes(most), nodesOf(t, d, "f1", most, sides...)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("seed %d, direction %d, %d nodes: -want +got\n%s", seed, d, most, diff)
				}
			}
		}
	}
}

// TestNodes_AnyOrder (R9) cuts trees with many equal nodes, from stacks in two orders.
func TestNodes_AnyOrder(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 8))
		samples := randomSamples(rng, 1+rng.IntN(60))
		for i := range samples {
			samples[i].value = 1 + rng.Int64N(2)
		}
		first := stacksOf(t, samples...)
		rng.Shuffle(len(samples), func(i, j int) { samples[i], samples[j] = samples[j], samples[i] })
		second := stacksOf(t, samples...)
		for _, d := range []tree.Direction{tree.FromRoot, tree.FromLeaf} {
			most := 1 + rng.IntN(80)
			if a, b := pathsOf(nodesOf(t, d, "", most, first)), pathsOf(nodesOf(t, d, "", most, second)); !slices.Equal(a, b) {
				t.Fatalf("seed %d: of %d, the two orders keep\n%s", seed, most, cmp.Diff(a, b))
			}
		}
	}
}

// pathsOf returns the paths of a tree with their values, sorted.
func pathsOf(n *tree.Nodes) (all []string) {
	var path []string
	for i, depth := range n.Depth {
		f := n.Frames[n.Frame[i]]
		path = append(path[:depth], f.Function+" "+f.File)
		all = append(all, fmt.Sprintf("%q %d/%d", path, n.Self[0][i], n.Total[0][i]))
	}
	slices.Sort(all)
	return all
}

// TestCalls_DropNegatives has the values of both sides at least 0 in each node, and totals of them.
func TestCalls_DropNegatives(t *testing.T) {
	f := func(names ...string) (frames []profile.Frame) {
		for _, n := range slices.Backward(names) {
			frames = append(frames, profile.Frame{Function: n, File: "x.go"})
		}
		return frames
	}
	before := stacksOf(t, sample{f("freed"), -10}, sample{f("freed", "kept"), 4}, sample{f("least"), math.MinInt64})
	after := stacksOf(t, sample{f("freed"), 3}, sample{f("more"), -2})
	c := tree.New(tree.FromRoot, "", 0)
	if err := errors.Join(c.Add(t.Context(), 0, before), c.Add(t.Context(), 1, after)); err != nil {
		t.Fatal(err)
	}
	c.DropNegatives()
	n := c.Nodes(0)
	if want := []string{"0 root  0/4", "1 freed x.go 0/4", "2 kept x.go 4/4", "1 least x.go 0/0", "1 more x.go 0/0"}; !slices.Equal(linesOf(n, 0), want) {
		t.Errorf("before: %q, want %q", linesOf(n, 0), want)
	}
	if want := []string{"0 root  0/3", "1 freed x.go 3/3", "2 kept x.go 0/0", "1 least x.go 0/0", "1 more x.go 0/0"}; !slices.Equal(linesOf(n, 1), want) {
		t.Errorf("after: %q, want %q", linesOf(n, 1), want)
	}
}

// TestAccount compares the account of a tree with the heap that it takes, its columns included (R7).
func TestAccount(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	var samples []sample
	for range 4000 {
		var frames []profile.Frame
		for range 30 {
			frames = append(frames, profile.Frame{Function: fmt.Sprint("f", rng.IntN(500)), File: "x.go"})
		}
		samples = append(samples, sample{frames, 1 + int64(rng.IntN(9))})
	}
	s := stacksOf(t, samples...)
	heap := func() int64 {
		runtime.GC() // the second empties the pools
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	c := tree.New(tree.FromRoot, "", 0)
	if err := c.Add(t.Context(), 0, s); err != nil {
		t.Fatal(err)
	}
	out := c.Nodes(0)
	took := heap() - before
	t.Logf("%d nodes take %d bytes, and are counted as %d", c.Count(), took, c.Bytes())
	if c.Count() < 100_000 || took > c.Bytes() || took < c.Bytes()/4 {
		t.Errorf("%d nodes take %d bytes, and are counted as %d", c.Count(), took, c.Bytes())
	}
	runtime.KeepAlive(out)
	runtime.KeepAlive(s) // else the tree seems to take less, by what goes meanwhile
}

// TestBounds makes trees and tables beyond their memory and their time.
func TestBounds(t *testing.T) {
	s := stacksOf(t, randomSamples(rand.New(rand.NewPCG(9, 9)), 2000)...)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for d := tree.FromRoot; d <= tree.Callees; d++ {
		c := tree.New(d, "f1", tree.StackBytes*int64(s.Len())+tree.FrameBytes)
		if err := c.Add(t.Context(), 0, s); !errors.Is(err, columnstore.ErrQueryMemory) || c.Count() > 8 { // the root, and a stack
			t.Errorf("direction %d: %v, %d nodes", d, err, c.Count())
		}
		if err := tree.New(d, "f1", 0).Add(over, 0, s); !errors.Is(err, context.Canceled) {
			t.Errorf("direction %d: %v", d, err)
		}
	}
	if _, err := tree.Top(t.Context(), tree.StackBytes*int64(s.Len())+tree.FrameBytes, s); !errors.Is(err, columnstore.ErrQueryMemory) {
		t.Error(err)
	}
	if _, err := tree.Top(over, 0, s); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestShrink makes trees in less memory than the nodes of all paths need, because paths come more than once.
func TestShrink(t *testing.T) {
	s, other := stacksOf(t, randomSamples(rand.New(rand.NewPCG(10, 9)), 2000)...), stacksOf(t, randomSamples(rand.New(rand.NewPCG(11, 9)), 2000)...)
	for d := tree.FromRoot; d <= tree.FromLeaf; d++ {
		made := func(most int64) (*tree.Calls, error) {
			c := tree.New(d, "", most)
			for range 4 {
				if err := errors.Join(c.Add(t.Context(), 0, s), c.Add(t.Context(), 1, other)); err != nil {
					return nil, err
				}
			}
			return c, c.AddGroup(t.Context(), 0, other)
		}
		free, err := made(0)
		if err != nil {
			t.Fatal(err)
		}
		tight, err := made(free.Bytes() / 5 * 3)
		if err != nil {
			t.Fatalf("direction %d, of %d bytes: %v", d, free.Bytes(), err)
		}
		if tight.Bytes() >= free.Bytes() {
			t.Errorf("direction %d: %d bytes, without a bound %d", d, tight.Bytes(), free.Bytes())
		}
		if diff := cmp.Diff(free.Nodes(0), tight.Nodes(0)); diff != "" {
			t.Fatalf("direction %d: -free +tight\n%s", d, diff)
		}
	}
}

// TestNodes_Large compares large trees with sums over paths.
func TestNodes_Large(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 9))
	sides := [2]*profile.Stacks{}
	for side := range sides {
		var samples []sample
		for range 1600 {
			var frames []profile.Frame
			for depth := range 24 {
				frames = append(frames, profile.Frame{Function: fmt.Sprint("f", rng.IntN(4+4*(24-depth))), File: "x.go"})
			}
			frames = append(frames, profile.Frame{Function: "main", File: "x.go"})
			samples = append(samples, sample{frames, 1 + rng.Int64N(1000)})
		}
		sides[side] = stacksOf(t, samples...)
	}
	want := [2]map[string][2]int64{sums(tree.FromRoot, "", sides[0]), sums(tree.FromRoot, "", sides[1])}
	for _, most := range []int{0, 100, 5000} {
		checkNodes(t, nodesOf(t, tree.FromRoot, "", most, sides[:]...), want, most)
	}
}

// TestNodes_Deep makes trees that are deeper than the stack of a goroutine allows to recurse, also from merged paths.
func TestNodes_Deep(t *testing.T) {
	var frames []profile.Frame
	for i := range 16_000 {
		frames = append(frames, profile.Frame{Function: fmt.Sprint("f", i), File: "x.go"})
	}
	s := stacksOf(t, sample{frames, 1}, sample{frames[1:], 2})
	c := tree.New(tree.FromLeaf, "", 0)
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	for range 2 {
		if err := c.Add(t.Context(), 0, s); err != nil {
			t.Fatal(err)
		}
		c.Shrink()
	}
	if n := c.Nodes(0); len(n.Depth) != 32_000 || n.Total[0][0] != 6 || slices.Max(n.Depth) != 16_000 {
		t.Errorf("%d nodes of %d", len(n.Depth), n.Total[0][0])
	}
}

// TestSides adds up totals of both sides that have no place in an int64.
func TestSides(t *testing.T) {
	before := stacksOf(t, sample{[]profile.Frame{{Function: "a"}}, math.MinInt64}, sample{[]profile.Frame{{Function: "b"}}, math.MaxInt64})
	n := nodesOf(t, tree.FromRoot, "", 1, before, before)
	if want := []string{"0 root  0/-1", fmt.Sprintf("1 a  %d/%d", math.MinInt64, math.MinInt64), fmt.Sprintf("1 other  %d/%d", math.MaxInt64, math.MaxInt64)}; !slices.Equal(linesOf(n, 0), want) || !slices.Equal(linesOf(n, 1), want) {
		t.Errorf("%q and %q", linesOf(n, 0), linesOf(n, 1))
	}
}
