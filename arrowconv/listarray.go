package arrowconv

import (
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
)

// mostElements bounds the list elements that are kept: 128 MB of ids in an array for records to share, or 32
// MB of codes.
const mostElements = 8 << 20

// newListArray returns all lists in a dictionary as an Arrow array for records to share, in code order.
// It returns nil if they are too large. The caller releases it.
func newListArray(mem memory.Allocator, of *dict.Lists) *array.Data {
	codes := make([]uint32, of.Len())
	for i := range codes {
		codes[i] = uint32(i + 1)
	}
	members := of.Members() // read last, because lists may be added meanwhile
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
