package profile

import (
	"regexp"
)

// Search returns the stacks that have a function with a matching name in any frame. Names are
// those of Frame. The pattern is not anchored; nil matches all.
//
// The pattern is tried once for each distinct name, and records are decoded only as far as the
// names require. If the stacks of a query are used for nothing else, Query.Function gives the
// same result and filters before anything is summed.
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
				*v = verdictOf(m.matchesOf(symbols, ref.lists, element))
			}
			if *v == matches {
				out.add(code, s.values[i])
				break
			}
		}
	}
	return out
}
