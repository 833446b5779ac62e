//go:build invariants

package granule

import (
	"fmt"
	"strings"
	"testing"
)

// Children that lack rows, or do not partition the bounds of their parent, are not returned by a rewrite.
func TestInvariants(t *testing.T) {
	parent := New("a", "m")
	parent.freshRows = 3
	with := func(lo, hi string, rows int) *Granule {
		g := New(lo, hi)
		g.freshRows = rows
		return g
	}
	for name, test := range map[string]struct {
		children []*Granule
		want     string
	}{
		"begins later": {[]*Granule{with("b", "m", 3)}, "G4"},
		"a gap":        {[]*Granule{with("a", "c", 1), with("d", "m", 2)}, "G4"},
		"ends earlier": {[]*Granule{with("a", "c", 1), with("c", "l", 2)}, "G4"},
		"a row lost":   {[]*Granule{with("a", "c", 1), with("c", "m", 1)}, "G3"},
		"right":        {[]*Granule{with("a", "c", 1), with("c", "m", 2)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				text := fmt.Sprint(recover())
				if (text == "<nil>") != (test.want == "") || !strings.Contains(text, test.want) {
					t.Errorf("%s, want %s", text, test.want)
				}
			}()
			checkChildren(parent, test.children)
		})
	}
}
