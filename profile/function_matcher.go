package profile

import (
	"bytes"
	"regexp"
	"sync"

	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
)

// verdict is the result of a pattern for a location.
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

// functionMatcher matches a pattern against names of functions, once for each distinct name.
// It is safe for concurrent use, like the conditions that contain it.
type functionMatcher struct {
	pattern *regexp.Regexp
	prefix  []byte // of every match: names without it cannot match

	mu    sync.Mutex
	known map[string]bool
	names [][]byte // scratch memory
}

func newFunctionMatcher(pattern *regexp.Regexp) *functionMatcher {
	prefix, _ := pattern.LiteralPrefix()
	return &functionMatcher{pattern: pattern, prefix: []byte(prefix), known: map[string]bool{}}
}

// matches reports whether the record of a location has a function whose name matches the
// pattern.
func (m *functionMatcher) matches(record []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names = appendNames(m.names[:0], record)
	return m.matchesAny()
}

// matchesOf reports whether a location has a function that an answer does not leave out and
// whose name matches the pattern.
func (m *functionMatcher) matchesOf(symbols *symbols, lists, element uint32) bool {
	if symbols.filter == nil {
		return m.matches(symbols.record(lists, element))
	}
	y := symbols.symbol(lists, element)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names = m.names[:0]
	for i := range y.functions {
		m.names = append(m.names, []byte(y.frame(i).Function))
	}
	return m.matchesAny()
}

// matchesAny reports whether one of the names matches. The caller holds mu.
func (m *functionMatcher) matchesAny() bool {
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

// hasFunction returns a condition that holds for rows whose stack has a function with a
// matching name.
func hasFunction(pattern *regexp.Regexp) columnstore.Expr {
	m := newFunctionMatcher(pattern)
	return columnstore.HasElement(ColumnStacktrace, func(_ uuid.UUID, record []byte) bool { return m.matches(record) })
}
