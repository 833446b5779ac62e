package profile

import (
	"regexp"
)

// Search returns the stacks that have a function whose name the pattern matches, in
// any of their frames. Names are those of Frame, and the pattern is not anchored. A
// nil pattern matches all.
//
// The pattern is tried once for each distinct name, and no record is decoded more than
// for that. Where the stacks come from a query that is asked for nothing else,
// Query.Function does the same before anything is summed.
func (s *Stacks) Search(pattern *regexp.Regexp) *Stacks {
	if pattern == nil {
		return s
	}
	m := newFunctionMatcher(pattern)
	symbols := s.known()
	said := make([]paged[verdict], len(symbols.lists))
	out := &Stacks{Type: s.Type, symbols: symbols}
	var elements []uint32
	for i, code := range s.codes {
		ref := symbols.ref(code)
		lists := symbols.lists[ref.lists]
		elements = lists.List(elements[:0], ref.code)
		for _, element := range elements {
			v := said[ref.lists].at(element)
			if *v == unasked {
				*v = verdictOf(m.matches(symbols.record(ref.lists, element)))
			}
			if *v == matches {
				out.add(code, s.values[i])
				break
			}
		}
	}
	return out
}
