package arrowconv

import (
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
)

// errLarge says that values of one column do not fit one record: its offsets
// are 32 bits wide.
var errLarge = errors.New("values are too large for one record")

// values is strings, UUIDs or lists of UUIDs in the buffers of an Arrow array:
// the rows of a plain column, or the dictionary of a coded one. A list is the
// bytes of its elements, end to end.
type values struct {
	typ     encoding.Type
	n       int
	limit   int    // largest offset
	data    buffer // bytes of all values
	offsets buffer // int32: where each value begins, and the end; unused for UUIDs
}

func newValues(mem memory.Allocator, typ encoding.Type) values {
	return values{typ: typ, limit: math.MaxInt32, data: buffer{mem: mem}, offsets: buffer{mem: mem}}
}

// unit is the number of bytes that an offset counts.
func (v *values) unit() int {
	if v.typ == encoding.UUIDList {
		return uuidLen
	}
	return 1
}

// reserve makes room for n more values, but not for the bytes of strings.
func (v *values) reserve(n int) {
	if v.typ == encoding.UUID {
		v.data.reserve(n * uuidLen)
		return
	}
	v.offsets.reserve(4 * (n + 1))
}

// append adds a copy of a value.
func (v *values) append(value []byte) error {
	if v.typ == encoding.UUID {
		if len(value) != uuidLen {
			return fmt.Errorf("uuid of %d bytes", len(value))
		}
		copy(v.data.grow(uuidLen), value)
		v.n++
		return nil
	}
	end := (len(v.data.bytes()) + len(value)) / v.unit()
	if end > v.limit {
		return errLarge
	}
	v.begin()
	copy(v.data.grow(len(value)), value)
	putInt32(v.offsets.grow(4), int32(end))
	v.n++
	return nil
}

// begin writes the offset where the first value begins.
func (v *values) begin() {
	if v.n == 0 && len(v.offsets.bytes()) == 0 {
		putInt32(v.offsets.grow(4), 0)
	}
}

// at returns value i. It is valid until the next append.
func (v *values) at(i int) []byte {
	if v.typ == encoding.UUID {
		return v.data.bytes()[i*uuidLen:][:uuidLen]
	}
	offsets := arrow.Int32Traits.CastFromBytes(v.offsets.bytes())
	return v.data.bytes()[int(offsets[i])*v.unit() : int(offsets[i+1])*v.unit()]
}

// take hands the values over as an array with the given nulls. It takes over
// bits; the caller releases the result.
func (v *values) take(bits *memory.Buffer, nulls int) *array.Data {
	n := v.n
	v.n = 0
	switch v.typ {
	case encoding.UUID:
		return newData(uuidType, n, nulls, bits, v.data.take())
	case encoding.UUIDList:
		v.beginEmpty(n)
		elements := newData(uuidType, len(v.data.bytes())/uuidLen, 0, nil, v.data.take())
		defer elements.Release()
		offsets := v.offsets.take()
		defer release(bits, offsets)
		return array.NewData(listType, n, []*memory.Buffer{bits, offsets}, []arrow.ArrayData{elements}, nulls, 0)
	default:
		v.beginEmpty(n)
		return newData(arrow.BinaryTypes.String, n, nulls, bits, v.offsets.take(), v.data.take())
	}
}

// beginEmpty gives an array without values its one offset, which the format
// lets be absent and some readers do not.
func (v *values) beginEmpty(n int) {
	if n == 0 {
		v.begin()
	}
}

func (v *values) release() {
	v.data.release()
	v.offsets.release()
	v.n = 0
}

// newData makes array data that takes over the buffers.
func newData(typ arrow.DataType, n, nulls int, buffers ...*memory.Buffer) *array.Data {
	defer release(buffers...)
	return array.NewData(typ, n, buffers, nil, nulls, 0)
}

func release(buffers ...*memory.Buffer) {
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
}

func putInt32(dst []byte, v int32) { arrow.Int32Traits.PutValue(dst, v) }
