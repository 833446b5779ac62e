package arrowconv

import (
	"slices"

	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
)

// mostElements bounds the elements of all lists that are read at once: 128 MB of ids, or 32 MB
// of codes.
const mostElements = 8 << 20

// allLists is the codes of the elements of all lists of a dictionary at some time. The
// elements of the list with code i+1 are those from ends[i] to ends[i+1].
type allLists struct {
	ends  []int32
	codes []uint32
	ids   []uuid.UUID // of the elements, by code-1
}

// newAllLists reads all lists of a dictionary; it returns nil if they are too large.
func newAllLists(of *dict.Lists) *allLists {
	codes, members := everyList(of)
	if members > mostElements {
		return nil
	}
	from := of.View().Cursor()
	a := &allLists{ends: make([]int32, 1, len(codes)+1), codes: make([]uint32, 0, members)}
	for _, code := range codes {
		from.Move(code)
		a.codes = append(a.codes, from.Elements()...)
		a.ends = append(a.ends, int32(len(a.codes)))
	}
	if len(a.codes) > 0 {
		a.ids = make([]uuid.UUID, slices.Max(a.codes))
	}
	for i := range a.ids {
		a.ids[i] = of.Element(uint32(i + 1))
	}
	return a
}

// has reports whether a list was read.
func (a *allLists) has(code uint32) bool { return code-1 < uint32(len(a.ends)-1) }

// at returns the codes of the elements of a list that was read.
func (a *allLists) at(code uint32) []uint32 { return a.codes[a.ends[code-1]:a.ends[code]] }

// copyIDs copies the ids of elements.
func (a *allLists) copyIDs(dst []byte, elements []uint32) {
	for _, element := range elements {
		*(*uuid.UUID)(dst) = a.ids[element-1]
		dst = dst[uuidLen:]
	}
}

// newListArray returns all lists of a dictionary as an Arrow array, in the order of their
// codes, for records to share; nil if they are too large. The caller releases it.
func newListArray(mem memory.Allocator, of *dict.Lists) *array.Data {
	codes, members := everyList(of)
	if members > mostElements {
		return nil
	}
	v := newValues(mem, &Field{Type: encoding.UUIDList})
	from := of.View().Cursor()
	if err := v.appendLists(&from, codes, members); err != nil {
		v.release()
		return nil
	}
	return v.take(nil, 0)
}

// everyList returns the codes of all lists of a dictionary, and an upper bound of their
// elements.
func everyList(of *dict.Lists) (codes []uint32, members int) {
	codes = make([]uint32, of.Len())
	for i := range codes {
		codes[i] = uint32(i + 1)
	}
	return codes, of.Members() // read last: lists may be added meanwhile
}
