package granule

import (
	"cmp"
	"slices"

	"github.com/granarydb/granary/internal/invariants"
	"github.com/granarydb/granary/schema"
)

// Limit is the maximum size of a granule.
type Limit struct {
	Rows  int
	Bytes int // of Granule.Size; 0 means no limit
	// Pause, if not nil, is called between series and between columns after every few thousand rows, so
	// that the caller can let other goroutines run.
	Pause func()
}

// rows returns the limit in rows of g's average size.
func (l Limit) rows(g *Granule) int {
	if l.Bytes == 0 || g.Size() <= l.Bytes {
		return l.Rows
	}
	return max(1, min(l.Rows, int(int64(l.Bytes)*int64(g.Rows())/int64(g.Size()))))
}

// Rewrite merges the parts of g and returns the granules that replace it: one if it is within the limit
// (compaction), otherwise the fewest granules of about equal size that are (split). Rows with equal keys stay
// together, therefore a granule with such rows can exceed the limit.
//
// It is a pure function: readers may continue to use g. It costs 40 to 100 ns per row and, while it runs,
// RewriteSize bytes.
func Rewrite(s *schema.Schema, g *Granule, limit Limit) []*Granule {
	if g.Rows() == 0 {
		return []*Granule{New(g.lo, g.hi)}
	}
	mem := slabs.Get().(*slab)
	defer mem.done()
	sections := g.Sections()
	frames := make([]*frame, len(sections))
	stamp := Part{begin: sections[0].Part.begin}
	pause := &pauser{pause: limit.Pause}
	for i, section := range sections {
		pause.did(section.Rows())
		frames[i] = frameOf(s, section.Part, section.Lo, section.Hi, mem)
		stamp.begin = min(stamp.begin, section.Part.begin)
		stamp.commit = max(stamp.commit, section.Part.commit)
	}
	m := merge(frames, g.Rows(), mem, pause)
	maxRows := limit.rows(g)
	children := make([]*Granule, 0, 1)
	lo, bound := 0, g.lo
	for lo < len(m.order) {
		hi, next := m.childEnd(lo, maxRows, g.hi)
		child := New(bound, next)
		part := buildBase(m, lo, hi)
		part.Stamp(stamp.begin, stamp.commit)
		child.base = Section{part, 0, part.Rows()}
		children = append(children, child)
		lo, bound = hi, next
	}
	if invariants.Enabled {
		checkChildren(g, children)
	}
	return children
}

// checkChildren panics unless granules have as many rows as the granule that they replace (G3), and partition
// its bounds (G4).
func checkChildren(g *Granule, children []*Granule) {
	rows, bound := 0, g.lo
	for _, child := range children {
		invariants.Check(child.lo == bound, "G4", "a child begins at %x, want %x", child.lo, bound)
		rows, bound = rows+child.Rows(), child.hi
	}
	invariants.Check(bound == g.hi, "G4", "the last child ends at %x, want %x", bound, g.hi)
	invariants.Check(rows == g.Rows(), "G3", "%d rows in the children of %d", rows, g.Rows())
}

// RewriteSize returns about how many bytes a rewrite of the granule takes while it runs: a word for each row
// and column, the order of the rows, the column in progress, and the resulting parts.
func (g *Granule) RewriteSize() int {
	const word, perRow = 8, 72
	size := g.Size()
	for _, s := range g.Sections() {
		size += s.Rows() * (perRow + word*len(s.Part.columns))
	}
	return size
}

// Halve returns a granule's rows as two granules that cover its bounds, each with about half of the rows. All
// their rows count as fresh. The bound between them is a key in the middle of the largest part. ok is false if
// all keys of that part are equal. It decodes O(parts x log rows) keys.
func (g *Granule) Halve(s *schema.Schema) (low, high *Granule, ok bool) {
	sections := g.Sections()
	largest := slices.MaxFunc(sections, func(a, b Section) int { return cmp.Compare(a.Rows(), b.Rows()) })
	keyOf := func(row int) []byte { return largest.Part.AppendKey(nil, s, row) }
	key := string(keyOf(largest.Lo + largest.Rows()/2))
	at := largest.search(s, key)
	if at == largest.Lo { // the first half has one key: divide behind it
		at = largest.search(s, key+"\x00")
	}
	if at == largest.Hi {
		return nil, nil, false
	}
	shortest, _ := separator(keyOf(at-1), keyOf(at))
	bound := string(shortest)
	low, high = New(g.lo, bound), New(bound, g.hi)
	for _, section := range sections {
		if part := section.Within(s, g.lo, bound); part.Rows() > 0 {
			low.Add(part)
		}
		if part := section.Within(s, bound, g.hi); part.Rows() > 0 {
			high.Add(part)
		}
	}
	return low, high, true
}

// childEnd returns the end of the child that begins at row lo, and its upper bound. The child gets about an
// equal share of the remaining rows. It ends with the last row, and with the bound `last`, if the last row is
// at most maxRows away or no key changes.
//
// Near the target it takes the nearest change of the series, otherwise the nearest change of the next column
// of the key, which for profiles is the stack. It divides the rows of a stack only if there are too many. The
// bound is the shortest string that separates the two rows. Rows with equal keys stay together (G4).
func (m *merged) childEnd(lo, maxRows int, last string) (at int, bound string) {
	left := len(m.order) - lo
	pieces := (left-1)/maxRows + 1
	if pieces == 1 {
		return len(m.order), last
	}
	share := left / pieces
	target := lo + share
	// With a nearer end, the remaining rows would need one more granule.
	from, to := max(target-share/16, len(m.order)-(pieces-1)*maxRows), min(target+share/16, lo+maxRows)
	for _, changes := range []func(i int) bool{m.seriesChanges, m.listChanges, m.keyChanges} {
		if at = nearest(target, from, to, changes); at > 0 {
			return at, m.separator(at)
		}
	}
	for at = from - 1; at > lo; at-- {
		if m.keyChanges(at) {
			return at, m.separator(at)
		}
	}
	for at = to + 1; at < len(m.order); at++ {
		if m.keyChanges(at) {
			return at, m.separator(at)
		}
	}
	return len(m.order), last
}

// nearest returns the position in [from, to] nearest to target for which changes is true, or 0.
func nearest(target, from, to int, changes func(i int) bool) int {
	for d := 0; target-d >= from || target+d <= to; d++ {
		if target-d >= from && changes(target-d) {
			return target - d
		}
		if d > 0 && target+d <= to && changes(target+d) {
			return target + d
		}
	}
	return 0
}

// seriesChanges reports whether rows i-1 and i have different series.
func (m *merged) seriesChanges(i int) bool {
	a, b := m.order[i-1], m.order[i]
	return m.frames[a.frame].series[a.row] != m.frames[b.frame].series[b.row]
}

// listChanges reports whether rows i-1 and i have different leading lists in their suffix.
func (m *merged) listChanges(i int) bool {
	a, b := m.order[i-1], m.order[i]
	f, g := m.frames[a.frame], m.frames[b.frame]
	return f.schema.ListsLead() && f.compareColumn(0, int(a.row), g, int(b.row)) != 0
}

// keyChanges reports whether rows i-1 and i have different keys.
func (m *merged) keyChanges(i int) bool {
	a, b := m.order[i-1], m.order[i]
	return m.seriesChanges(i) || m.frames[a.frame].compare(int(a.row), m.frames[b.frame], int(b.row), 0) != 0
}

// separator returns the bound between rows i-1 and i.
func (m *merged) separator(i int) string {
	a, b := m.order[i-1], m.order[i]
	bound, _ := separator(m.frames[a.frame].appendKey(nil, int(a.row)), m.frames[b.frame].appendKey(nil, int(b.row)))
	return string(bound)
}

// separator returns the shortest string s with a < s <= b, where a <= b. ok is false if they are equal.
func separator(a, b []byte) (s []byte, ok bool) {
	for i := range b {
		if i == len(a) || a[i] != b[i] {
			return b[:i+1], true
		}
	}
	return nil, false
}
