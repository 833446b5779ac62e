package server

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
)

// widths are the self and the total of a node on both sides.
type widths struct{ self, total [2]int64 }

// decode reads levels as clients do: a node is a child of the node one level above whose range on the
// sum of both sides has its own. It returns the widths of each path; siblings of one name, from
// several files, are added up.
func decode(t *testing.T, names []string, levels []*querierv1.Level, sides int) map[string]widths {
	t.Helper()
	type bar struct {
		path     string
		from, to int64
	}
	out, size := map[string]widths{}, 3*sides+1
	var parents []bar
	for depth, level := range levels {
		if len(level.GetValues())%size != 0 || len(level.GetValues()) == 0 {
			t.Fatalf("level %d has %d values", depth, len(level.GetValues()))
		}
		var bars []bar
		end, parent := int64(0), 0
		for tuple := range slices.Chunk(level.GetValues(), size) {
			var w widths
			b := bar{path: names[tuple[size-1]], from: end}
			for side := range sides {
				b.from += tuple[3*side]
				w.total[side], w.self[side] = tuple[3*side+1], tuple[3*side+2]
			}
			b.to = b.from + w.total[0] + w.total[1]
			end = b.to
			if depth > 0 {
				for parent < len(parents) && (b.from < parents[parent].from || b.to > parents[parent].to) {
					parent++
				}
				if parent == len(parents) {
					t.Fatalf("level %d: %v is in no node above", depth, b)
				}
				b.path = parents[parent].path + "/" + b.path
			}
			out[b.path] = out[b.path].plus(w)
			bars = append(bars, b)
		}
		parents = bars
	}
	return out
}

func (w widths) plus(v widths) widths { return widths{plus(w.self, v.self), plus(w.total, v.total)} }

// pathsOf returns the widths of each path of the flame graphs of package profile.
func pathsOf(sides ...*profile.FlameNode) map[string]widths {
	out := map[string]widths{}
	var walk func(side int, n *profile.FlameNode, path string)
	walk = func(side int, n *profile.FlameNode, path string) {
		var w widths
		w.self[side], w.total[side] = n.Self, n.Total
		out[path] = out[path].plus(w)
		for _, c := range n.Children {
			walk(side, c, path+"/"+c.Name)
		}
	}
	for side, root := range sides {
		walk(side, root, rootName)
	}
	return out
}

// firstDifference names a path on which widths differ.
func firstDifference(got, want map[string]widths) string {
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if got[path] != want[path] {
			return fmt.Sprintf("%s: %v, want %v", path, got[path], want[path])
		}
	}
	return fmt.Sprintf("%d paths, want %d", len(got), len(want))
}

// randomTree returns a tree of random stacks on both sides, and the widths of each path as sums stack by
// stack.
func randomTree(t *testing.T, rng *rand.Rand, sides int) (*tree.Calls, map[string]widths) {
	t.Helper()
	calls, want := newCalls(), map[string]widths{rootName: {}}
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
			if w.total[side] += value; i == len(path)-1 {
				w.self[side] += value
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
		if paths := decode(t, got.GetNames(), got.GetLevels(), 1); !reflect.DeepEqual(paths, want) {
			t.Fatalf("seed %d: %s", seed, firstDifference(paths, want))
		}
		most := int64(0)
		for _, w := range want {
			most = max(most, w.self[0])
		}
		if names := slices.Clone(got.GetNames()); got.GetTotal() != want[rootName].total[0] || got.GetMaxSelf() != most || len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
			t.Fatalf("seed %d: total %d, max self %d, names %v, want %d and %d", seed, got.GetTotal(), got.GetMaxSelf(), names, want[rootName].total[0], most)
		}

		calls, want = randomTree(t, rng, 2)
		diff := diffOf(calls, 1<<20)
		if paths := decode(t, diff.GetNames(), diff.GetLevels(), 2); !reflect.DeepEqual(paths, want) {
			t.Fatalf("seed %d: %s", seed, firstDifference(paths, want))
		}
		total := want[rootName].total
		if diff.GetLeftTicks() != total[0] || diff.GetRightTicks() != total[1] || diff.GetTotal() != total[0]+total[1] {
			t.Fatalf("seed %d: ticks %d %d, total %d", seed, diff.GetLeftTicks(), diff.GetRightTicks(), diff.GetTotal())
		}
		again, all := randomTree(t, rng, 2)
		checkLimited(t, again, all, 1+rng.IntN(len(all)+2))
	}
}

// checkLimited compares a tree with some of its functions with the whole one.
func checkLimited(t *testing.T, calls *tree.Calls, all map[string]widths, most int) {
	t.Helper()
	limited := diffOf(calls, most)
	size := func(w widths) int64 { return w.total[0] + w.total[1] }
	got := decode(t, limited.GetNames(), limited.GetLevels(), 2)
	sums, least, others, kept := map[string]widths{}, int64(1<<62), 0, 0
	for path, w := range got {
		i := max(0, strings.LastIndexByte(path, '/'))
		sums[path[:i]] = sums[path[:i]].plus(widths{total: w.total})
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
		if plus(w.self, sums[path].total) != w.total {
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
	want := map[string]widths{
		"total": {[2]int64{1}, [2]int64{13}}, "total/freed": {[2]int64{0}, [2]int64{4}}, "total/freed/kept": {[2]int64{4}, [2]int64{4}},
		"total/more": {[2]int64{8}, [2]int64{8}}, "total/none": {},
	}
	if paths := decode(t, got.GetNames(), got.GetLevels(), 1); !reflect.DeepEqual(paths, want) || got.GetTotal() != 13 || got.GetMaxSelf() != 8 {
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
	if want := []string{"total", "f", "other", "g0", "g1"}; !slices.Equal(got.GetNames(), want) {
		t.Errorf("%v, want %v", got.GetNames(), want)
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

// deepProfile returns a CPU profile of distinct stacks, which share a few functions.
func deepProfile(stacks, depth int) *pprof.Profile {
	p := randomProfile(rand.New(rand.NewPCG(7, 8)), queryAt)
	p.Sample = nil
	rng := rand.New(rand.NewPCG(9, 10))
	for range stacks {
		s := &pprof.Sample{Value: []int64{1, 1e7}}
		for range depth {
			s.Location = append(s.Location, p.Location[1+rng.IntN(len(p.Location)-1)])
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// TestFlameTree_Bytes ends a tree beyond the memory of a question.
func TestFlameTree_Bytes(t *testing.T) {
	s, _ := filled(t, Options{})
	stacks := merged(t, s, `{}`)
	q := &querier{s: s}
	ask := func() error {
		return s.db.Store().View(t.Context(), func(snap *columnstore.Snapshot) error {
			_, err := q.tree(t.Context(), snap, asked{typ: stacks.Type, query: profile.Query{SumKinds: true}})
			return err
		})
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	s.limits.QueryBytes = 64 * int64(stacks.Len())
	if err := ask(); !errors.Is(err, columnstore.ErrQueryMemory) {
		t.Errorf("with %d bytes for %d stacks: %v", s.limits.QueryBytes, stacks.Len(), err)
	}
}

// BenchmarkFlameTree makes flame graphs of 100,000 stacks, as package profile has them and as levels.
func BenchmarkFlameTree(b *testing.B) {
	s := newServer(b, Options{})
	if _, err := s.db.Insert(b.Context(), deepProfile(100_000, 20), profile.InsertOptions{}); err != nil {
		b.Fatal(err)
	}
	stacks := merged(b, s, `{}`)
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

func (m madeStack) Numbered(see func(f profile.Frame, function uint32), each func(frames []uint32, shared int, value int64) bool) {
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
