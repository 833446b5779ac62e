package symbols

import (
	"bytes"
	"regexp"
	"sync"

	"github.com/granarydb/granary/internal/pattern"
	codec "github.com/granarydb/granary/profile/pprof"
)

// verdict is a pattern's result for a location.
type verdict uint8

const (
	unasked verdict = iota
	matches
	differs
)

// functionMatcher matches a pattern against function names, once for each distinct name. It is safe for
// concurrent use, like the conditions that contain it.
type functionMatcher struct {
	pattern *pattern.Regexp
	stop    pattern.Stop // after it results mean nothing
	namer   codec.Namer  // of addresses, or nil
	prefix  []byte       // prefix of every match: names without it cannot match

	mu    sync.Mutex
	known map[string]bool
	names [][]byte // scratch memory
}

func newFunctionMatcher(re *regexp.Regexp, namer codec.Namer, stop pattern.Stop) *functionMatcher {
	of := pattern.New(re)
	return &functionMatcher{pattern: of, stop: stop, namer: namer, prefix: []byte(of.LiteralPrefix()), known: map[string]bool{}}
}

// matches reports whether a location's record has a function with a matching name.
func (m *functionMatcher) matches(record []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names = AppendNames(m.names[:0], record, m.namer)
	return m.matchesAny()
}

// matchesOf reports whether a location has a function with a matching name that the answer shows.
func (m *functionMatcher) matchesOf(resolver *Resolver, element uint32) bool {
	if resolver.filter == nil {
		return m.matches(resolver.record(element))
	}
	y := resolver.symbol(element, m.stop)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names = m.names[:0]
	for i := range y.Functions {
		m.names = append(m.names, []byte(y.Name(i)))
	}
	return m.matchesAny()
}

// matchesAny reports whether any of the names matches. The caller holds mu.
func (m *functionMatcher) matchesAny() bool {
	for _, name := range m.names {
		if !bytes.Contains(name, m.prefix) {
			continue
		}
		match, known := m.known[string(name)]
		if !known {
			match = m.pattern.Match(name, m.stop)
			m.known[string(name)] = match
		}
		if match {
			return true
		}
	}
	return false
}

// HasFunction returns a function that reports whether a location's record has a function with a matching
// name. It is safe for concurrent use.
func HasFunction(re *regexp.Regexp, namer codec.Namer, stop pattern.Stop) func(record []byte) bool {
	return newFunctionMatcher(re, namer, stop).matches
}

// Search calls found with the index of each stack that has a function with a matching name. The pattern is
// not anchored. It is tried once for each distinct name, and records are decoded only as far as the names
// require. Search ends at stop.
func (s *Resolver) Search(re *regexp.Regexp, stacks []uint32, stop pattern.Stop, found func(i int)) {
	m := newFunctionMatcher(re, s.decoder.Namer, stop)
	verdicts := paged[verdict]{}
	var elements []uint32
	for i, stack := range stacks {
		if stop.Now() {
			return
		}
		elements = s.lists.List(elements[:0], stack)
		for _, element := range elements {
			v := verdicts.at(element)
			if *v == unasked {
				if *v = differs; m.matchesOf(s, element) {
					*v = matches
				}
			}
			if *v == matches {
				found(i)
				break
			}
		}
	}
}
