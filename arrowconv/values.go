package arrowconv

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
)

// errLarge reports a column whose values do not fit in one record, because Arrow's offsets are 32 bits wide.
var errLarge = errors.New("values are too large for one record")

// values holds strings, UUIDs or lists in the buffers of an Arrow array: a plain column's rows, or a coded
// column's dictionary.
//
//	              offsets                                  inner                       data
//	string        start of each value in data              -                           text
//	UUID          -                                        -                           16 bytes each
//	list          start of each value, counted in elements -                           16 bytes per element
//	list of names start of each value, counted in names    start of each name in data  text
type values struct {
	typ     encoding.Type
	names   bool // the elements of lists are names, not UUIDs
	n       int
	limit   int    // largest offset allowed
	data    buffer // bytes of all values
	offsets buffer // int32: where each value begins, and the end; unused for UUIDs
	inner   buffer // int32: where each name begins, and the end; used for lists of names
}

func newValues(mem memory.Allocator, f *Field) values {
	return values{
		typ: f.Type, names: f.named(), limit: math.MaxInt32,
		data: buffer{mem: mem}, offsets: buffer{mem: mem}, inner: buffer{mem: mem},
	}
}

// reserve makes room for n more values, without the contents of strings and lists.
func (v *values) reserve(n int) {
	if v.typ == encoding.UUID {
		v.data.reserve(n * uuidLen)
		return
	}
	v.offsets.reserve(4 * (n + 1))
}

// appendValue adds a copy of a string or a UUID.
func appendValue[V string | []byte](v *values, value V) error {
	if v.typ == encoding.UUID && len(value) != uuidLen {
		return fmt.Errorf("uuid of %d bytes", len(value))
	}
	copy(v.data.grow(len(value)), value)
	return v.close()
}

// appendLists adds id lists by their codes. Code 0 has no elements. members is an upper bound on the
// total number of elements. appendLists first makes room for that many.
func (v *values) appendLists(from *dict.ListCursor, codes []uint32, members int) error {
	if members > v.limit-v.members() {
		return errLarge
	}
	v.begin()
	v.data.reserve(uuidLen * members)
	ends := arrow.Int32Traits.CastFromBytes(v.offsets.grow(4 * len(codes)))
	for i, code := range codes {
		from.Move(code)
		ids := from.UUIDs()
		copy(asUUIDs(v.data.grow(uuidLen*len(ids))), ids)
		ends[i] = int32(v.members())
	}
	v.n += len(codes)
	return nil
}

// close makes a value from the bytes or names added since the previous value.
func (v *values) close() error {
	if v.typ == encoding.UUID {
		v.n++
		return nil
	}
	end := v.members()
	if end > v.limit {
		return errLarge
	}
	if v.offsets.n == 0 {
		v.begin()
	}
	putInt32(v.offsets.grow(4), int32(end))
	v.n++
	return nil
}

// members returns the number of bytes, UUIDs or names appended so far: what the offsets count.
func (v *values) members() int {
	switch {
	case v.names:
		return max(0, v.inner.n/4-1)
	}
	return v.data.n / v.unit()
}

// addName adds a name to the list that the next close completes.
func (v *values) addName(name string) error {
	if v.data.n+len(name) > v.limit {
		return errLarge
	}
	if v.inner.n == 0 {
		putInt32(v.inner.grow(4), 0)
	}
	copy(v.data.grow(len(name)), name)
	putInt32(v.inner.grow(4), int32(v.data.n))
	return nil
}

// appendAgain appends the last value n more times. The value must not be a list of names.
func (v *values) appendAgain(n int) error {
	size := len(v.at(v.n - 1))
	if v.typ != encoding.UUID && size > 0 && n > (v.limit-v.members())*v.unit()/size {
		return errLarge
	}
	end := v.data.n
	repeatBytes(v.data.grow(n*size), v.data.bytes()[end-size:end]) // grow first, because it can move the bytes
	if v.typ != encoding.UUID {
		offsets := arrow.Int32Traits.CastFromBytes(v.offsets.grow(4 * n))
		each, at := size/v.unit(), end/v.unit()
		for i := range offsets {
			at += each
			offsets[i] = int32(at)
		}
	}
	v.n += n
	return nil
}

// unit returns the size in bytes of what an offset counts: a UUID in lists of UUIDs, else a byte. The values
// must not be lists of names.
func (v *values) unit() int {
	if v.typ == encoding.UUIDList {
		return uuidLen
	}
	return 1
}

// begin writes the offset of the first value.
func (v *values) begin() {
	if v.offsets.n == 0 {
		putInt32(v.offsets.grow(4), 0)
	}
}

// span returns the offsets at which value i begins and ends.
func (v *values) span(i int) (lo, hi int) {
	offsets := arrow.Int32Traits.CastFromBytes(v.offsets.bytes())
	return int(offsets[i]), int(offsets[i+1])
}

// at returns the bytes of value i, valid until the next append. The value must not be a list of names.
func (v *values) at(i int) []byte {
	if v.typ == encoding.UUID {
		return v.data.bytes()[i*uuidLen:][:uuidLen]
	}
	lo, hi := v.span(i)
	return v.data.bytes()[lo*v.unit() : hi*v.unit()]
}

// equal reports whether two values are equal. They must not be lists of names.
func (v *values) equal(i, j int) bool { return bytes.Equal(v.at(i), v.at(j)) }

// drop removes the last value. The value must not be a list of names.
func (v *values) drop() {
	v.data.truncate(v.data.n - len(v.at(v.n-1)))
	v.n--
	if v.typ != encoding.UUID {
		v.offsets.truncate(4 * (v.n + 1))
	}
}

// size returns the number of bytes that the values hold.
func (v *values) size() int { return v.data.n + v.offsets.n + v.inner.n }

// take hands over the values as an array. bits is its validity bitmap, of which take takes ownership, and
// nulls is the number of null values. The caller releases the result.
func (v *values) take(bits *memory.Buffer, nulls int) *array.Data {
	n, members := v.n, v.members()
	v.n = 0
	if v.typ == encoding.UUID {
		return newData(uuidType, n, nulls, bits, v.data.take())
	}
	v.begin() // an array without values may omit its only offset, but some readers need it
	if v.typ == encoding.String {
		return newData(arrow.BinaryTypes.String, n, nulls, bits, v.offsets.take(), v.data.take())
	}
	typ, elements := listType, (*array.Data)(nil)
	if v.names {
		if v.inner.n == 0 {
			putInt32(v.inner.grow(4), 0)
		}
		typ, elements = namesType, newData(arrow.BinaryTypes.String, members, 0, nil, v.inner.take(), v.data.take())
	} else {
		elements = newData(uuidType, members, 0, nil, v.data.take())
	}
	defer elements.Release()
	offsets := v.offsets.take()
	defer release(bits, offsets)
	return array.NewData(typ, n, []*memory.Buffer{bits, offsets}, []arrow.ArrayData{elements}, nulls, 0)
}

func (v *values) release() {
	v.data.release()
	v.offsets.release()
	v.inner.release()
	v.n = 0
}

// newData makes array data that takes ownership of the buffers.
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
