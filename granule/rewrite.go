package granule

import (
	"github.com/granarydb/granary/schema"
)

// Limit is how large a granule may be.
type Limit struct {
	Rows  int
	Bytes int // of Granule.Size; 0 means no limit
}

// rows returns the limit in rows of g's average size.
func (l Limit) rows(g *Granule) int {
	if l.Bytes == 0 || g.Size() <= l.Bytes {
		return l.Rows
	}
	return max(1, min(l.Rows, int(int64(l.Bytes)*int64(g.Rows())/int64(g.Size()))))
}

// Rewrite merges the parts of g and returns the granules to take its place:
// one if it is within the limit (compaction), else the fewest of about equal
// size that are (split). Rows with equal keys stay together, so a granule of
// them can be larger.
//
// It is a pure function: g goes on to be read. It costs about 300 ns a row
// and, while it runs, RewriteSize bytes.
func Rewrite(s *schema.Schema, g *Granule, limit Limit) []*Granule {
	if g.Rows() == 0 {
		return []*Granule{New(g.lo, g.hi)}
	}
	slices := g.Slices()
	frames := make([]*frame, len(slices))
	stamp := Part{begin: slices[0].Part.begin}
	for i, slice := range slices {
		frames[i] = frameOf(s, slice.Part, slice.Lo, slice.Hi)
		stamp.begin = min(stamp.begin, slice.Part.begin)
		stamp.commit = max(stamp.commit, slice.Part.commit)
	}
	order := merge(frames, g.Rows())
	maxRows := limit.rows(g)
	children := make([]*Granule, 0, 1)
	lo, bound := 0, g.lo
	for lo < len(order) {
		hi, next := cut(frames, order, lo, maxRows, g.hi)
		child := New(bound, next)
		part := build(frames, order[lo:hi])
		part.Stamp(stamp.begin, stamp.commit)
		child.base = Slice{part, 0, part.Rows()}
		children = append(children, child)
		lo, bound = hi, next
	}
	return children
}

// RewriteSize returns about how many bytes a rewrite of the granule holds while
// it runs: a word for each row and column, the order of the rows, the column
// that is being built, and the parts that come out.
func (g *Granule) RewriteSize() int {
	const word, perRow = 8, 40
	size := g.Size()
	for _, s := range g.Slices() {
		size += s.Rows() * (perRow + word*len(s.Part.columns))
	}
	return size
}

func keyOf(frames []*frame, r rowRef) []byte {
	return frames[r.frame].appendKey(nil, int(r.row))
}

// cut returns where the child that begins at row lo ends, and its upper bound:
// after about an equal share of what is left, or at the end, bounded by last, if
// that is at most maxRows away or no key changes.
//
// Near the target it takes the place where neighbours have the least in common:
// that is between two series if there is such a place, else between two stacks,
// and inside of the run of one stack only if that is too large. The bound is the
// shortest string that separates the two. Rows with equal keys stay together (G4).
func cut(frames []*frame, order []rowRef, lo, maxRows int, last string) (at int, bound string) {
	left := len(order) - lo
	pieces := (left-1)/maxRows + 1
	if pieces == 1 {
		return len(order), last
	}
	share := left / pieces
	target := lo + share
	// Not so near that what is left would need a granule more.
	from, to := max(lo+1, target-share/16, len(order)-(pieces-1)*maxRows), min(target+share/16, lo+maxRows)
	consider := func(i int) {
		b, differ := separator(keyOf(frames, order[i-1]), keyOf(frames, order[i]))
		if differ && (at == 0 || len(b) < len(bound)) {
			at, bound = i, string(b)
		}
	}
	// From the middle outward, so that of equals the nearest is taken.
	for d := 0; target-d >= from || target+d <= to; d++ {
		if target-d >= from {
			consider(target - d)
		}
		if d > 0 && target+d <= to {
			consider(target + d)
		}
	}
	for i := from - 1; at == 0 && i > lo; i-- {
		consider(i)
	}
	for i := to + 1; at == 0 && i < len(order); i++ {
		consider(i)
	}
	if at == 0 {
		return len(order), last
	}
	return at, bound
}

// separator returns the shortest string that is above a and not above b, where
// a <= b; there is none if they are equal.
func separator(a, b []byte) (s []byte, ok bool) {
	for i := range b {
		if i == len(a) || a[i] != b[i] {
			return b[:i+1], true
		}
	}
	return nil, false
}
