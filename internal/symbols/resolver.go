package symbols

import (
	"regexp"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/internal/pattern"
	codec "github.com/granarydb/granary/profile/pprof"
)

// Resolver resolves the locations in one answer's stacks. It is safe for concurrent use. A location is
// identified by its id, because in an answer over several generations it can have a code in each.
//
// A record is decoded when its location's first frame is needed: once an answer for Walker.Locations, and
// once a walk for Walker.Numbers, which keeps only the numbers. A lookup takes mu, once a walk and
// location. If an answer has much of a dictionary, Numbers reads the dictionary's table instead.
type Resolver struct {
	filter *filter // nil if no frame is left out
	lists  dict.ListView
	reader *dict.RecordReader // of lists
	stacks []uint32           // codes of all stacks in the answer

	mu        sync.Mutex
	found     map[uuid.UUID]*Symbol
	named     []FunctionID          // by number
	numbers   []uint32              // by the decoder's number for a function: the resolver's number plus 1, 0 for none so far
	functions map[FunctionID]uint32 // inverse of named; nil until a function is numbered that the decoder does not number
	table     *tableFrames          // named begins with its functions
	decoder   *codec.RecordDecoder
	symbols   []Symbol             // room for the next ones
	described map[uuid.UUID][]byte // the result of describeAll; nil before its call
}

// FunctionID identifies a frame's function.
type FunctionID struct{ Name, File string }

// New returns the symbols of stacks, which are codes in lists. As with -hide and -show of go tool pprof,
// frames that match hide or do not match show are left out; nil leaves out none. New takes over stacks, and
// reads them later. namer, if not nil, names addresses.
func New(lists dict.ListView, stacks []uint32, hide, show *regexp.Regexp, namer codec.Namer) *Resolver {
	r := &Resolver{
		filter: newFilter(hide, show), lists: lists, reader: lists.RecordReader(), stacks: stacks,
		found: map[uuid.UUID]*Symbol{}, decoder: codec.NewRecordDecoder(),
	}
	r.decoder.Namer = namer
	return r
}

// symbol returns an element's symbol. After stop it can have the wrong frames, and is not kept.
func (s *Resolver) symbol(element uint32, stop pattern.Stop) *Symbol {
	id := s.lists.Element(element)
	s.mu.Lock()
	defer s.mu.Unlock()
	y := s.found[id]
	if y == nil {
		if len(s.symbols) == 0 {
			s.symbols = make([]Symbol, symbolsAtOnce)
		}
		y, s.symbols = &s.symbols[0], s.symbols[1:]
		if s.decode(y, element, stop); !stop.Now() {
			s.found[id] = y
		}
	}
	return y
}

// describe makes y the symbol of an element. It reuses y's memory.
func (s *Resolver) describe(y *Symbol, element uint32, stop pattern.Stop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decode(y, element, stop)
}

// decode makes y the symbol of an element. An empty or invalid record is replaced by another generation's.
// The caller holds mu.
func (s *Resolver) decode(y *Symbol, element uint32, stop pattern.Stop) {
	if found, err := s.decoder.DecodeElement(&y.LocationRecord, s.reader, element); err != nil || !found { // as isRecord
		_ = s.decoder.Decode(&y.LocationRecord, s.recordElsewhere(s.lists.Element(element))) // or no generation has a valid record
	}
	s.setFunctions(y, stop)
}

// setFunctions sets the numbers of the functions of a decoded location. The caller holds mu.
func (s *Resolver) setFunctions(y *Symbol, stop pattern.Stop) {
	y.Functions = y.Functions[:0]
	if y.hidden = s.filter != nil && s.filter.hides(&y.LocationRecord, stop); y.hidden {
		return
	}
	if cap(y.Functions) == 0 {
		y.Functions = y.one[:0]
	}
	for i := range y.Frames() {
		y.Functions = append(y.Functions, s.numberOf(y, i))
	}
}

// numberOf returns the number of a frame's function. The caller holds mu.
func (s *Resolver) numberOf(y *Symbol, frame int) uint32 {
	f := FunctionID{y.Name(frame), y.file(frame)}
	if len(y.Lines) == 0 || y.Lines[frame].Function == "" { // named after its binary
		s.invert()
		return s.number(f)
	}
	of := int(y.Lines[frame].Number)
	if of >= len(s.numbers) {
		s.numbers = append(s.numbers, make([]uint32, of+1-len(s.numbers))...)
	}
	if s.numbers[of] == 0 {
		s.numbers[of] = s.number(f) + 1
	}
	return s.numbers[of] - 1
}

// invert makes functions. The caller holds mu.
func (s *Resolver) invert() {
	if s.functions != nil {
		return
	}
	s.functions = make(map[FunctionID]uint32, len(s.named))
	for n, f := range s.named {
		s.functions[f] = uint32(n)
	}
}

// leastOfDict is the part of a dictionary's stacks from which on an answer uses the table of all: an answer with fewer decodes its own
// locations.
const leastOfDict = 4

// useTable returns the table of the answer's dictionary, whose numbers of functions are those of the answer from then on, or nil: if
// frames are left out, or the answer has few of the stacks, or there are several dictionaries.
func (s *Resolver) useTable() *tableFrames {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.lists.Only()
	if s.table != nil || d == nil || s.filter != nil || len(s.named) > 0 || leastOfDict*len(s.stacks) < d.Len() {
		return s.table
	}
	if s.table = tableOf(d); s.table != nil {
		s.named = slices.Clip(s.table.functions)
	}
	return s.table
}

// ReadAhead makes the table of the answer's dictionary, for later answers.
func (s *Resolver) ReadAhead() {
	if d := s.lists.Only(); d != nil {
		tableOf(d)
	}
}

// symbolsAtOnce is the number of symbols that are allocated together.
const symbolsAtOnce = 128

// record returns the record of an element, or another generation's record if it is empty or invalid.
func (s *Resolver) record(element uint32) []byte {
	record := s.lists.Record(element)
	if isRecord(record) {
		return record
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recordElsewhere(s.lists.Element(element))
}

// recordElsewhere returns a location's record from any generation with a valid one, because rows inserted
// as Arrow records may lack symbols. The caller holds mu.
func (s *Resolver) recordElsewhere(id uuid.UUID) []byte {
	if s.described == nil {
		s.described = s.describeAll()
	}
	return s.described[id]
}

// describeAll returns a valid record of each location for which any generation has one. It reads all
// stacks, so it is called only if the answer has a location without a valid record.
func (s *Resolver) describeAll() map[uuid.UUID][]byte {
	good, seen := map[uuid.UUID][]byte{}, paged[bool]{}
	var codes []uint32
	for _, stack := range s.stacks {
		codes = s.lists.List(codes[:0], stack)
		for _, element := range codes {
			if was := seen.at(element); !*was {
				*was = true
				if record := s.lists.Record(element); isRecord(record) {
					good[s.lists.Element(element)] = record
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

// number returns the number of a function that the decoder has not numbered, and assigns one if the
// function is new. The caller holds mu.
func (s *Resolver) number(f FunctionID) uint32 {
	if s.table != nil {
		s.invert()
	}
	if n, known := s.functions[f]; known {
		return n
	}
	n := uint32(len(s.named))
	if s.named = append(s.named, f); s.functions != nil {
		s.functions[f] = n
	}
	return n
}

// Functions returns the functions by number, including the functions of every symbol that a walker
// has seen.
func (s *Resolver) Functions() []FunctionID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.named
}
