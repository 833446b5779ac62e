package querier

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/server/internal/flametest"
)

// randomTree returns a tree of random stacks on both sides, and the widths of each path as sums stack by
// stack.
func randomTree(t *testing.T, rng *rand.Rand, sides int) (*tree.Calls, map[string]flametest.Widths) {
	t.Helper()
	calls, want := newCalls(), map[string]flametest.Widths{rootName: {}}
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
		addFrames(t, calls, side, path, value)
	}
	return calls, want
}

// TestFlameTree_Levels decodes the levels of random trees, whole and with some of their functions.
func TestFlameTree_Levels(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		calls, want := randomTree(t, rng, 1)
		got := graphOf(calls, 1<<20)
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

		if paths := decodeTree(t, treeBytes(calls, 1<<20)); !reflect.DeepEqual(paths, want) {
			t.Fatalf("seed %d: %s", seed, flametest.FirstDifference(paths, want))
		}

		calls, want = randomTree(t, rng, 2)
		diff := diffOf(calls, 1<<20)
		if paths := flametest.Decode(t, diff.GetNames(), diff.GetLevels(), 2); !reflect.DeepEqual(paths, want) {
			t.Fatalf("seed %d: %s", seed, flametest.FirstDifference(paths, want))
		}
		total := want[rootName].Total
		if diff.GetLeftTicks() != total[0] || diff.GetRightTicks() != total[1] || diff.GetTotal() != total[0]+total[1] {
			t.Fatalf("seed %d: ticks %d %d, total %d", seed, diff.GetLeftTicks(), diff.GetRightTicks(), diff.GetTotal())
		}
		again, all := randomTree(t, rng, 2)
		checkLimited(t, again, all, 1+rng.IntN(len(all)+2))
	}
}

// decodeTree reads a tree as clients of Pyroscope do: the next node belongs to the last node that lacks children.
func decodeTree(t *testing.T, data []byte) map[string]flametest.Widths {
	t.Helper()
	number := func() int64 {
		n, size := binary.Uvarint(data)
		if size <= 0 {
			t.Fatal("a number is cut")
		}
		data = data[size:]
		return int64(n)
	}
	out := map[string]flametest.Widths{}
	parents := []string{""} // a path for each node to come
	for len(parents) > 0 {
		path := parents[len(parents)-1]
		parents = parents[:len(parents)-1]
		size := number()
		if path += string(data[:size]); path == "" {
			path = rootName
		}
		data = data[size:]
		self := number()
		for above := path; above != ""; above = above[:max(0, strings.LastIndexByte(above, '/'))] {
			w := out[above]
			if w.Total[0] += self; above == path {
				w.Self[0] += self
			}
			out[above] = w
		}
		for range number() {
			parents = append(parents, path+"/")
		}
	}
	if len(data) > 0 {
		t.Fatalf("%d bytes behind the tree", len(data))
	}
	return out
}

// checkLimited compares a tree with some of its functions with the whole one.
func checkLimited(t *testing.T, calls *tree.Calls, all map[string]flametest.Widths, most int) {
	t.Helper()
	limited := diffOf(calls, most)
	size := func(w flametest.Widths) int64 { return w.Total[0] + w.Total[1] }
	got := flametest.Decode(t, limited.GetNames(), limited.GetLevels(), 2)
	sums, least, others, kept := map[string]flametest.Widths{}, int64(1<<62), 0, 0
	for path, w := range got {
		i := max(0, strings.LastIndexByte(path, '/'))
		sums[path[:i]] = sums[path[:i]].Plus(flametest.Widths{Total: w.Total})
		switch want, known := all[path]; {
		case path[i:] == "/other":
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

// TestFlameTree_Negative holds the widths of a profile with values below 0.
func TestFlameTree_Negative(t *testing.T) {
	calls := newCalls()
	for _, s := range []struct {
		stack string
		value int64
	}{{"", 1}, {"freed", -10}, {"freed kept", 4}, {"more", -2}, {"more", 10}, {"none", -5}} {
		addFrames(t, calls, 0, stackOf(s.stack), s.value)
	}
	got := graphOf(calls, 100)
	want := map[string]flametest.Widths{
		"total": {Self: [2]int64{1}, Total: [2]int64{13}}, "total/freed": {Self: [2]int64{0}, Total: [2]int64{4}}, "total/freed/kept": {Self: [2]int64{4}, Total: [2]int64{4}},
		"total/more": {Self: [2]int64{8}, Total: [2]int64{8}}, "total/none": {},
	}
	if paths := flametest.Decode(t, got.GetNames(), got.GetLevels(), 1); !reflect.DeepEqual(paths, want) || got.GetTotal() != 13 || got.GetMaxSelf() != 8 {
		t.Errorf("%v, want %v", paths, want)
	}
	empty := graphOf(newCalls(), 10)
	if len(empty.GetLevels()) != 1 || !slices.Equal(empty.GetLevels()[0].GetValues(), []int64{0, 0, 0, 0}) || empty.GetNames()[0] != rootName {
		t.Errorf("no samples: %v", empty)
	}
}

// TestFlameTree_Overflow draws values whose sums exceed 64 bits: they wrap around, as those of rows do.
func TestFlameTree_Overflow(t *testing.T) {
	calls := newCalls()
	for i := range 4 {
		addFrames(t, calls, 0, stackOf(fmt.Sprintf("f g%d", i)), 1<<62)
		addFrames(t, calls, 1, stackOf("small"), 1)
	}
	// The sum of f is 0, which is less than that of its callees.
	got := diffOf(calls, 3)
	if got.GetLeftTicks() != 0 || got.GetRightTicks() != 4 || got.GetMaxSelf() != 1<<62 {
		t.Errorf("%v", got)
	}
	// Two of the four callees are kept: a hash decides, not the order of stacks.
	names := got.GetNames()
	if want := []string{"total", "f", "other"}; len(names) != 5 || !slices.Equal(names[:3], want) || names[3] >= names[4] || names[3][0] != 'g' {
		t.Errorf("%v, want %v and two of g0 to g3", names, want)
	}
}

// TestFlameTree_Functions tells functions of one name apart by their files.
func TestFlameTree_Functions(t *testing.T) {
	calls := newCalls()
	addFrames(t, calls, 0, []profile.Frame{{Function: "f", File: "a.go"}}, 1)
	addFrames(t, calls, 0, []profile.Frame{{Function: "f", File: "b.go"}}, 2)
	if got := graphOf(calls, 10).GetLevels(); len(got) != 2 || !slices.Equal(got[1].GetValues(), []int64{0, 1, 1, 1, 0, 2, 2, 1}) {
		t.Errorf("%v", got)
	}
}

// TestFlameTree_Bytes ends a tree at a question's memory: with all that it needs it is whole, with a byte
// less it fails.
func TestFlameTree_Bytes(t *testing.T) {
	var all []*pprof.Profile
	for i := range 6 {
		all = append(all, flametest.RandomProfile(rand.New(rand.NewPCG(1, uint64(i))), 1_790_000_000_000+int64(i)*10_000))
	}
	stacks := merged(t, all...)
	fits := func(bytes int) bool {
		err := tree.New(tree.FromRoot, "", int64(bytes)).Add(t.Context(), 0, stacks)
		if err != nil && !errors.Is(err, columnstore.ErrQueryMemory) {
			t.Fatal(err)
		}
		return err == nil
	}
	need := 1 + sort.Search(1<<20, func(bytes int) bool { return fits(1 + bytes) }) // 0 is no limit
	if need < 64*stacks.Len() || need > 1<<20 {
		t.Errorf("%d stacks need %d bytes", stacks.Len(), need)
	}
	if !fits(need) || fits(need-1) || fits(need/4) {
		t.Errorf("with %d bytes %v, with %d %v, with %d %v", need, fits(need), need-1, fits(need-1), need/4, fits(need/4))
	}
}

// TestFlameTree_Cancelled ends a tree after its question was cancelled.
func TestFlameTree_Cancelled(t *testing.T) {
	stacks := merged(t, flametest.DeepProfile(640, 20))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newCalls().Add(ctx, 0, stacks); !errors.Is(err, context.Canceled) {
		t.Errorf("a tree of %d stacks: %v", stacks.Len(), err)
	}
}

// BenchmarkFlameTree makes flame graphs of 100,000 stacks, as package profile has them and as levels.
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
			calls := newCalls()
			if err := calls.Add(b.Context(), 0, stacks); err != nil {
				b.Fatal(err)
			}
			graphOf(calls, 8192)
		}
	})
}

// madeStack is a stack of frames, leaf first: a tree.StackList.
type madeStack struct {
	frames []profile.Frame
	value  int64
}

func (m madeStack) Len() int { return 1 }

func (m madeStack) Numbered(_ context.Context, see func(f profile.Frame, function uint32), each func(frames []uint32, shared int, value int64) bool) {
	var numbers []uint32
	for i, f := range m.frames { // equal functions have one number
		see(f, uint32(slices.Index(m.frames, f)))
		numbers = append(numbers, uint32(i))
	}
	each(numbers, 0, m.value)
}

// addFrames adds a stack to a side.
func addFrames(t *testing.T, calls *tree.Calls, side int, frames []profile.Frame, value int64) {
	t.Helper()
	if err := calls.Add(t.Context(), side, madeStack{frames, value}); err != nil {
		t.Fatal(err)
	}
}

// newCalls returns an empty tree.
func newCalls() *tree.Calls { return tree.New(tree.FromRoot, "", 0) }

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
