package profile

import (
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding/dict"
	codec "github.com/granarydb/granary/profile/pprof"
)

// symbols resolves the locations of the stacks of one answer. A location is identified by its
// id: in an answer over several generations it can have a code in each.
//
// A record is decoded when the first frame of its location is needed, once an answer. A lookup
// takes mu. A walker remembers its symbols, so that a walk takes mu once a location.
type symbols struct {
	filter *frameFilter    // nil if no frame is left out
	lists  []dict.ListView // one, or for a difference those of its answers
	refs   []stackRef      // by stack code; nil if stack codes are those of lists[0]
	stacks []uint32        // codes of all stacks of the answer

	mu        sync.Mutex
	found     map[uuid.UUID]*symbol
	functions map[functionID]uint32
	named     []functionID         // by number
	strings   map[string]string    // distinct names and files
	described map[uuid.UUID][]byte // the result of describeAll; nil before its call
}

// stackRef refers to a stack of one of several answers.
type stackRef struct{ lists, code uint32 }

// functionID identifies a function of a frame.
type functionID struct{ name, file string }

// symbol is one location with the functions of its frames.
type symbol struct {
	codec.LocationRecord
	unnamed   string   // the name for functions without one
	functions []uint32 // by frame: number in symbols.named
	hidden    bool     // no frame is left
}

func newSymbols(lists dict.ListView, stacks []uint32) *symbols {
	return &symbols{
		lists: []dict.ListView{lists}, stacks: stacks,
		found: map[uuid.UUID]*symbol{}, functions: map[functionID]uint32{}, strings: map[string]string{},
	}
}

// ref returns the index in lists of a stack, and its code there.
func (s *symbols) ref(code uint32) stackRef {
	if s.refs == nil {
		return stackRef{0, code}
	}
	return s.refs[code]
}

// symbol returns the symbol of an element of one of the lists.
func (s *symbols) symbol(lists, element uint32) *symbol {
	id := s.lists[lists].Element(element)
	s.mu.Lock()
	defer s.mu.Unlock()
	y := s.found[id]
	if y == nil {
		y = s.decode(id, s.lists[lists].Record(element))
		s.found[id] = y
	}
	return y
}

// decode returns the symbol of a location. If its record is empty or invalid, that of another
// generation takes its place. The caller holds mu.
func (s *symbols) decode(id uuid.UUID, record []byte) *symbol {
	l, err := codec.ParseLocation(record, s.strings)
	if err != nil || len(record) == 0 { // as isRecord
		if l, err = codec.ParseLocation(s.recordElsewhere(id), s.strings); err != nil {
			l = &codec.LocationRecord{} // no generation has a valid record
		}
	}
	y := &symbol{LocationRecord: *l, unnamed: l.Unnamed()}
	if s.filter != nil && s.filter.hides(&y.LocationRecord) {
		y.hidden = true
		return y
	}
	for i := range y.frames() {
		f := y.frame(i)
		y.functions = append(y.functions, s.number(functionID{f.Function, f.File}))
	}
	return y
}

// record returns the record of an element of one of the lists, or that of another generation
// if it is empty or invalid.
func (s *symbols) record(lists, element uint32) []byte {
	record := s.lists[lists].Record(element)
	if isRecord(record) {
		return record
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recordElsewhere(s.lists[lists].Element(element))
}

// recordElsewhere returns the record of a location from any generation with a valid one: rows
// inserted as Arrow records may lack symbols. The caller holds mu.
func (s *symbols) recordElsewhere(id uuid.UUID) []byte {
	if s.described == nil {
		s.described = s.describeAll()
	}
	return s.described[id]
}

// describeAll returns a valid record of each location for which any generation has one. It
// reads all stacks, so it is called only if the answer has a location without a valid record.
func (s *symbols) describeAll() map[uuid.UUID][]byte {
	good, seen := map[uuid.UUID][]byte{}, make([]paged[bool], len(s.lists))
	var codes []uint32
	for _, stack := range s.stacks {
		ref := s.ref(stack)
		lists := s.lists[ref.lists]
		codes = lists.List(codes[:0], ref.code)
		for _, element := range codes {
			if was := seen[ref.lists].at(element); !*was {
				*was = true
				if record := lists.Record(element); isRecord(record) {
					good[lists.Element(element)] = record
				}
			}
		}
	}
	return good
}

// isRecord reports whether bytes are a valid record and not empty.
func isRecord(record []byte) bool {
	var few [8][]byte
	_, ok := codec.AppendNames(few[:0], record)
	return ok
}

// number returns the number of a function. It assigns one if the function is new. The caller
// holds mu.
func (s *symbols) number(f functionID) uint32 {
	n, known := s.functions[f]
	if !known {
		n = uint32(len(s.named))
		s.functions[f] = n
		s.named = append(s.named, f)
	}
	return n
}

// names returns the functions by number. They include those of all symbols that any walker has
// seen.
func (s *symbols) names() []functionID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.named
}

// frames returns the number of frames of a location.
func (y *symbol) frames() int { return max(1, len(y.Lines)) }

// frame returns a frame of a location. Frame 0 is the innermost.
func (y *symbol) frame(i int) Frame {
	if len(y.Lines) == 0 {
		return Frame{Function: y.unnamed}
	}
	ln := &y.Lines[i]
	f := Frame{Function: ln.Function, File: ln.File, Line: ln.Line, Inlined: i < len(y.Lines)-1}
	if f.Function == "" {
		f.Function = y.unnamed
	}
	return f
}

// walker reads stacks. It belongs to one goroutine.
type walker struct {
	symbols *symbols
	seen    []paged[*symbol] // by index in symbols.lists and element
	codes   []uint32
	stack   []*symbol
}

func (s *symbols) walk() *walker {
	return &walker{symbols: s, seen: make([]paged[*symbol], len(s.lists))}
}

// locations returns the locations of a stack, leaf first. They are valid until the next call.
func (w *walker) locations(stack uint32) []*symbol {
	ref := w.symbols.ref(stack)
	w.codes = w.symbols.lists[ref.lists].List(w.codes[:0], ref.code)
	w.stack = w.stack[:0]
	seen := &w.seen[ref.lists]
	for _, element := range w.codes {
		y := seen.at(element)
		if *y == nil {
			*y = w.symbols.symbol(ref.lists, element)
		}
		w.stack = append(w.stack, *y)
	}
	if w.symbols.filter != nil {
		w.stack = slices.DeleteFunc(w.stack, func(y *symbol) bool { return y.hidden })
	}
	return w.stack
}

// paged is a slice with memory only for the pages in use: an answer can contain few of all
// codes.
type paged[T any] struct{ pages [][]T }

const page = 256

// at returns a pointer to element i, which is zero at first.
func (p *paged[T]) at(i uint32) *T {
	if n := int(i / page); n >= len(p.pages) {
		p.pages = append(p.pages, make([][]T, n+1-len(p.pages))...)
	}
	in := p.pages[i/page]
	if in == nil {
		in = make([]T, page)
		p.pages[i/page] = in
	}
	return &in[i%page]
}

// appendNames appends the names of the functions of a record to dst, as frames have them. The
// names share the memory of the record, unless a function has no name or the record is
// malformed.
func appendNames(dst [][]byte, record []byte) [][]byte {
	start := len(dst)
	dst, ok := codec.AppendNames(dst, record)
	if ok && len(dst) > start && !slices.ContainsFunc(dst[start:], isUnnamed) {
		return dst
	}
	l, err := codec.ParseLocation(record, nil)
	if err != nil {
		l = &codec.LocationRecord{}
	}
	y := symbol{LocationRecord: *l, unnamed: l.Unnamed()}
	dst = dst[:start]
	for i := range y.frames() {
		dst = append(dst, []byte(y.frame(i).Function))
	}
	return dst
}

func isUnnamed(name []byte) bool { return len(name) == 0 }

// Frame is one function call in a stack.
type Frame struct {
	Function string // without lines the file in brackets, "[libc.so.6]", or "<unknown>"
	File     string
	Line     int64
	Inlined  bool // into its caller
}
