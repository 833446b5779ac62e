package symbols

import (
	"regexp"

	"github.com/granarydb/granary/internal/pattern"
	codec "github.com/granarydb/granary/profile/pprof"
)

// filter hides frames, as the options -hide and -show of go tool pprof do.
type filter struct{ hide, show *memo }

// newFilter returns nil if there is nothing to hide.
func newFilter(hide, show *regexp.Regexp) *filter {
	if hide == nil && show == nil {
		return nil
	}
	return &filter{newMemo(hide), newMemo(show)}
}

// hides reports whether the whole location is hidden. If not, it takes the hidden lines out
// of the location. As in pprof, a location without lines is never shown by a pattern, and a
// line without a function always.
func (f *filter) hides(l *codec.LocationRecord, stop pattern.Stop) bool {
	if len(l.Lines) == 0 {
		return f.show != nil || f.hide != nil && f.hide.names(l, -1, stop)
	}
	var kept []codec.RecordLine
	for i := range l.Lines {
		if f.hide != nil && f.hide.names(l, i, stop) || !l.Lines[i].NoFunction && !f.show.names(l, i, stop) {
			continue
		}
		kept = append(kept, l.Lines[i])
	}
	l.Lines = kept
	return len(kept) == 0
}

// equal reports whether two filters hide the same frames.
func (f *filter) equal(g *filter) bool {
	if f == nil || g == nil {
		return f == g
	}
	same := func(p, q *memo) bool { return p == q || p != nil && q != nil && p.String() == q.String() }
	return same(f.hide, g.hide) && same(f.show, g.show)
}

// LeavesOutAs reports whether two resolvers leave out the same frames.
func (s *Resolver) LeavesOutAs(other *Resolver) bool { return s.filter.equal(other.filter) }
