package granule

import (
	"slices"

	"github.com/granarydb/granary/schema"
)

// Granule is all rows of a table with Lo <= key < Hi. It is immutable: adding
// rows makes a new Granule that shares the old one's parts.
type Granule struct {
	lo, hi string
	base   Slice // the last rewrite's rows; its Part is nil if there are none
	fresh  *cell // parts inserted since, newest first

	freshParts, freshRows, freshSize int
}

// cell is a link of the persistent list of fresh parts. Cells are allocated
// one by one: in a slab, one live cell would keep its dead neighbours and all
// that their lists lead to.
type cell struct {
	slice Slice
	next  *cell
}

// grown is a granule with the cell of what it has more than the one before. The cell keeps
// the granule alive for as long as there are others with it; these have the same base, so
// that is nothing but the granule itself.
type grown struct {
	Granule
	cell cell
}

// New returns a granule without rows.
func New(lo, hi string) *Granule { return &Granule{lo: lo, hi: hi} }

// Bounds returns the inclusive lower and the exclusive upper bound of the keys;
// an empty upper bound means none.
func (g *Granule) Bounds() (lo, hi string) { return g.lo, g.hi }

// Rows returns the number of rows.
func (g *Granule) Rows() int { return g.base.Rows() + g.freshRows }

// Parts returns the number of parts.
func (g *Granule) Parts() int {
	if g.base.Part == nil {
		return g.freshParts
	}
	return g.freshParts + 1
}

// FreshParts returns the number of parts since the last rewrite.
func (g *Granule) FreshParts() int { return g.freshParts }

// FreshRows returns the number of rows since the last rewrite.
func (g *Granule) FreshRows() int { return g.freshRows }

// Size returns the bytes of the rows: of a part that a split divided, the share.
func (g *Granule) Size() int { return g.base.Size() + g.freshSize }

// FreshSize returns the bytes of the parts since the last rewrite, as Size.
func (g *Granule) FreshSize() int { return g.freshSize }

// With returns a granule that also has the rows of s, which must be within the
// bounds. O(1): one allocation.
func (g *Granule) With(s Slice) *Granule {
	next := &grown{Granule: *g}
	next.add(s, &next.cell)
	return &next.Granule
}

// Add is With for a granule that nobody else has seen yet: it changes it.
func (g *Granule) Add(s Slice) { g.add(s, new(cell)) }

func (g *Granule) add(s Slice, c *cell) {
	*c = cell{s, g.fresh}
	g.fresh = c
	g.freshParts++
	g.freshRows += s.Rows()
	g.freshSize += s.Size()
}

// Oldest returns the granule as it was when it had at most so many fresh rows, or one fresh
// part: what is rewritten at once then has a bound, and Succeed carries over the parts since.
// One allocation, and O(parts that are left out).
func (g *Granule) Oldest(rows int) *Granule {
	if g.freshRows <= rows || g.freshParts <= 1 {
		return g
	}
	before := *g
	for before.freshRows > rows && before.freshParts > 1 {
		newest := before.fresh
		before.fresh = newest.next
		before.freshParts--
		before.freshRows -= newest.slice.Rows()
		before.freshSize -= newest.slice.Size()
	}
	return &before
}

// Base returns the rows of the last rewrite, if the granule has no others.
func (g *Granule) Base() (base Slice, ok bool) { return g.base, g.fresh == nil && g.base.Part != nil }

// Slices returns the parts of the granule, oldest first.
func (g *Granule) Slices() []Slice { return g.AppendSlices(make([]Slice, 0, g.freshParts+1)) }

// AppendSlices appends the parts of the granule, oldest first, to dst.
func (g *Granule) AppendSlices(dst []Slice) []Slice {
	start := len(dst)
	for c := g.fresh; c != nil; c = c.next {
		dst = append(dst, c.slice)
	}
	if g.base.Part != nil {
		dst = append(dst, g.base)
	}
	slices.Reverse(dst[start:])
	return dst
}

// Succeed decides whether children, a rewrite of old, can take the place of g,
// the granule that is at old's bound now. They can if g is old with zero or
// more parts added since; those are carried into the children as sub-ranges
// within their bounds (G2), and the children to publish are returned. Otherwise
// something else rewrote the granule meanwhile, and ok is false.
func (g *Granule) Succeed(s *schema.Schema, old *Granule, children []*Granule) (successors []*Granule, ok bool) {
	if g.lo != old.lo || g.hi != old.hi || g.base != old.base {
		return nil, false
	}
	var since []Slice
	c := g.fresh
	for ; c != nil && c != old.fresh; c = c.next {
		since = append(since, c.slice)
	}
	if c != old.fresh {
		return nil, false
	}
	successors = slices.Clone(children)
	for _, slice := range slices.Backward(since) {
		for i, child := range successors {
			if part := slice.Within(s, child.lo, child.hi); part.Rows() > 0 {
				successors[i] = child.With(part)
			}
		}
	}
	return successors, true
}
