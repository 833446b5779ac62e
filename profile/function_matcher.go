package profile

import (
	"bytes"
	"regexp"
	"sync"

	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
)

// verdict is the answer of a pattern for a location.
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
