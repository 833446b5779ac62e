package tree_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
)

// slowName names what a frame stands for, as TestLens expects it.
func slowName(by tree.Granularity, f profile.Frame) string {
	switch by {
	case tree.ByLine:
		if f.Line > 0 {
			return fmt.Sprint(f.Function, ":", f.Line)
		}
	case tree.ByFile:
		return f.File
	case tree.ByPackage:
		return path.Base(f.File) // the functions of randomSamples have no package
	case tree.ByBinary:
		if f.Mapping == "" {
			return "<unknown>"
		}
		return f.Mapping
	case tree.ByFunction:
	}
	return f.Function
}

// slowLens returns the names of a stack in a lens, root first.
func slowLens(r tree.Lens, s sample) (names []string) {
	last := profile.Frame{}
	for _, f := range slices.Backward(s.frames) {
		name := slowName(r.By, f)
		isSame := len(names) > 0 && names[len(names)-1] == name && (r.By >= tree.ByFile || r.Fold && f.File == last.File)
		if last = f; isSame {
			continue
		}
		names = append(names, name)
	}
	if r.Root != "" && r.FromLeaf {
		return append(names, r.Root)
	}
	if r.Root != "" {
		return append([]string{r.Root}, names...)
	}
	return names
}

// selfByPath returns the values of nodes by the names on their paths, without zeros.
func selfByPath(n *tree.Nodes) map[string]int64 {
	out := map[string]int64{}
	var names []string
	for i, depth := range n.Depth {
		names = append(names[:depth], n.Frames[n.Frame[i]].Function)
		out[strings.Join(names, " > ")] += n.Self[0][i]
	}
	maps.DeleteFunc(out, func(_ string, v int64) bool { return v == 0 })
	return out
}

// TestLens (R8) compares trees and tables of stacks in each lens with those of slowLens.
func TestLens(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 2))
	for range 30 {
		samples := randomSamples(rng, 60)
		stacks := stacksOf(t, samples...)
		for by := tree.ByFunction; by <= tree.ByBinary; by++ {
			for _, r := range []tree.Lens{{By: by}, {By: by, Fold: true}, {By: by, Root: "pod=a"}, {By: by, Fold: true, Root: "f1", FromLeaf: true}} {
				want, cum, flat := map[string]int64{}, map[string]int64{}, map[string]int64{}
				for _, s := range samples {
					names := slowLens(r, s)
					flat[names[len(names)-1]] += s.value
					want["root > "+strings.Join(names, " > ")] += s.value
					in := map[string]bool{}
					for _, name := range names {
						if !in[name] {
							cum[name] += s.value
						}
						in[name] = true
					}
				}
				maps.DeleteFunc(want, func(_ string, v int64) bool { return v == 0 })
				calls := tree.New(tree.FromRoot, "", 0)
				if err := calls.Add(t.Context(), 0, r.Of(stacks)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, selfByPath(calls.Nodes(0))); diff != "" {
					t.Fatalf("%+v: -want +got\n%s", r, diff)
				}
				costs, err := tree.Top(t.Context(), 0, r.Of(stacks))
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range costs {
					if c.Cum[0] != cum[c.Function] || c.Flat[0] != flat[c.Function] {
						t.Errorf("%+v: %s costs %d and %d, want %d and %d", r, c.Function, c.Flat[0], c.Cum[0], flat[c.Function], cum[c.Function])
					}
				}
				pattern := regexp.MustCompile("f[12]")
				total := int64(0)
				for _, s := range samples {
					if pattern.MatchString(strings.Join(slowLens(r, s), "\n")) {
						total += s.value
					}
				}
				if found, err := tree.Found(t.Context(), r.Of(stacks), pattern.MatchString); err != nil || found != total {
					t.Errorf("%+v: %d are found, want %d: %v", r, found, total, err)
				}
			}
		}
	}
}

// TestLensReal: the total of real stacks is the same in each lens, and a fold has no frame below one of the same function.
func TestLensReal(t *testing.T) {
	stacks := realStacks(t, "etcd", "cpu")
	for by := tree.ByFunction; by <= tree.ByBinary; by++ {
		calls := tree.New(tree.FromRoot, "", 0)
		if err := calls.Add(t.Context(), 0, (tree.Lens{By: by, Fold: true}).Of(stacks)); err != nil {
			t.Fatal(err)
		}
		n := calls.Nodes(0)
		if n.Total[0][0] != stacks.Total {
			t.Errorf("%v: the total is %d, want %d", by, n.Total[0][0], stacks.Total)
		}
		parents := []uint32{}
		for i, depth := range n.Depth {
			if parents = append(parents[:depth], n.Frame[i]); depth > 1 && parents[depth-1] == n.Frame[i] {
				t.Fatalf("%v: %s calls itself", by, n.Frames[n.Frame[i]].Function)
			}
		}
		t.Logf("%v: %d nodes of %d frames", by, len(n.Depth), len(n.Frames))
	}
}

// TestLensEnds: the bound of memory and the end of a context hold in a lens.
func TestLensEnds(t *testing.T) {
	stacks, r := realStacks(t, "etcd", "cpu"), tree.Lens{By: tree.ByLine, Fold: true}
	if err := tree.New(tree.FromRoot, "", 64<<10).Add(t.Context(), 0, r.Of(stacks)); !errors.Is(err, columnstore.ErrQueryMemory) {
		t.Errorf("a tree of more than 64 KiB: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tree.New(tree.FromRoot, "", 0).Add(ctx, 0, r.Of(stacks)); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
	if _, err := tree.Found(ctx, r.Of(stacks), func(string) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("a search after its end: %v", err)
	}
}

func TestGranularityNames(t *testing.T) {
	for by := tree.ByFunction; by <= tree.ByBinary; by++ {
		if got, ok := tree.ParseGranularity(by.String()); !ok || got != by {
			t.Errorf("%v is %v, %t", by, got, ok)
		}
	}
	if _, ok := tree.ParseGranularity("functions"); ok {
		t.Error("an unknown name has a granularity")
	}
}
