//go:build invariants

package granule

import (
	"fmt"
	"strings"
	"testing"
)

// Rows of a part that are not in order, or not within the bounds of their granule, are noticed.
func TestSection_Check(t *testing.T) {
	s := mustSchema(t, numbers)
	rows := numberRows(t, s, NewGeneration(1), 1, 2, 2, 3)
	right := whole(rows.Part(0, 4))
	rows.keys[1], rows.keys[3] = rows.keys[3], rows.keys[1]
	wrong := whole(rows.Part(0, 4))
	for name, test := range map[string]struct {
		section Section
		lo, hi  string
		want    string
	}{
		"without bounds":         {right, "", "", ""},
		"within bounds":          {right, numberKey(1), numberKey(4), ""},
		"below the lower bound":  {right, numberKey(2), "", "row 0"},
		"at the upper bound":     {right, "", numberKey(3), "row 3"},
		"a part without the end": {Section{right.Part, 0, 3}, "", numberKey(3), ""},
		"not in order":           {wrong, "", "", "row 2"},
		"behind the disorder":    {Section{wrong.Part, 2, 3}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				text := fmt.Sprint(recover())
				if (text == "<nil>") != (test.want == "") || !strings.Contains(text, test.want) || test.want != "" && !strings.Contains(text, "G2") {
					t.Errorf("%s, want %s", text, test.want)
				}
			}()
			test.section.Check(s, New(test.lo, test.hi))
		})
	}
}

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
