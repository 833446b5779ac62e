package profile

import (
	"reflect"
	"slices"
	"testing"

	"github.com/granarydb/granary/columnstore"
)

// TestUnder compares the samples under each path of a flame graph with its nodes, whose names alone
// count.
func TestUnder(t *testing.T) {
	db := testDB(t, Options{})
	insert(t, db, makeProfile(start, "n:count",
		stack{frames: "leaf f a main", values: []int64{8}},
		stack{frames: "f b main", values: []int64{4}},
		stack{frames: "f g f a main", values: []int64{2}},
		stack{frames: "in +f main", values: []int64{16}},
		stack{frames: "? main", values: []int64{128}},
		stack{frames: "main", values: []int64{-64}},
		stack{frames: "main f", values: []int64{32}}))
	snap := view(t, db)
	graph := func(path ...string) *FlameNode {
		stacks, err := db.Merge(ctx, snap, cpuCount, Query{Under: path})
		if err != nil {
			t.Fatal(err)
		}
		return stacks.FlameGraph(FlameGraphOptions{})
	}
	paths := 0
	var check func(n *FlameNode, path []string)
	check = func(n *FlameNode, path []string) {
		paths++
		got := graph(path...)
		if got.Total != n.Total || sumOfProfile(t, db, snap, path) != n.Total {
			t.Errorf("under %v: %d, as pprof %d, want %d", path, got.Total, sumOfProfile(t, db, snap, path), n.Total)
		}
		for _, name := range path {
			if len(got.Children) != 1 || got.Self != 0 || got.Children[0].Name != name {
				t.Fatalf("under %v: %v has %d children, want %s alone", path, got, len(got.Children), name)
			}
			got = got.Children[0]
		}
		if len(path) > 0 && !reflect.DeepEqual(got, n) {
			t.Errorf("under %v: %v, want %v", path, got, n)
		}
		for _, c := range n.Children {
			check(c, append(slices.Clip(path), c.Name))
		}
	}
	check(graph(), nil)
	if paths != 14 {
		t.Errorf("%d paths", paths)
	}
	for _, path := range [][]string{{"f", "main", "f"}, {"leaf"}, {""}, {"main", "f", "in", "x"}, {"\xff"}} {
		if got := graph(path...); got.Total != 0 || len(got.Children) != 0 {
			t.Errorf("under %q: %v, want none", path, got)
		}
	}
}

func sumOfProfile(t *testing.T, db *DB, snap *columnstore.Snapshot, path []string) (sum int64) {
	t.Helper()
	p, err := db.Profile(ctx, snap, Query{Under: path}, cpuCount)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Sample {
		sum += s.Value[0]
	}
	return sum
}

// TestUnder_Range has the times and the labels of the samples under a path, and no others.
func TestUnder_Range(t *testing.T) {
	const begin = int64(start) - int64(start)%2e9
	db := testDB(t, Options{})
	for i := range int64(4) {
		at := begin + i*1e9
		insert(t, db, makeProfile(at, "n:count",
			stack{frames: "f main", values: []int64{1}, labels: map[string][]string{"thread": {"t0"}}},
			stack{frames: "f g main", values: []int64{10 * (i + 1)}, labels: map[string][]string{"thread": {"t1"}}},
			stack{frames: "g g main", values: []int64{i}, labels: map[string][]string{"thread": {"t1"}}},
			stack{frames: "main g", values: []int64{100}, labels: map[string][]string{"thread": {"t2"}}}))
	}
	got, err := db.Range(ctx, view(t, db), cpuCount, Query{Under: []string{"main", "g"}, From: begin + 1}, RangeOptions{Step: 2e9, By: []string{"thread"}})
	want := []Line{{Labels: []Label{{"thread", "t1"}}, Points: []Point{{begin, 21}, {begin + 2e9, 75}}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}
