//go:build invariants

package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/querytest"
)

// A state that breaks an invariant is not published: the check names the invariant.
func TestInvariants(t *testing.T) {
	only := func(state *catalog.TableState) (g *granule.Granule) {
		for _, g = range state.Granules.All() {
		}
		return g
	}
	// successors puts granules in the place of the one, with adjoining bounds: from its lower bound to some, and to the last.
	// The first one has its rows.
	successors := func(bounds func(key, hi string) []string) func(e *catalog.TableEdit) {
		return func(e *catalog.TableEdit) {
			g := only(e.State)
			lo, hi := g.Bounds()
			key := string(g.Sections()[0].Part.AppendKey(nil, e.State.Schema, 0))
			var next []*granule.Granule
			for _, bound := range bounds(key, hi) {
				next = append(next, granule.New(lo, bound))
				lo = bound
			}
			for _, s := range g.Sections() {
				next[0].Add(s)
			}
			e.Replace(g, next)
		}
	}
	for name, test := range map[string]struct {
		want   string
		change func(e *catalog.TableEdit)
	}{
		"a floor falls":           {"K4", func(e *catalog.TableEdit) { e.State.Floor = 0 }},
		"a granule below a floor": {"K4", func(e *catalog.TableEdit) { e.State.Floor = 500 }},
		"a gap between granules":  {"K1", successors(func(key, _ string) []string { return []string{key + "~"} })},
		"rows beyond a granule":   {"G2", successors(func(key, _ string) []string { return []string{key} })},
		"rows of another granule": {"K2", successors(func(key, hi string) []string { return []string{key, hi} })},
		"as it is":                {"", successors(func(_, hi string) []string { return []string{hi} })},
		"split behind the rows":   {"", successors(func(key, hi string) []string { return []string{key + "~", hi} })},
	} {
		t.Run(name, func(t *testing.T) {
			table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
			table.Insert(querytest.Pods("a", 5))
			table.Insert(querytest.Pods("a", 105, 105))
			table.Edit(func(e *catalog.TableEdit) { e.DropBefore(100) })
			defer func() {
				text := fmt.Sprint(recover())
				if (text == "<nil>") != (test.want == "") || !strings.Contains(text, test.want) {
					t.Errorf("%s, want %s", text, test.want)
				}
			}()
			table.Edit(test.change)
		})
	}
}
