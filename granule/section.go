package granule

import (
	"sort"

	"github.com/granarydb/granary/internal/invariants"
	"github.com/granarydb/granary/schema"
)

// Section is the rows [Lo, Hi) of a part.
type Section struct {
	Part   *Part
	Lo, Hi int
}

// Rows returns the number of rows.
func (s Section) Rows() int { return s.Hi - s.Lo }

// Size returns the section's share of the part's bytes.
func (s Section) Size() int {
	if s.Part == nil || s.Part.rows == 0 {
		return 0
	}
	return int(int64(s.Part.size) * int64(s.Rows()) / int64(s.Part.rows))
}

// Within returns the rows with lo <= key < hi. An empty hi means no upper bound. It decodes O(log rows)
// keys.
func (s Section) Within(sch *schema.Schema, lo, hi string) Section {
	from := s.search(sch, lo)
	to := s.Hi
	if hi != "" {
		to = s.search(sch, hi)
	}
	return Section{s.Part, from, max(from, to)}
}

// search returns the first row of the section whose key is at least bound.
func (s Section) search(sch *schema.Schema, bound string) int {
	var key []byte
	below := func(row int) bool {
		key = s.Part.AppendKey(key[:0], sch, row)
		return string(key) < bound
	}
	switch { // usually a whole section is on one side of a bound
	case s.Rows() == 0 || !below(s.Lo):
		return s.Lo
	case below(s.Hi - 1):
		return s.Hi
	}
	return s.Lo + sort.Search(s.Rows(), func(i int) bool { return !below(s.Lo + i) })
}

// Check panics unless the rows of the section are sorted and within the bounds of its granule (G2). It is for builds with
// the tag invariants.
func (s Section) Check(sch *schema.Schema, g *Granule) {
	var before, key []byte
	for row := s.Lo; row < s.Hi; row++ {
		key = s.Part.AppendKey(key[:0], sch, row)
		invariants.Check(row == s.Lo || string(before) <= string(key), "G2", "row %d, %x, follows %x", row, key, before)
		invariants.Check(string(key) >= g.lo && (g.hi == "" || string(key) < g.hi), "G2", "row %d, %x, is in the granule of %x to %x", row, key, g.lo, g.hi)
		before, key = key, before
	}
}
