package tree

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// nodesOf returns the tree of one side or two.
func nodesOf(t testing.TB, d Direction, function string, most int, sides ...*profile.Stacks) *Nodes {
	t.Helper()
	c := New(d, function, 0)
	for side, s := range sides {
		if err := c.Add(t.Context(), side, s); err != nil {
			t.Fatal(err)
		}
	}
	return c.Nodes(most)
}

// flat returns a tree of package profile in preorder, a line for each node.
func flat(root *profile.FlameNode) (lines []string) {
	var walk func(n *profile.FlameNode, depth int)
	walk = func(n *profile.FlameNode, depth int) {
		lines = append(lines, fmt.Sprintf("%d %s %s %d/%d", depth, n.Name, n.File, n.Self, n.Total))
		for _, c := range n.Children {
			walk(c, depth+1)
		}
	}
	walk(root, 0)
	return lines
}

// lines returns a side of a tree as flat does.
func (n *Nodes) lines(side int) (lines []string) {
	for i, depth := range n.Depth {
		f := n.Frames[n.Frame[i]]
		lines = append(lines, fmt.Sprintf("%d %s %s %d/%d", depth, f.Function, f.File, n.Self[side][i], n.Total[side][i]))
	}
	return lines
}

// sums returns the total of each path of a direction, and the value that ends there, stack by stack: the slow oracle.
func sums(d Direction, name string, stacks *profile.Stacks) map[string][2]int64 {
	out := map[string][2]int64{}
	for frames, value := range stacks.All() {
		frames = slices.Clone(frames)
		if d == FromRoot || d == Callees {
			slices.Reverse(frames) // root first
		}
		is := func(f profile.Frame) bool { return f.Function == name }
		switch d {
		case Callees:
			at := slices.IndexFunc(frames, is)
			if at < 0 {
				continue
			}
			frames = frames[at+1:]
		case Callers:
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
func checkNodes(t *testing.T, n *Nodes, want [2]map[string][2]int64, most int) {
	t.Helper()
	var path []string
	kept, hidden, all := 0, map[int]int{}, map[string]bool{}
	for _, o := range n.Others {
		hidden[o.At] = o.Nodes
	}
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
			if v := want[side][at]; hidden[i] == 0 && (v[0] != n.Self[side][i] || v[1] != n.Total[side][i]) {
				t.Fatalf("%q on side %d: %d/%d, want %v", at, side, n.Self[side][i], n.Total[side][i], v)
			}
		}
		switch {
		case (hidden[i] > 0) != (n.Frame[i] == otherFrame):
			t.Fatalf("%q stands for %d nodes", at, hidden[i])
		case i > 0 && hidden[i] == 0:
			kept++
			all[at] = true
		}
	}
	for side := range 2 {
		if !slices.Equal(left[side], n.Self[side]) {
			t.Fatal("a total is not the node's own and its children's")
		}
	}
	paths := map[string]bool{}
	for side := range 2 {
		for p := range want[side] {
			paths[p] = true
		}
	}
	for _, m := range hidden {
		kept += m
	}
	if delete(paths, ""); n.All != len(paths) || kept != n.All || most > 0 && len(all) > most {
		t.Fatalf("%d nodes, %d of them others or kept, %d kept of at most %d: want %d", n.All, kept, len(all), most, len(paths))
	}
}

// TestNodes_Random compares trees of random stacks, in all directions and cut, with sums over paths.
func TestNodes_Random(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 12 {
		before, after := stacksOf(t, randomSamples(rng, 60)...), stacksOf(t, randomSamples(rng, 60)...)
		for d := FromRoot; d <= Callees; d++ {
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
		for d := FromRoot; d <= Callees; d++ {
			for _, most := range []int{0, 1, 7, 50} {
				c := New(d, "f2", 0)
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
func checkGroup(t *testing.T, n *Nodes, group []int64, want map[string][2]int64, times int64) {
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
		if n.Frame[i] != otherFrame && total[i] != times*want[path][1] {
			t.Fatalf("%q has %d of the group, want %d", path, total[i], times*want[path][1])
		}
	}
}

// TestNodes_GroupLast has a side after a group panic.
func TestNodes_GroupLast(t *testing.T) {
	c := New(FromRoot, "", 0)
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

// TestNodes_FlameGraph compares trees, in their order, with those of package profile.
func TestNodes_FlameGraph(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for name, s := range map[string]*profile.Stacks{
		"random": stacksOf(t, randomSamples(rng, 300)...), "none": {}, "etcd": realStacks(t, "etcd", "cpu"), "compile": realStacks(t, "compile", "cpu"),
	} {
		for _, most := range []int{0, 1, 2, 30, 1000} {
			want, got := flat(s.FlameGraph(profile.FlameGraphOptions{MaxNodes: most})), nodesOf(t, FromRoot, "", most, s)
			if diff := cmp.Diff(want, got.lines(0)); diff != "" {
				t.Fatalf("%s, %d nodes: -want +got\n%s", name, most, diff)
			}
			if !reflect.DeepEqual(s.FlameGraph(profile.FlameGraphOptions{MaxNodes: most}), got.FlameGraph(0)) {
				t.Fatalf("%s, %d nodes: another flame graph", name, most)
			}
			if slices.ContainsFunc(got.Self[1], func(v int64) bool { return v != 0 }) {
				t.Fatalf("%s: another side has values", name)
			}
		}
		for _, f := range s.Top()[:min(len(s.Top()), 20)] {
			want := s.Sandwich(f.Name)
			for d, root := range map[Direction]*profile.FlameNode{Callers: want.Above, Callees: want.Below} {
				if diff := cmp.Diff(flat(root), nodesOf(t, d, f.Name, 0, s).lines(0)); diff != "" {
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
		got := nodesOf(t, FromRoot, "", 0, s).Frames
		slices.SortFunc(got[2:], func(a, b profile.Frame) int { return int(b.Line - a.Line) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		costs, err := Top(t.Context(), 0, s)
		if diff := cmp.Diff([]Cost{{want[2], [2]int64{4}, [2]int64{4}}}, costs); diff != "" || err != nil {
			t.Errorf("%v: -want +got\n%s", err, diff)
		}
	}
}

// TestTop compares functions of one side and of two with those of package profile.
func TestTop(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, pair := range [][2]*profile.Stacks{
		{stacksOf(t, randomSamples(rng, 90)...), stacksOf(t, randomSamples(rng, 90)...)},
		{{Type: countType}, stacksOf(t, randomSamples(rng, 90)...)},
		{realStacks(t, "etcd", "cpu"), realStacks(t, "compile", "cpu")},
		{stacksOf(t, sample{[]profile.Frame{{Function: "a"}}, math.MinInt64}), stacksOf(t, sample{[]profile.Frame{{Function: "a"}}, math.MaxInt64})},
	} {
		one, err := Top(t.Context(), 0, pair[1])
		if err != nil {
			t.Fatal(err)
		}
		var got []profile.Function
		for _, c := range one {
			got = append(got, profile.Function{Name: c.Function, Flat: c.Flat[0], Cum: c.Cum[0]})
		}
		if diff := cmp.Diff(pair[1].Top(), got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		both, err := Top(t.Context(), 0, pair[0], pair[1])
		if err != nil {
			t.Fatal(err)
		}
		var changes []profile.FunctionChange
		for _, c := range both {
			changes = append(changes, profile.FunctionChange{
				Function: profile.Function{Name: c.Function, Flat: c.Flat[1] - c.Flat[0], Cum: c.Cum[1] - c.Cum[0]},
				Before:   profile.FunctionCost{Flat: c.Flat[0], Cum: c.Cum[0]}, After: profile.FunctionCost{Flat: c.Flat[1], Cum: c.Cum[1]},
			})
		}
		want, err := profile.DiffTop(pair[0], pair[1])
		if diff := cmp.Diff(want, changes); diff != "" || err != nil {
			t.Errorf("%v: -want +got\n%s", err, diff)
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
		class := classOf(size)
		if class < last || class > last+1 && size < 1<<classBits {
			t.Fatalf("%d is of class %d, and a lesser one of %d", size, class, last)
		}
		last = class
	}
	if first := classOf(1 << 63); last-first != 1<<classBits-1 {
		t.Errorf("the largest sizes are of %d to %d", first, last)
	}
}

// TestLargest keeps the nodes that a sort of all of them would.
func TestLargest(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 3))
		c := New(FromRoot, "", 0)
		if err := c.Add(t.Context(), 0, stacksOf(t, randomSamples(rng, 300)...)); err != nil {
			t.Fatal(err)
		}
		total := c.sum()
		compare := func(a, b int32) int { return cmp2(&total, a, b) }
		for _, most := range []int{1, 20, 1 << 20} {
			var sorted []int32
			for some := range c.bySize(&total, most) {
				slices.SortFunc(some, compare)
				sorted = append(sorted, some...)
			}
			if len(sorted) != int(c.nodes.count)-1 || !slices.IsSortedFunc(sorted, compare) {
				t.Fatalf("seed %d: %d of %d nodes are not in order", seed, len(sorted), c.nodes.count-1)
			}
		}
	}
}

// cmp2 compares two nodes by falling size, then by number.
func cmp2(t *totals, a, b int32) int {
	if x, y := sizeOf(t.of(a)), sizeOf(t.of(b)); x != y {
		if x > y {
			return -1
		}
		return 1
	}
	return int(a - b)
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
	c := New(FromRoot, "", 0)
	if err := c.Add(t.Context(), 0, s); err != nil {
		t.Fatal(err)
	}
	out := c.Nodes(0)
	took := heap() - before
	t.Logf("%d nodes take %d bytes, and are counted as %d", c.nodes.count, took, c.bytes)
	if c.nodes.count < 100_000 || took > c.bytes || took < c.bytes/4 {
		t.Errorf("%d nodes take %d bytes, and are counted as %d", c.nodes.count, took, c.bytes)
	}
	runtime.KeepAlive(out)
	runtime.KeepAlive(s) // else the tree seems to take less, by what goes meanwhile
}

// TestBounds makes trees and tables beyond their memory and their time.
func TestBounds(t *testing.T) {
	s := stacksOf(t, randomSamples(rand.New(rand.NewPCG(9, 9)), 2000)...)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for d := FromRoot; d <= Callees; d++ {
		c := New(d, "f1", stackBytes*int64(s.Len())+frameBytes)
		if err := c.Add(t.Context(), 0, s); !errors.Is(err, columnstore.ErrQueryMemory) || c.nodes.count > 3 {
			t.Errorf("direction %d: %v, %d nodes", d, err, c.nodes.count)
		}
		if err := New(d, "f1", 0).Add(over, 0, s); !errors.Is(err, context.Canceled) {
			t.Errorf("direction %d: %v", d, err)
		}
	}
	if _, err := Top(t.Context(), stackBytes*int64(s.Len())+frameBytes, s); !errors.Is(err, columnstore.ErrQueryMemory) {
		t.Error(err)
	}
	if _, err := Top(over, 0, s); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestSides adds up totals of both sides that have no place in an int64.
func TestSides(t *testing.T) {
	before := stacksOf(t, sample{[]profile.Frame{{Function: "a"}}, math.MinInt64}, sample{[]profile.Frame{{Function: "b"}}, math.MaxInt64})
	n := nodesOf(t, FromRoot, "", 1, before, before)
	if want := []string{"0 root  0/-1", fmt.Sprintf("1 a  %d/%d", math.MinInt64, math.MinInt64), fmt.Sprintf("1 other  %d/%d", math.MaxInt64, math.MaxInt64)}; !slices.Equal(n.lines(0), want) || !slices.Equal(n.lines(1), want) {
		t.Errorf("%q and %q", n.lines(0), n.lines(1))
	}
}
