// Package flametest reads flame graphs of querier.v1 as clients do, and makes profiles for them. Only tests import it.
package flametest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	pprof "github.com/google/pprof/profile"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"

	"github.com/granarydb/granary/profile"
)

// Widths are the self and the total of a node on both sides.
type Widths struct{ Self, Total [2]int64 }

// Decode reads levels as clients do: a node's parent is the node in the previous level whose range contains the
// node's range, where ranges are on the sum of both sides. It returns the Widths of each path, and adds up
// siblings with equal names, which come from several files.
func Decode(t testing.TB, names []string, levels []*querierv1.Level, sides int) map[string]Widths {
	t.Helper()
	type bar struct {
		path     string
		from, to int64
	}
	out, size := map[string]Widths{}, 3*sides+1
	var parents []bar
	for depth, level := range levels {
		if len(level.GetValues())%size != 0 || len(level.GetValues()) == 0 {
			t.Fatalf("level %d has %d values", depth, len(level.GetValues()))
		}
		var bars []bar
		end, parent := int64(0), 0
		for tuple := range slices.Chunk(level.GetValues(), size) {
			var w Widths
			b := bar{path: names[tuple[size-1]], from: end}
			for side := range sides {
				b.from += tuple[3*side]
				w.Total[side], w.Self[side] = tuple[3*side+1], tuple[3*side+2]
			}
			b.to = b.from + w.Total[0] + w.Total[1]
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
			out[b.path] = out[b.path].Plus(w)
			bars = append(bars, b)
		}
		parents = bars
	}
	return out
}

// Plus adds widths.
func (w Widths) Plus(v Widths) Widths { return Widths{plus(w.Self, v.Self), plus(w.Total, v.Total)} }

// PathsOf returns the Widths of each path of the flame graphs of package profile.
func PathsOf(sides ...*profile.FlameNode) map[string]Widths {
	out := map[string]Widths{}
	var walk func(side int, n *profile.FlameNode, path string)
	walk = func(side int, n *profile.FlameNode, path string) {
		var w Widths
		w.Self[side], w.Total[side] = n.Self, n.Total
		out[path] = out[path].Plus(w)
		for _, c := range n.Children {
			walk(side, c, path+"/"+c.Name)
		}
	}
	for side, root := range sides {
		walk(side, root, "total")
	}
	return out
}

// FirstDifference names a path on which Widths differ.
func FirstDifference(got, want map[string]Widths) string {
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if got[path] != want[path] {
			return fmt.Sprintf("%s: %v, want %v", path, got[path], want[path])
		}
	}
	return fmt.Sprintf("%d paths, want %d", len(got), len(want))
}

// RandomProfile returns a CPU profile of random stacks, leaf first, with a time in Unix milliseconds.
func RandomProfile(rng *rand.Rand, at int64) *pprof.Profile {
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1e7, TimeNanos: at * 1e6, DurationNanos: 1e10,
	}
	for i := range 12 {
		f := &pprof.Function{ID: uint64(i + 1), Name: fmt.Sprintf("main.f%d", i), Filename: "main.go"}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &pprof.Location{ID: f.ID, Line: []pprof.Line{{Function: f, Line: int64(i)}}})
	}
	for range 40 {
		s := &pprof.Sample{Value: []int64{1 + rng.Int64N(5), 1e7 * (1 + rng.Int64N(50))}}
		for range 1 + rng.IntN(6) {
			s.Location = append(s.Location, p.Location[rng.IntN(len(p.Location))])
		}
		s.Location = append(s.Location, p.Location[0]) // the root
		if rng.IntN(4) == 0 {
			s.Label = map[string][]string{"span_id": {fmt.Sprintf("%016x", 0xabc0+rng.IntN(2))}}
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// DeepProfile returns a CPU profile of distinct stacks, which share a few functions.
func DeepProfile(stacks, depth int) *pprof.Profile {
	p := RandomProfile(rand.New(rand.NewPCG(7, 8)), 1_790_000_000_000)
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

func plus(a, b [2]int64) [2]int64 { return [2]int64{a[0] + b[0], a[1] + b[1]} }
