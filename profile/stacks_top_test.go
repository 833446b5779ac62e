package profile

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"
)

// merged inserts a profile and returns the sum of its first type.
func merged(t *testing.T, p *pprof.Profile) *Stacks {
	t.Helper()
	db := testDB(t, Options{})
	insert(t, db, p)
	stacks, err := db.Merge(ctx, view(t, db), typeListOf(p).Types[0], Query{})
	if err != nil {
		t.Fatal(err)
	}
	return stacks
}

func TestTop(t *testing.T) {
	for _, tc := range []struct {
		name   string
		stacks []stack
		want   []Function
	}{
		{"nothing", nil, nil},
		{
			"callers",
			[]stack{{frames: "c b a", values: []int64{3}}, {frames: "b a", values: []int64{2}}, {frames: "a", values: []int64{1}}},
			[]Function{{"c", 3, 3}, {"b", 2, 5}, {"a", 1, 6}},
		},
		{
			"a function that recurs counts once",
			[]stack{{frames: "f f f main", values: []int64{4}}, {frames: "g f g f main", values: []int64{1}}},
			[]Function{{"f", 4, 5}, {"g", 1, 1}, {"main", 0, 5}},
		},
		{
			"inlined frames are frames",
			[]stack{{frames: "in +mid out main", values: []int64{4}}},
			[]Function{{"in", 4, 4}, {"main", 0, 4}, {"mid", 0, 4}, {"out", 0, 4}},
		},
		{
			"unnamed functions are their binary",
			[]stack{{frames: "? main", values: []int64{2}}, {frames: "?? ? main", values: []int64{1}}},
			[]Function{{"[app]", 3, 3}, {"main", 0, 3}},
		},
		{
			"by size, then by name",
			[]stack{{frames: "b", values: []int64{2}}, {frames: "a", values: []int64{2}}, {frames: "c", values: []int64{-3}}, {frames: "d a", values: []int64{1}}},
			[]Function{{"c", -3, -3}, {"a", 2, 3}, {"b", 2, 2}, {"d", 1, 1}},
		},
		{
			"the least int64",
			[]stack{{frames: "a", values: []int64{math.MinInt64}}, {frames: "b", values: []int64{math.MaxInt64}}},
			[]Function{{"a", math.MinInt64, math.MinInt64}, {"b", math.MaxInt64, math.MaxInt64}},
		},
		{"stacks that cancel out", []stack{{frames: "a", values: []int64{1}}, {frames: "a", values: []int64{-1}, labels: map[string][]string{"k": {"v"}}}}, nil},
		{"no frames", []stack{{frames: "", values: []int64{5}}, {frames: "a", values: []int64{1}}}, []Function{{"a", 1, 1}}},
	} {
		if diff := cmp.Diff(tc.want, merged(t, makeProfile(start, "n:count", tc.stacks...)).Top()); diff != "" {
			t.Errorf("%s: -want +got\n%s", tc.name, diff)
		}
	}
}

// Each returns frames leaf first, marks inlined ones, and gives a name to functions without
// one.
func TestEach(t *testing.T) {
	p := makeProfile(start, "n:count", stack{frames: "in +out main", values: []int64{4}})
	p.Location = append(p.Location, &pprof.Location{ID: 9, Address: 0x77})
	p.Sample[0].Location = append(p.Sample[0].Location, p.Location[2])
	s := merged(t, p)
	var got []string
	for frames, value := range s.All() {
		got = append(got, fmt.Sprint(frames, value))
	}
	want := []string{"[{in in.go 1 true /usr/bin/app} {out out.go 2 false /usr/bin/app} {main main.go 1 false /usr/bin/app} {<unknown>  0 false }] 4"}
	if diff := cmp.Diff(want, got); diff != "" || s.Len() != 1 {
		t.Error(diff)
	}
}

// Without recursion a function's cost is that of its nodes in the flame graph. Functions with one name in
// two files are two nodes.
func TestFlameGraph(t *testing.T) {
	p := makeProfile(start, "n:count",
		stack{frames: "c b a", values: []int64{3}}, stack{frames: "d +b a", values: []int64{2}},
		stack{frames: "b a", values: []int64{7}}, stack{frames: "b z", values: []int64{-1}}, stack{frames: "?", values: []int64{1}})
	p.Function[3].Name = "c" // function c exists in c.go and in d.go
	s := merged(t, p)
	checkFlameGraph(t, s)
	var lines []string
	got := map[string]Function{}
	var walk func(n *FlameNode, depth int)
	walk = func(n *FlameNode, depth int) {
		lines = append(lines, fmt.Sprintf("%s%s %s %d/%d", strings.Repeat("  ", depth), n.Name, n.File, n.Self, n.Total))
		if depth > 0 {
			f := got[n.Name]
			got[n.Name] = Function{n.Name, f.Flat + n.Self, f.Cum + n.Total}
		}
		for _, c := range n.Children {
			walk(c, depth+1)
		}
	}
	walk(s.FlameGraph(FlameGraphOptions{}), 0)
	want := []string{
		"root  0/12",
		"  a a.go 0/12",
		"    b b.go 7/12",
		"      c c.go 3/3",
		"      c d.go 2/2",
		"  z z.go 0/-1",
		"    b b.go -1/-1",
		"  [app] ?.go 1/1",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, f := range s.Top() {
		if got[f.Name] != f {
			t.Errorf("in the graph %v, in the list %v", got[f.Name], f)
		}
	}
	// With recursion a path has one node for each call.
	root := merged(t, makeProfile(start, "n:count", stack{frames: "f f f", values: []int64{2}})).FlameGraph(FlameGraphOptions{})
	depth := 0
	for n := root; len(n.Children) > 0; n = n.Children[0] {
		depth++
	}
	if depth != 3 {
		t.Errorf("%d nodes deep, want 3", depth)
	}
	if root := merged(t, makeProfile(start, "n:count")).FlameGraph(FlameGraphOptions{}); root.Total != 0 || len(root.Children) != 0 {
		t.Errorf("without samples: %+v", root)
	}
}
