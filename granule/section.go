package granule

import (
	"slices"
	"sort"

	"github.com/granarydb/granary/schema"
)

// Section is the rows [Lo, Hi) of a part.
type Section struct {
	Part   *Part
	Lo, Hi int
}

// Rows returns the number of rows of the section.
func (s Section) Rows() int { return s.Hi - s.Lo }

// Size returns the section's share of the part's bytes.
func (s Section) Size() int {
	if s.Part == nil || s.Part.rows == 0 {
		return 0
	}
	return int(int64(s.Part.size) * int64(s.Rows()) / int64(s.Part.rows))
}

// Within returns the rows of the section with lo <= key < hi; an empty hi means no upper
// bound. It decodes O(log rows) keys.
func (s Section) Within(sch *schema.Schema, lo, hi string) Section {
	from := s.search(sch, lo)
	to := s.Hi
	if hi != "" {
		to = s.search(sch, hi)
	}
	return Section{s.Part, from, max(from, to)}
}

// search returns the first row of the section with a key at or above bound.
func (s Section) search(sch *schema.Schema, bound string) int {
	keyColumns := s.keyColumns(sch)
	mem := takeSlab()
	defer mem.done()
	below := func(row int) bool { return string(s.key(sch, keyColumns, row, mem)) < bound }
	switch { // mostly a whole section is on one side of a bound
	case s.Rows() == 0 || !below(s.Lo):
		return s.Lo
	case below(s.Hi - 1):
		return s.Hi
	}
	return s.Lo + sort.Search(s.Rows(), func(i int) bool { return !below(s.Lo + i) })
}

// FirstKey returns the key of the section's first row. The section must have rows.
func (s Section) FirstKey(sch *schema.Schema) string {
	mem := takeSlab()
	defer mem.done()
	return string(s.key(sch, s.keyColumns(sch), s.Lo, mem))
}

// keyColumns returns the columns of the key after the series.
func (s Section) keyColumns(sch *schema.Schema) []Column {
	columns := make([]Column, 0, len(s.Part.columns))
	for _, c := range s.Part.columns {
		if slices.Contains(sch.Suffix(), c.Index) {
			columns = append(columns, c)
		}
	}
	return columns
}

// key decodes the key of a row. It uses all of mem.
func (s Section) key(sch *schema.Schema, columns []Column, row int, mem *slab) []byte {
	mem.used = 0
	return frameOfColumns(sch, s.Part, columns, row, row+1, mem).appendKey(nil, 0)
}
