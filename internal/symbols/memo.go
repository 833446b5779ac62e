package symbols

import (
	"regexp"

	"github.com/granarydb/granary/internal/pattern"
	codec "github.com/granarydb/granary/profile/pprof"
)

// memo is a pattern, tried once for each distinct text. A nil memo matches every text. It belongs to one goroutine
// at a time. What it says after stop means nothing, and is not kept.
type memo struct {
	*pattern.Regexp
	known map[string]bool
}

func newMemo(re *regexp.Regexp) *memo {
	if re == nil {
		return nil
	}
	return &memo{pattern.New(re), map[string]bool{}}
}

func (m *memo) matches(text string, stop pattern.Stop) bool {
	if m == nil {
		return true
	}
	match, known := m.known[text]
	if !known {
		if match = m.Match([]byte(text), stop); !stop.Now() {
			m.known[text] = match
		}
	}
	return match
}

// names reports whether the pattern matches the name or file of a line at a location, or the mapping's
// file. A line of -1 stands for a location without lines.
func (m *memo) names(l *codec.LocationRecord, line int, stop pattern.Stop) bool {
	if m == nil || l.Mapping != nil && m.matches(l.Mapping.File, stop) {
		return true
	}
	if line < 0 || l.Lines[line].NoFunction {
		return false
	}
	return m.matches(l.Lines[line].Shown, stop) || m.matches(l.Lines[line].File, stop)
}
