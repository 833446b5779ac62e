package profile

import (
	"bytes"
	"regexp"
	"sync"

	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
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

// verdict is what a pattern says of a location.
type verdict uint8

const (
	unasked verdict = iota
	matches
	differs
)

func verdictOf(match bool) verdict {
	if match {
		return matches
	}
	return differs
}

// functionMatcher tries a pattern on names of functions, once on each. It is safe for
// concurrent use, as the conditions are that it is part of.
type functionMatcher struct {
	pattern *regexp.Regexp
	prefix  []byte // all matches begin with it: a name without it needs no trial

	mu    sync.Mutex
	known map[string]bool
	names [][]byte // to work with
}

func newFunctionMatcher(pattern *regexp.Regexp) *functionMatcher {
	prefix, _ := pattern.LiteralPrefix()
	return &functionMatcher{pattern: pattern, prefix: []byte(prefix), known: map[string]bool{}}
}

// matches says whether a function of a location's record has a name that the pattern
// matches.
func (m *functionMatcher) matches(record []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names = appendNames(m.names[:0], record)
	for _, name := range m.names {
		if !bytes.Contains(name, m.prefix) {
			continue
		}
		match, known := m.known[string(name)]
		if !known {
			match = m.pattern.Match(name)
			m.known[string(name)] = match
		}
		if match {
			return true
		}
	}
	return false
}

// hasFunction holds for rows with a function in their stack whose name the pattern
// matches.
func hasFunction(pattern *regexp.Regexp) columnstore.Expr {
	m := newFunctionMatcher(pattern)
	return columnstore.HasElement(ColumnStacktrace, func(_ uuid.UUID, record []byte) bool { return m.matches(record) })
}
