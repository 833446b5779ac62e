package profile

import (
	"regexp"
	"sync"

	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	codec "github.com/granarydb/granary/profile/pprof"
)

// FrameCondition is a condition on the frames of a stack: one frame fulfils all that is set.
// Patterns are not anchored; nil is not set. A FrameCondition without any setting holds for
// every stack with a frame.
type FrameCondition struct {
	// Not reverses the condition: no frame fulfils all that is set.
	Not bool
	// Name matches the name or the file of the function, or the file of the mapping, as the
	// options -focus and -ignore of go tool pprof do. A function without a name has the name
	// "" here.
	Name *regexp.Regexp
	// Function matches Frame.Function, File matches Frame.File.
	Function, File *regexp.Regexp
	// Mapping and BuildID match those of the frame's Location.
	Mapping, BuildID *regexp.Regexp
	// From and To bound the address of the frame's Location: From <= Address < To. Zero means
	// no bound.
	From, To uint64
}

// pattern is a regular expression, tried once for each distinct text. A nil pattern matches
// every text. It belongs to one goroutine at a time.
type pattern struct {
	*regexp.Regexp
	known map[string]bool
}

func newPattern(re *regexp.Regexp) *pattern {
	if re == nil {
		return nil
	}
	return &pattern{re, map[string]bool{}}
}

// again returns the pattern for another goroutine.
func (p *pattern) again() *pattern {
	if p == nil {
		return nil
	}
	return newPattern(p.Regexp)
}

func (p *pattern) matches(text string) bool {
	if p == nil {
		return true
	}
	match, known := p.known[text]
	if !known {
		match = p.MatchString(text)
		p.known[text] = match
	}
	return match
}

// names reports whether the pattern matches the name or the file of a line of a location, or
// the file of the mapping. A line of -1 stands for a location without lines.
func (p *pattern) names(l *codec.LocationRecord, line int) bool {
	if p == nil || l.Mapping != nil && p.matches(l.Mapping.File) {
		return true
	}
	if line < 0 || l.Lines[line].NoFunction {
		return false
	}
	return p.matches(l.Lines[line].Function) || p.matches(l.Lines[line].File)
}

// frameMatcher matches a FrameCondition, without its Not, against locations.
type frameMatcher struct {
	name, function, file, mapping, buildID *pattern
	from, to                               uint64
}

func newFrameMatcher(c FrameCondition) *frameMatcher {
	return &frameMatcher{newPattern(c.Name), newPattern(c.Function), newPattern(c.File), newPattern(c.Mapping), newPattern(c.BuildID), c.From, c.To}
}

// matches reports whether a frame of a location fulfils the condition.
func (m *frameMatcher) matches(l *codec.LocationRecord) bool {
	at := locationOf(l)
	if at.Address < m.from || m.to != 0 && at.Address >= m.to || !m.mapping.matches(at.Mapping) || !m.buildID.matches(at.BuildID) {
		return false
	}
	y := symbol{LocationRecord: *l, unnamed: l.Unnamed()}
	for i := range y.frames() {
		f, line := y.frame(i), i
		if len(l.Lines) == 0 {
			line = -1
		}
		if m.function.matches(f.Function) && m.file.matches(f.File) && m.name.names(l, line) {
			return true
		}
	}
	return false
}

// frameFilter hides frames, as the options -hide and -show of go tool pprof do.
type frameFilter struct{ hide, show *pattern }

// newFrameFilter returns nil if there is nothing to hide.
func newFrameFilter(hide, show *regexp.Regexp) *frameFilter {
	if hide == nil && show == nil {
		return nil
	}
	return &frameFilter{newPattern(hide), newPattern(show)}
}

// hides reports whether the whole location is hidden. If not, it takes the hidden lines out
// of the location. As in pprof, a location without lines is never shown by a pattern, and a
// line without a function always.
func (f *frameFilter) hides(l *codec.LocationRecord) bool {
	if len(l.Lines) == 0 {
		return f.show != nil || f.hide != nil && f.hide.names(l, -1)
	}
	var kept []codec.RecordLine
	for i := range l.Lines {
		if f.hide != nil && f.hide.names(l, i) || !l.Lines[i].NoFunction && !f.show.names(l, i) {
			continue
		}
		kept = append(kept, l.Lines[i])
	}
	l.Lines = kept
	return len(kept) == 0
}

// equal reports whether two filters hide the same frames.
func (f *frameFilter) equal(g *frameFilter) bool {
	if f == nil || g == nil {
		return f == g
	}
	same := func(p, q *pattern) bool { return p == q || p != nil && q != nil && p.String() == q.String() }
	return same(f.hide, g.hide) && same(f.show, g.show)
}

// frameExprs returns the conditions of a query on the frames of stacks.
func (q *Query) frameExprs() []columnstore.Expr {
	var all []columnstore.Expr
	some := false // one of them holds only for stacks with a location
	for _, c := range q.Frames {
		e := hasLocation(newFrameMatcher(c).matches)
		if c.Not {
			e = columnstore.Not(e)
		}
		all, some = append(all, e), some || !c.Not
	}
	if f := newFrameFilter(q.Hide, q.Show); f != nil {
		all, some = append(all, hasLocation(func(l *codec.LocationRecord) bool { return !f.hides(l) })), true
	}
	if len(all) > 0 && !some {
		all = append(all, columnstore.HasElement(ColumnStacktrace, func(uuid.UUID, []byte) bool { return true }))
	}
	return all
}

// hasLocation returns a condition that holds for rows whose stack has a location for which f
// returns true. The condition is safe for concurrent use: f is called by one goroutine at a
// time. f may change the location.
func hasLocation(f func(l *codec.LocationRecord) bool) columnstore.Expr {
	var mu sync.Mutex
	texts := map[string]string{}
	return columnstore.HasElement(ColumnStacktrace, func(_ uuid.UUID, record []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		l, err := codec.ParseLocation(record, texts)
		if err != nil {
			l = &codec.LocationRecord{}
		}
		return f(l)
	})
}
