package profile

import (
	"context"
	"fmt"
	"math"

	"github.com/granarydb/granary/columnstore"
	codec "github.com/granarydb/granary/profile/pprof"
)

// StackTable is the stacks of a grouped answer with whole locations: each distinct stack once, and each location once in
// a generation of dictionaries. It is what a column of stacks in Arrow or Parquet is made of. The caller owns it.
type StackTable struct {
	// Groups has the index of each group's stack.
	Groups []uint32
	// Ends has one element more than there are stacks: the locations of stack i are Ends[i] to Ends[i+1] of Members.
	Ends []int32
	// Members has indexes of Locations, for each stack the leaf first.
	Members []uint32
	// Locations are the distinct locations.
	Locations codec.LocationColumns
}

// NewStackTable returns the stacks of a column of Groups with lists, ColumnStacktrace for profiles. maxBytes bounds the
// bytes of the table; 0 or less means no bound. It costs about 10 ns a group, and for each distinct stack 10 ns a location,
// and what LocationColumns.Append says for each distinct location. The errors are columnstore.ErrQuery for a column without
// lists, columnstore.ErrQueryMemory, ErrLocation and ctx.Err().
func NewStackTable(ctx context.Context, column *columnstore.GroupColumn, maxBytes int64) (*StackTable, error) {
	t := &StackTable{Groups: make([]uint32, 0, len(column.Codes)), Ends: []int32{0}}
	elements, err := t.stacks(ctx, column, maxBytes, true)
	if err != nil {
		return nil, err
	}
	t.Locations.Expect(len(elements), maxBytes)
	reader := column.Lists.RecordReader()
	for i, element := range elements {
		if i%locationsAtOnce == 0 {
			if err := t.check(ctx, maxBytes, len(elements)); err != nil {
				return nil, err
			}
		}
		if _, err := t.Locations.Append(reader, element); err != nil {
			return nil, err
		}
	}
	return t, t.check(ctx, maxBytes, 0)
}

// stacks returns the distinct elements of the lists, which are the locations in their order. With isWhole it fills in all but the locations.
func (t *StackTable) stacks(ctx context.Context, column *columnstore.GroupColumn, maxBytes int64, isWhole bool) (elements []uint32, err error) {
	if column.Values.Len() > 0 {
		return nil, fmt.Errorf("%w: column %q has no lists", columnstore.ErrQuery, column.Name)
	}
	stacks, locations := codeIndex{}, codeIndex{}
	cursor := column.Lists.Cursor()
	for i, code := range column.Codes {
		if i%stacksAtOnce == 0 {
			if err := t.check(ctx, maxBytes, len(elements)); err != nil {
				return nil, err
			}
		}
		stack, known := stacks.find(code)
		if !known {
			*stack = uint32(len(t.Ends))
			cursor.Move(code)
			for _, element := range cursor.Elements() {
				location, known := locations.find(element)
				if !known {
					elements = append(elements, element)
					*location = uint32(len(elements))
				}
				if isWhole {
					t.Members = append(t.Members, *location-1)
				}
			}
			t.Ends = append(t.Ends, int32(len(t.Members)))
		}
		if isWhole {
			t.Groups = append(t.Groups, *stack-1)
		}
	}
	return elements, nil
}

// Stacks and locations between two checks of the context and of the memory.
const (
	stacksAtOnce    = 256
	locationsAtOnce = 4096
)

// check returns why the table cannot grow beside some elements.
func (t *StackTable) check(ctx context.Context, maxBytes int64, elements int) error {
	const each = 4 // bytes of an index
	bytes := each*int64(len(t.Groups)+len(t.Ends)+len(t.Members)+elements) + t.Locations.Size()
	if maxBytes > 0 && bytes > maxBytes || len(t.Members) > math.MaxInt32 {
		return fmt.Errorf("%w: a table of %d stacks has %d bytes and %d locations in them", columnstore.ErrQueryMemory, len(t.Ends)-1, bytes, len(t.Members))
	}
	return ctx.Err()
}

// MappedFile is a binary that a location is in.
type MappedFile struct{ File, BuildID string }

// MappedFiles returns the distinct binaries of the locations in a column of Groups with lists, in the order of their first
// locations. Locations without a binary have an empty one. It skips the lines of locations. Errors are those of
// NewStackTable. It takes 4 bytes of memory for each distinct stack and location.
func MappedFiles(ctx context.Context, column *columnstore.GroupColumn) ([]MappedFile, error) {
	elements, err := (&StackTable{Ends: []int32{0}}).stacks(ctx, column, 0, false)
	if err != nil {
		return nil, err
	}
	var found []MappedFile
	var columns codec.LocationColumns
	seen, reader := binarySet{all: map[uint64]struct{}{}}, column.Lists.RecordReader()
	for i, element := range elements {
		if i%locationsAtOnce == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		file, build, err := columns.Binary(reader, element)
		if err != nil {
			return nil, err
		}
		if seen.add(file, build) {
			found = append(found, MappedFile{columns.Texts[file], columns.Texts[build]})
		}
	}
	return found, nil
}

// codeIndex has a number above 0 for each known code.
type codeIndex []uint32

// find returns the place of a code's number, and whether the code is known.
func (x *codeIndex) find(code uint32) (number *uint32, known bool) {
	for int(code) >= len(*x) {
		*x = append(*x, make([]uint32, max(256, len(*x)))...)
	}
	number = &(*x)[code]
	return number, *number > 0
}

// binarySet is a set of pairs of texts, with the last ones in front.
type binarySet struct {
	last [256]uint64
	all  map[uint64]struct{}
}

// add adds a pair, and reports whether it is new.
func (s *binarySet) add(file, build uint32) bool {
	pair := uint64(file)<<32 | uint64(build)
	last := &s.last[(file*31+build)%256]
	if *last == pair+1 {
		return false
	}
	*last = pair + 1
	_, known := s.all[pair]
	s.all[pair] = struct{}{}
	return !known
}
