package querier

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/flametest"
)

// randomTree returns a tree of random stacks on both sides, and the flametest.Widths of each path as sums stack by
// stack.
func randomTree(rng *rand.Rand, sides int) (*flameTree, map[string]flametest.Widths) {
	tree, want := newFlameTree(1<<30), map[string]flametest.Widths{rootName: {}}
	for range rng.IntN(60) {
		side, value := rng.IntN(sides), 1+rng.Int64N(100)
		path := make([]profile.Frame, 1+rng.IntN(6)) // root first
		for i := range path {
			path[i].Function = fmt.Sprintf("f%d", rng.IntN(4))
		}
		name := rootName
		for i := -1; i < len(path); i++ {
			if i >= 0 {
				name += "/" + path[i].Function
			}
			w := want[name]
			if w.Total[side] += value; i == len(path)-1 {
				w.Self[side] += value
			}
			want[name] = w
		}
		slices.Reverse(path)
		addFrames(tree, side, path, value)
	}
	return tree, want
}

// TestFlameTree_Levels decodes the levels of random trees, whole and with some of their functions.
func TestFlameTree_Levels(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		tree, want := randomTree(rng, 1)
		got := tree.graph(1 << 20)
		if paths := flametest.Decode(t, got.GetNames(), got.GetLevels(), 1); !reflect.DeepEqual(paths, want) {
			t.Fatalf("seed %d: %s", seed, flametest.FirstDifference(paths, want))
		}
		most := int64(0)
		for _, w := range want {
			most = max(most, w.Self[0])
		}
		if names := slices.Clone(got.GetNames()); got.GetTotal() != want[rootName].Total[0] || got.GetMaxSelf() != most || len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
			t.Fatalf("seed %d: total %d, max self %d, names %v, want %d and %d", seed, got.GetTotal(), got.GetMaxSelf(), names, want[rootName].Total[0], most)
		}

		tree, want = randomTree(rng, 2)
		diff := tree.diff(1 << 20)
		if paths := flametest.Decode(t, diff.GetNames(), diff.GetLevels(), 2); !reflect.DeepEqual(paths, want) {
			t.Fatalf("seed %d: %s", seed, flametest.FirstDifference(paths, want))
		}
		total := want[rootName].Total
		if diff.GetLeftTicks() != total[0] || diff.GetRightTicks() != total[1] || diff.GetTotal() != total[0]+total[1] {
			t.Fatalf("seed %d: ticks %d %d, total %d", seed, diff.GetLeftTicks(), diff.GetRightTicks(), diff.GetTotal())
		}
		again, all := randomTree(rng, 2)
		checkLimited(t, again, all, rng.IntN(len(all)+2))
	}
}

// checkLimited compares a tree with some of its functions with the whole one.
func checkLimited(t *testing.T, tree *flameTree, all map[string]flametest.Widths, most int) {
	t.Helper()
	limited := tree.diff(most)
	size := func(w flametest.Widths) int64 { return w.Total[0] + w.Total[1] }
	got := flametest.Decode(t, limited.GetNames(), limited.GetLevels(), 2)
	sums, least, others, kept := map[string]flametest.Widths{}, int64(1<<62), 0, 0
	for path, w := range got {
		i := max(0, strings.LastIndexByte(path, '/'))
		sums[path[:i]] = sums[path[:i]].Plus(flametest.Widths{Total: w.Total})
		switch want, known := all[path]; {
		case path[i:] == "/"+otherName:
			others++
		case !known || w != want:
			t.Fatalf("limited to %d: %s is %v, want %v", most, path, w, want)
		case path != rootName:
			kept++
			least = min(least, size(w))
		}
	}
	for path, w := range got {
		if plus(w.Self, sums[path].Total) != w.Total {
			t.Fatalf("limited to %d: %s is %v, its children %v", most, path, w, sums[path])
		}
	}
	if kept != min(most, len(all)-1) || others == 0 && kept < len(all)-1 {
		t.Fatalf("limited to %d: %d nodes, %d named other, of %d", most, kept, others, len(all)-1)
	}
	for path, w := range all {
		if _, known := got[path]; !known && size(w) > least {
			t.Fatalf("limited to %d: %s of %d is left out, and one of %d is not", most, path, size(w), least)
		}
	}
}

// stackOf returns frames, leaf first, of names root first.
func stackOf(names string) (frames []profile.Frame) {
	for _, n := range slices.Backward(strings.Fields(names)) {
		frames = append(frames, profile.Frame{Function: n, File: n + ".go"})
	}
	return frames
}

// TestFlameTree_Negative holds the flametest.Widths of a profile with values below 0.
func TestFlameTree_Negative(t *testing.T) {
	tree := newFlameTree(1 << 20)
	for _, s := range []struct {
		stack string
		value int64
	}{{"", 1}, {"freed", -10}, {"freed kept", 4}, {"more", -2}, {"more", 10}, {"none", -5}} {
		addFrames(tree, 0, stackOf(s.stack), s.value)
	}
	got := tree.graph(100)
	want := map[string]flametest.Widths{
		"total": {Self: [2]int64{1}, Total: [2]int64{13}}, "total/freed": {Self: [2]int64{0}, Total: [2]int64{4}}, "total/freed/kept": {Self: [2]int64{4}, Total: [2]int64{4}},
		"total/more": {Self: [2]int64{8}, Total: [2]int64{8}}, "total/none": {},
	}
	if paths := flametest.Decode(t, got.GetNames(), got.GetLevels(), 1); !reflect.DeepEqual(paths, want) || got.GetTotal() != 13 || got.GetMaxSelf() != 8 {
		t.Errorf("%v, want %v", paths, want)
	}
	empty := newFlameTree(1).graph(10)
	if len(empty.GetLevels()) != 1 || !slices.Equal(empty.GetLevels()[0].GetValues(), []int64{0, 0, 0, 0}) || empty.GetNames()[0] != rootName {
		t.Errorf("no samples: %v", empty)
	}
}

// TestFlameTree_Overflow draws values whose sums exceed 64 bits: they wrap around, as those of rows do.
func TestFlameTree_Overflow(t *testing.T) {
	tree := newFlameTree(1 << 20)
	for i := range 4 {
		addFrames(tree, 0, stackOf(fmt.Sprintf("f g%d", i)), 1<<62)
		addFrames(tree, 1, stackOf("small"), 1)
	}
	// The sum of f is 0, which is less than that of its callees.
	got := tree.diff(3)
	if paths := flametest.Decode(t, got.GetNames(), got.GetLevels(), 2); len(paths) != 2 || got.GetLeftTicks() != 0 || got.GetRightTicks() != 4 {
		t.Errorf("%v, %v", paths, got)
	}
}

// TestFlameTree_Functions tells functions of one name apart by their files.
func TestFlameTree_Functions(t *testing.T) {
	tree := newFlameTree(1 << 20)
	addFrames(tree, 0, []profile.Frame{{Function: "f", File: "a.go"}}, 1)
	addFrames(tree, 0, []profile.Frame{{Function: "f", File: "b.go"}}, 2)
	if got := tree.graph(10).GetLevels(); len(got) != 2 || !slices.Equal(got[1].GetValues(), []int64{0, 1, 1, 1, 0, 2, 2, 1}) {
		t.Errorf("%v", got)
	}
}

// TestFlameTree_Bytes ends a tree at its limit.
func TestFlameTree_Bytes(t *testing.T) {
	var all []*pprof.Profile
	for i := range 6 {
		all = append(all, flametest.RandomProfile(rand.New(rand.NewPCG(1, uint64(i))), 1_790_000_000_000+int64(i)*10_000))
	}
	stacks := merged(t, all...)
	tree := newFlameTree(1 << 20)
	if err := tree.add(t.Context(), 0, stacks); err != nil || tree.bytes < 100*nodeBytes {
		t.Fatalf("%d bytes: %v", tree.bytes, err)
	}
	need := tree.bytes
	if err := newFlameTree(need).add(t.Context(), 0, stacks); err != nil {
		t.Errorf("with %d bytes: %v", need, err)
	}
	if err := newFlameTree(need-1).add(t.Context(), 0, stacks); !errors.Is(err, columnstore.ErrQueryMemory) {
		t.Errorf("with %d bytes: %v", need-1, err)
	}
	few := newFlameTree(need / 4)
	if err := few.add(t.Context(), 0, stacks); !errors.Is(err, columnstore.ErrQueryMemory) || few.bytes > need/4+10*(nodeBytes+functionBytes) {
		t.Errorf("%d bytes with %d: %v", few.bytes, need/4, err)
	}
}

// TestFlameTree_Cancelled ends a tree soon after its question was cancelled.
func TestFlameTree_Cancelled(t *testing.T) {
	stacks := merged(t, flametest.DeepProfile(10*stacksAtOnce, 20))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tree := newFlameTree(1 << 40)
	if err := tree.add(ctx, 0, stacks); !errors.Is(err, context.Canceled) || len(tree.nodes) > 1+20*stacksAtOnce {
		t.Errorf("%d nodes of %d stacks: %v", len(tree.nodes), stacks.Len(), err)
	}
}

// BenchmarkFlameTree makes flame graphs of 100,000 stacks, as package profile does and here.
func BenchmarkFlameTree(b *testing.B) {
	stacks := merged(b, flametest.DeepProfile(100_000, 20))
	b.Run("profile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			stacks.FlameGraph(profile.FlameGraphOptions{MaxNodes: 8192})
		}
	})
	b.Run("server", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tree := newFlameTree(1 << 40)
			if err := tree.add(b.Context(), 0, stacks); err != nil {
				b.Fatal(err)
			}
			tree.graph(8192)
			b.ReportMetric(float64(tree.bytes)/float64(len(tree.nodes)), "accounted-B/node")
			b.ReportMetric(float64(len(tree.nodes)), "nodes")
		}
	})
}

// addFrames adds a stack as add does, which has the number of each frame from before.
func addFrames(t *flameTree, side int, frames []profile.Frame, value int64) {
	functions := make([]uint32, len(frames))
	for i, f := range frames {
		functions[i] = t.number(flameFunction{f.Function, f.File})
	}
	t.addStack(side, functions, value)
}

// merged returns the stacks of CPU profiles in a store of their own.
func merged(t testing.TB, all ...*pprof.Profile) (stacks *profile.Stacks) {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if _, err := db.Insert(t.Context(), p, profile.InsertOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	typ := profile.Type{Sample: "cpu", SampleUnit: "nanoseconds", Period: "cpu", PeriodUnit: "nanoseconds"}
	err = store.View(t.Context(), func(snap *columnstore.Snapshot) (err error) {
		stacks, err = db.Merge(t.Context(), snap, typ, profile.Query{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return stacks
}
