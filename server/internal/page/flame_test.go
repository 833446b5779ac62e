package page

import (
	"cmp"
	"slices"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/profile"
)

// TestNewStateShares has as many groups as fit: none is in that of others.
func TestNewStateShares(t *testing.T) {
	for n := range 12 {
		var all []profile.StateStacks
		for i := range n {
			all = append(all, profile.StateStacks{State: history.Int(int64(i)), Stacks: &profile.Stacks{Total: int64(i), Magnitude: int64(i)}})
		}
		got := newStateShares(all)
		others := slices.ContainsFunc(got.groups, func(g ShareGroup) bool { return g.Status == "others" })
		sum := int64(0)
		for i, g := range got.groups {
			if sum += g.Total; len(got.stacks[i]) != cmp.Or(g.Others, 1) {
				t.Errorf("%d states: %+v has %d", n, g, len(got.stacks[i]))
			}
		}
		if len(got.groups) != min(n, MostShares) || others != (n > MostShares) || sum != int64(n*(n-1)/2) {
			t.Errorf("%d states: %+v", n, got.groups)
		}
	}
}
