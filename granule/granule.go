package granule

import (
	"slices"

	"github.com/granarydb/granary/schema"
)

// Granule is all rows in a table with Lo <= key < Hi. It is immutable: adding rows makes a new Granule
// that shares the old one's parts.
type Granule struct {
	lo, hi string
	base   Section   // the rows of the last rewrite; its Part is nil if there are none
	fresh  *partLink // parts inserted since, newest first

	freshParts, freshRows, freshSize int
}

// partLink is a link of the persistent list of fresh parts. Links are allocated separately, because in a shared
// allocation a live link would keep its dead neighbours and their lists alive.
type partLink struct {
	section Section
	next    *partLink
}

// grown is a granule and its newest link in one allocation. The link keeps the granule alive while other
// granules refer to the link. They have the same base, so this retains only the Granule struct itself.
type grown struct {
	Granule
	link partLink
}

// New returns a granule without rows.
func New(lo, hi string) *Granule { return &Granule{lo: lo, hi: hi} }

// Bounds returns the inclusive lower and the exclusive upper bound of the keys. An empty upper bound
// means no bound.
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

// Size returns the bytes of the rows. A part that a split divided counts by its share.
func (g *Granule) Size() int { return g.base.Size() + g.freshSize }

// FreshSize returns the bytes of the parts since the last rewrite, computed as in Size.
func (g *Granule) FreshSize() int { return g.freshSize }

// With returns a granule that also has the rows of s, which must be within the bounds. O(1):
// one allocation.
func (g *Granule) With(s Section) *Granule {
	next := &grown{Granule: *g}
	next.add(s, &next.link)
	return &next.Granule
}

// Add is With in place, for a granule that is not shared yet.
func (g *Granule) Add(s Section) { g.add(s, new(partLink)) }

func (g *Granule) add(s Section, c *partLink) {
	*c = partLink{s, g.fresh}
	g.fresh = c
	g.freshParts++
	g.freshRows += s.Rows()
	g.freshSize += s.Size()
}

// Oldest returns the granule as an earlier commit left it, with at most `rows` fresh rows, or with the oldest
// commit's rows if they are more. It bounds a rewrite's size. Succeed carries over the later parts. Oldest
// never divides a commit, because a rewrite must keep G7. It costs one allocation and O(omitted parts).
func (g *Granule) Oldest(rows int) *Granule {
	if g.freshRows <= rows || g.fresh.older() == nil {
		return g
	}
	before := *g
	for older := g.fresh.older(); older != nil && before.freshRows > rows; older = older.older() {
		for ; before.fresh != older; before.fresh = before.fresh.next {
			before.freshParts--
			before.freshRows -= before.fresh.section.Rows()
			before.freshSize -= before.fresh.section.Size()
		}
	}
	return &before
}

// older returns the newest part of a commit before c's commit, or nil.
func (c *partLink) older() *partLink {
	next := c.next
	for next != nil && next.section.Part.Commit() == c.section.Part.Commit() {
		next = next.next
	}
	return next
}

// Base returns the rows of the last rewrite. ok is false if the granule has other rows, or no rows.
func (g *Granule) Base() (base Section, ok bool) { return g.base, g.fresh == nil && g.base.Part != nil }

// Sections returns the granule's parts, oldest first.
func (g *Granule) Sections() []Section { return g.AppendSections(make([]Section, 0, g.freshParts+1)) }

// AppendSections appends the granule's parts, oldest first, to dst.
func (g *Granule) AppendSections(dst []Section) []Section {
	start := len(dst)
	for c := g.fresh; c != nil; c = c.next {
		dst = append(dst, c.section)
	}
	if g.base.Part != nil {
		dst = append(dst, g.base)
	}
	slices.Reverse(dst[start:])
	return dst
}

// Succeed decides whether children, a rewrite of old, can replace g, the present granule with the bounds of
// old. They can if g is old with parts added. Succeed then divides the added parts among the children as
// sections within their bounds (G2), and returns the children to publish. Otherwise another rewrite was
// published first, and ok is false.
func (g *Granule) Succeed(s *schema.Schema, old *Granule, children []*Granule) (successors []*Granule, ok bool) {
	if g.lo != old.lo || g.hi != old.hi || g.base != old.base {
		return nil, false
	}
	var since []Section
	c := g.fresh
	for ; c != nil && c != old.fresh; c = c.next {
		since = append(since, c.section)
	}
	if c != old.fresh {
		return nil, false
	}
	successors = slices.Clone(children)
	for _, section := range slices.Backward(since) {
		for i, child := range successors {
			if part := section.Within(s, child.lo, child.hi); part.Rows() > 0 {
				successors[i] = child.With(part)
			}
		}
	}
	return successors, true
}

// Join returns, for a reader, the granule with the rows of others that are within its bounds. It changes no
// granule. The rows of others count as fresh. It returns g if others have no such rows.
func (g *Granule) Join(s *schema.Schema, others []*Granule) *Granule {
	joined := g
	for _, other := range others {
		if other.hi != "" && other.hi <= g.lo || g.hi != "" && g.hi <= other.lo {
			continue
		}
		for _, section := range other.Sections() {
			mine := section
			if other.lo < g.lo || g.hi != "" && (other.hi == "" || other.hi > g.hi) { // otherwise all rows of other are within the bounds (G2)
				mine = section.Within(s, g.lo, g.hi)
			}
			switch {
			case mine.Rows() == 0:
			case joined == g:
				joined = g.With(mine)
			default:
				joined.Add(mine)
			}
		}
	}
	return joined
}

// Of returns a granule whose base is a part of an earlier run's rewrite, or nil.
func Of(lo, hi string, base *Part) *Granule {
	g := New(lo, hi)
	if base != nil {
		g.base = Section{base, 0, base.Rows()}
	}
	return g
}

// IsDue reports whether a granule has enough fresh parts for a rewrite to pay, or exceeds its limits. `most`
// fresh parts are enough, or `few` if they have as many rows as the base. A base that is too large without
// fresh parts cannot be split, because its keys are all equal; then only the fresh parts make the granule due.
func (g *Granule) IsDue(limit Limit, few, most int) bool {
	base, baseSize := g.Rows()-g.FreshRows(), g.Size()-g.FreshSize()
	switch {
	case g.FreshParts() >= most:
		return true
	case g.FreshParts() >= few && g.FreshRows() >= base:
		return true
	case g.Rows() > limit.Rows && base <= limit.Rows:
		return true
	}
	return g.Size() > limit.Bytes && baseSize <= limit.Bytes
}
