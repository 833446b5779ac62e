package callgraph

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
)

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

// TestCallGraph compares graphs of random stacks with sums stack by stack, whole and with some of their functions.
func TestCallGraph(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		calls, stacks := tree.New(tree.FromRoot, "", 0), [][]string{}
		var values []int64
		for range rng.IntN(40) {
			stack := make([]string, rng.IntN(7)) // root first
			frames := make([]profile.Frame, len(stack))
			for i := range stack {
				stack[i] = fmt.Sprintf("f%d", rng.IntN(5))
				frames[len(frames)-1-i] = profile.Frame{Function: stack[i], File: fmt.Sprint(rng.IntN(2))}
			}
			stacks, values = append(stacks, stack), append(values, 1+rng.Int64N(100))
			if err := calls.Add(t.Context(), 0, madeStack{frames, values[len(values)-1]}); err != nil {
				t.Fatal(err)
			}
		}
		for _, most := range []int{100, 1 + rng.IntN(5)} {
			got, want := Of(calls.Nodes(0), most), graphByStack(stacks, values, most)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %d functions: %+v, want %+v", seed, most, got, want)
			}
		}
	}
}

// graphByStack is Of, stack by stack.
func graphByStack(stacks [][]string, values []int64, most int) *Graph {
	g := &Graph{Calls: map[Pair]*Call{}}
	all := map[string]*Function{}
	for i, stack := range stacks {
		g.Total += values[i]
		seen := map[string]bool{}
		for at, name := range stack {
			f := all[name]
			if f == nil {
				f = &Function{Name: name}
				all[name] = f
			}
			if !seen[name] {
				f.Cum += values[i]
			}
			if seen[name] = true; at == len(stack)-1 {
				f.Flat += values[i]
			}
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b].Cum, all[a].Cum), cmp.Compare(a, b))
	}) {
		if len(g.Functions) < most {
			g.Functions = append(g.Functions, *all[name])
		}
	}
	place := func(name string) int {
		return slices.IndexFunc(g.Functions, func(f Function) bool { return f.Name == name })
	}
	short := map[Pair]bool{}
	for i, stack := range stacks {
		added := map[Pair]bool{}
		caller, isLong := -1, false
		for _, name := range stack {
			callee := place(name)
			if callee < 0 {
				isLong = true
				continue
			}
			key := Pair{caller, callee}
			if caller >= 0 && !added[key] {
				if added[key] = true; g.Calls[key] == nil {
					g.Calls[key] = &Call{}
				}
				g.Calls[key].Value += values[i]
			}
			if caller >= 0 && !isLong {
				short[key] = true
			}
			caller, isLong = callee, false
		}
	}
	for key, c := range g.Calls {
		c.IsLong = !short[key]
	}
	return g
}
