package querier

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/profile"
)

// TestCallGraph compares graphs of random stacks with sums stack by stack, whole and with some of their functions.
func TestCallGraph(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		calls, stacks := newCalls(), [][]string{}
		var values []int64
		for range rng.IntN(40) {
			stack := make([]string, rng.IntN(7)) // root first
			frames := make([]profile.Frame, len(stack))
			for i := range stack {
				stack[i] = fmt.Sprintf("f%d", rng.IntN(5))
				frames[len(frames)-1-i] = profile.Frame{Function: stack[i], File: fmt.Sprint(rng.IntN(2))}
			}
			stacks, values = append(stacks, stack), append(values, 1+rng.Int64N(100))
			addFrames(t, calls, 0, frames, values[len(values)-1])
		}
		for _, most := range []int{100, 1 + rng.IntN(5)} {
			got, want := newCallGraph(calls.Nodes(0), most), graphByStack(stacks, values, most)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %d functions: %+v, want %+v", seed, most, got, want)
			}
		}
	}
}

// graphByStack is newCallGraph, stack by stack.
func graphByStack(stacks [][]string, values []int64, most int) *callGraph {
	g := &callGraph{calls: map[callPair]*graphCall{}}
	all := map[string]*graphFunction{}
	for i, stack := range stacks {
		g.total += values[i]
		seen := map[string]bool{}
		for at, name := range stack {
			f := all[name]
			if f == nil {
				f = &graphFunction{name: name}
				all[name] = f
			}
			if !seen[name] {
				f.cum += values[i]
			}
			if seen[name] = true; at == len(stack)-1 {
				f.flat += values[i]
			}
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b].cum, all[a].cum), cmp.Compare(a, b))
	}) {
		if len(g.functions) < most {
			g.functions = append(g.functions, *all[name])
		}
	}
	place := func(name string) int {
		return slices.IndexFunc(g.functions, func(f graphFunction) bool { return f.name == name })
	}
	short := map[callPair]bool{}
	for i, stack := range stacks {
		added := map[callPair]bool{}
		caller, isLong := -1, false
		for _, name := range stack {
			callee := place(name)
			if callee < 0 {
				isLong = true
				continue
			}
			key := callPair{caller, callee}
			if caller >= 0 && !added[key] {
				if added[key] = true; g.calls[key] == nil {
					g.calls[key] = &graphCall{}
				}
				g.calls[key].value += values[i]
			}
			if caller >= 0 && !isLong {
				short[key] = true
			}
			caller, isLong = callee, false
		}
	}
	for key, c := range g.calls {
		c.isLong = !short[key]
	}
	return g
}

// TestDot writes names that Graphviz could take for its language, and lets Graphviz read them where it is installed.
func TestDot(t *testing.T) {
	calls := newCalls()
	names := []string{`operator"" _x`, `C:\src\n`, "two\nlines", `std::vector<int>`, "", `}`, "π"}
	for i, name := range names {
		addFrames(t, calls, 0, []profile.Frame{{Function: name}, {Function: names[(i+1)%len(names)]}}, 1)
	}
	text := dotOf(calls, 100, profile.Type{Sample: `a"b`, SampleUnit: "count"})
	for _, want := range []string{`digraph "a\"b" {`, `"operator\"\" _x\n1 (14.29%)`, `"C:\\src\\n\n1 `, `"two\nlines\n1 `, `"}\n`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if n := strings.Count(text, "\n"); n != 3+2*len(names)+1 {
		t.Errorf("%d lines: %s", n, text)
	}
	graphviz, err := exec.LookPath("dot")
	if err != nil {
		t.Log("Graphviz is not installed")
		return
	}
	cmd := exec.CommandContext(t.Context(), graphviz, "-Tplain")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "\nnode ") != len(names) {
		t.Errorf("%v: %s", err, out)
	}
}
