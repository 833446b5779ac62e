package profile

import (
	"regexp"
)

// Search returns the stacks that have a function with a matching name in any frame, as in Frame. The
// pattern is not anchored; nil matches all.
//
// The pattern is matched once for each distinct name, and records are decoded only as far as names need.
// If the stacks are used for nothing else, Query.Function gives the same result and filters before
// anything is summed.
func (s *Stacks) Search(pattern *regexp.Regexp) *Stacks {
	if pattern == nil {
		return s
	}
	out := &Stacks{Type: s.Type, symbols: s.known()}
	out.symbols.Search(pattern, s.codes, func(i int) { out.add(s.codes[i], s.values[i]) })
	return out
}
