package symbols

import (
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding/dict"
	codec "github.com/granarydb/granary/profile/pprof"
)

// Identities reads the locations of stacks by ids and records, which mean the same in every store: an address that the namer names has the
// id and the record of a location with these names. It belongs to one goroutine.
type Identities struct {
	of     *Resolver
	cursor dict.ListCursor
	reader *dict.RecordReader
	seen   []nameState              // by element, as far as one was seen
	named  map[uint32]namedLocation // by element
	ids    []uuid.UUID
}

// nameState says whether an element has its names from the namer.
type nameState uint8

const (
	unseen nameState = iota
	own              // or none
	given
)

// namedLocation is a location that has its names from the namer.
type namedLocation struct {
	id     uuid.UUID
	record []byte
}

// Identities returns the identities of the answer's stacks, with all frames.
func (s *Resolver) Identities() *Identities {
	return &Identities{of: s, cursor: s.lists.Cursor(), reader: s.lists.RecordReader(), named: map[uint32]namedLocation{}}
}

// Move makes a stack the current one, and returns the ids of its locations, leaf first. They are valid until the next call. Reading in the
// order of codes costs about 10 ns, and 6 ns for each location that the stack does not share with the one before. With a namer
// it costs another ns a location, 50 ns for the first sight of one, and 5 us if it has no lines.
func (x *Identities) Move(stack uint32) []uuid.UUID {
	x.cursor.Move(stack)
	ids := x.cursor.UUIDs()
	if x.of.decoder.Namer == nil {
		return ids
	}
	isCopy := false
	for i, element := range x.cursor.Elements() {
		if x.state(element) != given {
			continue
		}
		if !isCopy {
			x.ids, isCopy = append(x.ids[:0], ids...), true
		}
		x.ids[i] = x.named[element].id
	}
	if isCopy {
		return x.ids
	}
	return ids
}

// Record returns the record of the i-th location of the current stack, nil if it has none. It belongs to the caller.
func (x *Identities) Record(i int) []byte {
	element := x.cursor.Elements()[i]
	if named, is := x.named[element]; is {
		return named.record
	}
	return x.of.record(element)
}

// state returns the state of an element, and asks the namer at its first sight.
func (x *Identities) state(element uint32) nameState {
	if int(element) >= len(x.seen) {
		x.seen = append(x.seen, make([]nameState, int(element)+1-len(x.seen))...)
	}
	if x.seen[element] == unseen {
		x.seen[element] = own
		if _, coded := x.reader.Read(element); coded != nil && len(coded.Lines) > 0 {
			return own
		}
		if record, id := codec.NamedRecord(x.of.record(element), x.of.decoder.Namer); record != nil {
			x.named[element], x.seen[element] = namedLocation{id, record}, given
		}
	}
	return x.seen[element]
}
