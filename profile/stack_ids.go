package profile

import (
	"context"

	"github.com/google/uuid"
	"github.com/zeebo/xxh3"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/symbols"
)

// StackID identifies a stack in every store: a hash of the ids of its locations. Two stacks have one id only by a collision of
// 128 bits, which is not kept from somebody who makes up locations for it.
type StackID [16]byte

// StackIDOf returns the id of the stack with these locations. It costs 50 ns for 25 locations.
func StackIDOf(locations []uuid.UUID) StackID {
	var few [64 * 16]byte
	b := few[:0]
	for i := range locations {
		b = append(b, locations[i][:]...)
	}
	return StackID(xxh3.Hash128(b).Bytes())
}

// IDs returns the ids of the stacks, in the order of SourceSums.Stacks. An address without names has the id of a location with those of
// Options.Names, so that two stacks can have one id. It costs about 200 ns a stack. The error is that of the context.
func (s *StackSums) IDs(ctx context.Context) ([]StackID, error) {
	ids := make([]StackID, 0, len(s.codes))
	err := s.identify(ctx, func(_ *symbols.Identities, locations []uuid.UUID) { ids = append(ids, StackIDOf(locations)) })
	return ids, err
}

// identify calls each with the identities and the locations of each stack.
func (s *StackSums) identify(ctx context.Context, each func(x *symbols.Identities, locations []uuid.UUID)) error {
	x := s.symbols.Identities()
	for i, code := range s.codes {
		if i%rowsAtOnce == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		each(x, x.Move(code))
	}
	return nil
}

// StackLocations has stacks with the records of their locations, each once, for another store to keep.
type StackLocations struct {
	IDs     []uuid.UUID // of the locations
	Records [][]byte    // of the locations, nil for none
	Stacks  [][]uint32  // indexes of locations, leaf first; nil for a stack that is not there
}

// Locate returns the stacks with these ids, in their order. Their locations have the records that make the ids of IDs. bytes bounds the
// memory of the answer: beyond it the error is columnstore.ErrQueryMemory. It costs as much as IDs, and 300 ns for each location. Otherwise
// the error is that of the context.
func (s *StackSums) Locate(ctx context.Context, ids []StackID, bytes int64) (*StackLocations, error) {
	l := locating{wanted: make(map[StackID]int, len(ids)), known: map[uuid.UUID]uint32{}, left: bytes}
	for i, id := range ids {
		l.wanted[id] = i
	}
	l.out.Stacks = make([][]uint32, len(ids))
	if err := s.identify(ctx, l.add); err != nil {
		return nil, err
	}
	if l.left < 0 {
		return nil, columnstore.ErrQueryMemory
	}
	return &l.out, nil
}

// locating is a Locate in progress.
type locating struct {
	wanted map[StackID]int
	known  map[uuid.UUID]uint32 // index of a location
	left   int64                // bytes
	out    StackLocations
}

// locatedBytes is about the memory of a location, without its record.
const locatedBytes = 100

// add adds a stack if it is wanted and there is room.
func (l *locating) add(x *symbols.Identities, locations []uuid.UUID) {
	i, isWanted := l.wanted[StackIDOf(locations)]
	if !isWanted || l.left < 0 {
		return
	}
	stack := make([]uint32, len(locations))
	for k, id := range locations {
		at, isKnown := l.known[id]
		if !isKnown {
			at = uint32(len(l.out.IDs))
			l.known[id] = at
			record := x.Record(k)
			l.out.IDs, l.out.Records = append(l.out.IDs, id), append(l.out.Records, record)
			l.left -= int64(len(record)) + locatedBytes
		}
		stack[k] = at
	}
	l.out.Stacks[i] = stack
	l.left -= 4 * int64(len(stack))
}
