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
	for name, test := range map[string]struct {
		want   string
		change func(e *catalog.TableEdit)
	}{
		"a floor falls":            {"K4", func(e *catalog.TableEdit) { e.State.Floor = 0 }},
		"a granule below a floor":  {"K4", func(e *catalog.TableEdit) { e.State.Floor = 500 }},
		"a gap between granules":   {"K1", func(e *catalog.TableEdit) { replace(e, only(e.State), "", "~") }},
		"rows beyond a granule":    {"G2", func(e *catalog.TableEdit) { replace(e, only(e.State), "", "") }},
		"rows in no granule":       {"K2", func(e *catalog.TableEdit) { replace(e, only(e.State), "~", "") }},
		"nothing is wrong with it": {"", func(e *catalog.TableEdit) { e.Replace(only(e.State), []*granule.Granule{only(e.State)}) }},
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

// replace puts a granule with the same rows in the place of one. Its bounds are those of the one, with some bytes behind
// the lower one: no bytes behind the upper one stand for an end just above the lower bound.
func replace(e *catalog.TableEdit, g *granule.Granule, lower, upper string) {
	lo, hi := g.Bounds()
	key := g.Sections()[0].Part.AppendKey(nil, e.State.Schema, 0)
	switch {
	case upper != "":
		hi = string(key) + upper
	case lower == "":
		hi = lo + "\x00"
	}
	next := granule.New(lo+lower, hi)
	for _, s := range g.Sections() {
		next.Add(s)
	}
	e.Replace(g, []*granule.Granule{next})
}
