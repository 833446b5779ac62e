//go:build !race

package union_test

import (
	"math/rand/v2"
	"testing"

	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/history/union"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/events"
	"github.com/granarydb/granary/internal/recorded"
)

// TestSets has two providers of each recorded set: one of every second attribute at the top and all below it,
// complete, and one of the others, a part of which is kept.
func TestSets(t *testing.T) {
	effort.Long(t)
	for _, name := range recorded.Names {
		t.Run(name, func(t *testing.T) {
			s, l, path := events.Set(t, name)
			tops, sizes := map[string]int{}, [2]int{}
			for n := range s.Attributes {
				if top := path(n)[0]; tops[top] == 0 {
					tops[top] = len(tops) + 1
				}
			}
			for _, e := range l {
				sizes[tops[path(e.N)[0]]%2]++
			}
			owns := func(i int) func(int) bool {
				return func(n int) bool { return tops[path(n)[0]]%2 == i }
			}
			opts := partial.Options{Start: s.Header.Start, End: s.Header.End}
			first := member(t, l, path, owns(0), opts)
			opts.Every = 5000
			second := member(t, l, path, owns(1), opts)
			h, err := union.Join(t.Context(), 0, first, second)
			must(t, err)
			f := &fixture{rng: rand.New(rand.NewPCG(1, 1)), full: events.Whole(t, l, path, nil, opts.Start, opts.End), got: h}
			f.to = match(t, h.Names(), f.full.Names)
			f.instant = func() int64 { return opts.Start + f.rng.Int64N(opts.End-opts.Start+1) }
			for range 3 {
				f.ask(t, 1)
				f.sample(t, 1)
			}
			t.Logf("%d attributes, %d events of the complete member, %d of the partial one", h.Names().Len(), sizes[0], sizes[1])
		})
	}
}
