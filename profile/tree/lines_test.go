package tree_test

import (
	stdcmp "cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
)

// slowLines sums up the lines of a function, stack by stack: the slow oracle.
func slowLines(name string, sides ...*profile.Stacks) (all []tree.LineCost) {
	for side, stacks := range sides {
		for frames, value := range stacks.All() {
			var counted []string
			for depth, f := range frames {
				if f.Function != name {
					continue
				}
				i := slices.IndexFunc(all, func(l tree.LineCost) bool { return l.File == f.File && l.Line == f.Line })
				if i < 0 {
					i = len(all)
					all = append(all, tree.LineCost{File: f.File, Line: f.Line})
				}
				if depth == 0 {
					all[i].Self[side] += value
				}
				if line := fmt.Sprint(f.File, ":", f.Line); !slices.Contains(counted, line) {
					counted = append(counted, line)
					all[i].Total[side] += value
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b tree.LineCost) int {
		return stdcmp.Or(stdcmp.Compare(a.File, b.File), stdcmp.Compare(a.Line, b.Line))
	})
	return all
}

// TestLines compares the lines of functions with the oracle, of made stacks and of real ones, in batches and without.
func TestLines(t *testing.T) {
	check := func(name string, sides ...*profile.Stacks) {
		t.Helper()
		got, err := tree.Lines(t.Context(), name, 0, sides...)
		if diff := cmp.Diff(slowLines(name, sides...), got); err != nil || diff != "" {
			t.Errorf("%s: %v, (-want +got)\n%s", name, err, diff)
		}
	}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 7))
		a, b := stacksOf(t, randomSamples(rng, 1+rng.IntN(60))...), stacksOf(t, randomSamples(rng, 3000)...)
		for _, name := range []string{"f0", "f3", "none", ""} {
			check(name, a)
			check(name, b)
			check(name, a, b)
		}
	}
	etcd := realStacks(t, "etcd", "cpu")
	check("runtime.mallocgc", etcd)
	if got, _ := tree.Lines(t.Context(), "runtime.mallocgc", 0, etcd); len(got) < 3 || got[0].Line == 0 {
		t.Errorf("%d lines", len(got))
	}
}

// TestLines_Bounds asks beyond the memory and the time.
func TestLines_Bounds(t *testing.T) {
	s := stacksOf(t, randomSamples(rand.New(rand.NewPCG(9, 9)), 2000)...)
	if _, err := tree.Lines(t.Context(), "f1", tree.StackBytes*int64(s.Len())+tree.FrameBytes, s); !errors.Is(err, columnstore.ErrQueryMemory) {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tree.Lines(over, "f1", 0, s); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
