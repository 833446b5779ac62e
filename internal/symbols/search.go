package symbols

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/internal/pattern"
	codec "github.com/granarydb/granary/profile/pprof"
)

// verdict is the result of a condition for a location or a name.
type verdict uint8

const (
	unasked verdict = iota
	matches
	differs
)

// functionMatcher matches function names, once for each distinct name. It is safe for
// concurrent use, like the conditions that contain it.
type functionMatcher struct {
	match  func(name []byte) bool
	prefix []byte      // prefix of every match: names without it cannot match
	namer  codec.Namer // of addresses, or nil

	mu    sync.Mutex
	known map[string]bool
	from  *dict.RecordReader // of the last location
	codes []verdict          // by code of a text of from
	names [][]byte           // scratch memory
}

// matches reports whether a location has a function with a matching name.
func (m *functionMatcher) matches(from *dict.RecordReader, element uint32) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	record, l := from.Read(element)
	if l == nil {
		return m.matchesRecord(record)
	}
	if m.from != from {
		m.from = from
		clear(m.codes)
	}
	for i := range l.Lines {
		switch m.verdict(l.Lines[i].Function) {
		case matches:
			return true
		case unasked: // it has no name
			return m.matchesRecord(from.Record(element))
		}
	}
	return len(l.Lines) == 0 && m.matchesRecord(from.Record(element))
}

// verdict returns the result for a name, unasked for code 0. The caller holds mu.
func (m *functionMatcher) verdict(code uint32) verdict {
	if n := int(code) + 1 - len(m.codes); n > 0 {
		m.codes = append(m.codes, make([]verdict, max(n, len(m.codes)))...)
	}
	if m.codes[code] == unasked && code > 0 {
		m.codes[code] = differs
		if m.matchesName(shownName(m.from.Text(code))) {
			m.codes[code] = matches
		}
	}
	return m.codes[code]
}

// matchesRecord is matches for a record. The caller holds mu.
func (m *functionMatcher) matchesRecord(record []byte) bool {
	m.names = AppendNames(m.names[:0], record, m.namer)
	return slices.ContainsFunc(m.names, m.matchesName)
}

// matchesName reports whether a name matches. The caller holds mu.
func (m *functionMatcher) matchesName(name []byte) bool {
	if !bytes.Contains(name, m.prefix) {
		return false
	}
	match, known := m.known[string(name)]
	if !known {
		match = m.match(name)
		m.known[string(name)] = match
	}
	return match
}

// HasFunction returns a function that reports whether a location has a function with a matching name.
func HasFunction(re *regexp.Regexp, namer codec.Namer, stop pattern.Stop) Holds {
	return newFunctionMatcher(re, namer, stop).matches
}

func newFunctionMatcher(re *regexp.Regexp, namer codec.Namer, stop pattern.Stop) *functionMatcher {
	of := pattern.New(re)
	match := func(name []byte) bool { return of.Match(name, stop) }
	return &functionMatcher{match: match, prefix: []byte(of.LiteralPrefix()), namer: namer, known: map[string]bool{}}
}

// HasName returns a function that reports whether a location has a function with a name.
func HasName(name string, namer codec.Namer) Holds {
	m := functionMatcher{match: func(n []byte) bool { return string(n) == name }, prefix: []byte(name), namer: namer, known: map[string]bool{}}
	return m.matches
}

// Search calls found with the index of each stack that has a function with a matching name. The pattern is
// not anchored. It is tried once for each distinct name, and records are decoded only as far as the names
// require. Search ends at stop.
func (s *Resolver) Search(re *regexp.Regexp, stacks []uint32, stop pattern.Stop, found func(i int)) {
	s.Searcher(stop).Search(re, stacks, found)
}

// Searcher searches an answer's stacks by one pattern after the other. A record is decoded once for all of them. It belongs
// to one goroutine. After stop its results mean nothing.
type Searcher struct {
	resolver *Resolver
	stop     pattern.Stop
	of       paged[[]uint32]   // by element: the numbers of its names, after isRead
	isRead   paged[bool]       // by element
	numbers  map[string]uint32 // by name
	names    []string          // by number
	elements []uint32          // scratch memory, as the next
	decoded  [][]byte
}

// Searcher returns a Searcher of the stacks.
func (s *Resolver) Searcher(stop pattern.Stop) *Searcher {
	return &Searcher{resolver: s, stop: stop, numbers: map[string]uint32{}}
}

// Search is Resolver.Search.
func (s *Searcher) Search(re *regexp.Regexp, stacks []uint32, found func(i int)) {
	of := pattern.New(re)
	prefix := of.LiteralPrefix()
	elements, names := paged[verdict]{}, make([]verdict, len(s.names))
	matchesName := func(n uint32) bool {
		for int(n) >= len(names) {
			names = append(names, unasked)
		}
		if names[n] == unasked {
			names[n] = differs
			if name := s.names[n]; strings.Contains(name, prefix) && of.Match([]byte(name), s.stop) {
				names[n] = matches
			}
		}
		return names[n] == matches
	}
	for i, stack := range stacks {
		if s.stop.Now() {
			return
		}
		s.elements = s.resolver.lists.List(s.elements[:0], stack)
		for _, element := range s.elements {
			v := elements.at(element)
			if *v == unasked {
				if *v = differs; slices.ContainsFunc(s.namesOf(element), matchesName) {
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

// namesOf returns the numbers of the names of the functions that the answer shows of a location.
func (s *Searcher) namesOf(element uint32) []uint32 {
	of, isRead := s.of.at(element), s.isRead.at(element)
	if *isRead {
		return *of
	}
	*isRead = true
	s.decoded = s.decoded[:0]
	if s.resolver.filter == nil {
		s.decoded = AppendNames(s.decoded, s.resolver.record(element), s.resolver.decoder.Namer)
	} else {
		y := s.resolver.symbol(element, s.stop)
		for i := range y.Functions {
			s.decoded = append(s.decoded, []byte(y.Name(i)))
		}
	}
	for _, name := range s.decoded {
		n, known := s.numbers[string(name)]
		if !known {
			n = uint32(len(s.names))
			s.names = append(s.names, string(name))
			s.numbers[s.names[n]] = n
		}
		*of = append(*of, n)
	}
	return *of
}
