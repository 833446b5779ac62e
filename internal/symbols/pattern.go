package symbols

import (
	"regexp"

	codec "github.com/granarydb/granary/profile/pprof"
)

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

// names reports whether the pattern matches the name or file of a line at a location, or the mapping's
// file. A line of -1 stands for a location without lines.
func (p *pattern) names(l *codec.LocationRecord, line int) bool {
	if p == nil || l.Mapping != nil && p.matches(l.Mapping.File) {
		return true
	}
	if line < 0 || l.Lines[line].NoFunction {
		return false
	}
	return p.matches(l.Lines[line].Shown) || p.matches(l.Lines[line].File)
}
