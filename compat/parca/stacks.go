package parca

import (
	"context"
	"errors"
	"math"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/parca-dev/parca/pkg/profile"

	"github.com/granarydb/granary/columnstore"
)

// ErrTooLarge is returned for an answer that Arrow cannot hold: more than 2^31 locations or lines in its
// stacks, or 2 GiB of distinct locations.
var ErrTooLarge = errors.New("the answer is too large for an arrow record")

// usedLocations returns the distinct encoded locations in a column of stacks, and for each element code its
// index there, plus 1.
func usedLocations(column *columnstore.GroupColumn) (encoded [][]byte, index []uint32) {
	cursor := column.Lists.Cursor()
	for _, code := range column.Codes {
		if code == 0 {
			continue
		}
		cursor.Move(code)
		for _, element := range cursor.Elements() {
			if int(element) >= len(index) {
				index = append(index, make([]uint32, int(element)+1-len(index))...)
			}
			if index[element] == 0 {
				encoded = append(encoded, column.Lists.Record(element))
				index[element] = uint32(len(encoded))
			}
		}
	}
	return encoded, index
}

// stacks returns the stacks of groups with complete locations. Each distinct location is resolved once; its arrays
// are then gathered for each place of a location in a stack.
func (q *Querier) stacks(ctx context.Context, column *columnstore.GroupColumn, inverted bool, function string) (*array.List, error) {
	encoded, index := usedLocations(column)
	known, err := q.resolved(ctx, encoded)
	if err != nil {
		return nil, err
	}
	defer known.Release()
	from, err := profile.NewRecordReader(known)
	if err != nil {
		return nil, err
	}
	named, err := namedBy(encoded, function)
	if err != nil {
		return nil, err
	}
	at := places{offsets: append(make([]int32, 0, len(column.Codes)+1), 0), valid: make([]bool, len(column.Codes))}
	cursor := column.Lists.Cursor()
	for row, code := range column.Codes {
		if code != 0 {
			cursor.Move(code)
			at.valid[row] = at.add(cursor.Elements(), index, inverted, named)
		}
		if len(at.indexes) > math.MaxInt32 {
			return nil, ErrTooLarge
		}
		at.offsets = append(at.offsets, int32(len(at.indexes)))
	}
	return gather(from, &at)
}

// namedBy reports for each location whether it belongs to a function, nil without a function. A location's
// function is its first line's.
func namedBy(encoded [][]byte, function string) ([]bool, error) {
	if function == "" {
		return nil, nil
	}
	named := make([]bool, len(encoded))
	for i, location := range encoded {
		name, err := profile.DecodeFunctionName(location)
		if err != nil {
			return nil, err
		}
		named[i] = string(name) == function
	}
	return named, nil
}

// places are stacks' locations: indexes of distinct locations, end to end.
type places struct {
	offsets []int32
	indexes []uint32
	valid   []bool // by stack
}

// add adds a stack of elements, which are leaf first. With a function it adds only the part from the leaf to the
// function nearest to it, or, if inverted, from the function nearest to the root to the root. It returns false if
// the stack does not have the function.
func (p *places) add(elements, index []uint32, inverted bool, named []bool) bool {
	start, end := 0, len(elements)
	if named != nil {
		at := -1
		for i := range elements {
			j := i
			if inverted {
				j = len(elements) - 1 - i
			}
			if named[index[elements[j]]-1] {
				at = j
				break
			}
		}
		switch {
		case at < 0:
			return false
		case inverted:
			start = at
		default:
			end = at + 1
		}
	}
	if !inverted {
		for _, element := range elements[start:end] {
			p.indexes = append(p.indexes, index[element]-1)
		}
		return true
	}
	for i := end - 1; i >= start; i-- {
		p.indexes = append(p.indexes, index[elements[i]]-1)
	}
	return true
}
