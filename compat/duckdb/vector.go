//go:build cgo

package duckdb

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/duckdb/duckdb-go/v2/mapping"
)

// Only this file writes to the memory of DuckDB's vectors. It stays within bounds: a vector with n rows has
// n elements of the size that DuckDB documents for its type, from VectorGetData on, and a bit each, rounded
// up to 64, from VectorGetValidity on. Every slice below is made with that n, and Go checks its bounds.

// elements returns a flat vector's memory, for n rows.
func elements[T any](v mapping.Vector, n int) []T {
	return unsafe.Slice((*T)(mapping.VectorGetData(v)), n)
}

// setNull makes a row in the first n null if null reports true.
func setNull(v mapping.Vector, n int, null func(row int) bool) {
	mapping.VectorEnsureValidityWritable(v)
	valid := unsafe.Slice((*uint64)(mapping.VectorGetValidity(v)), (n+63)/64)
	for row := range n {
		if null(row) {
			valid[row/64] &^= 1 << (row % 64)
		}
	}
}

// bits is an Arrow bitmap from a row on.
type bits struct {
	bytes  []byte
	offset int
}

func (b bits) at(i int) bool {
	i += b.offset
	return b.bytes[i/8]>>(i%8)&1 != 0
}

// validity returns the values' validity from row lo on. ok is false if all are valid.
func validity(data arrow.ArrayData, lo int) (valid bits, ok bool) {
	buffer := data.Buffers()[0]
	if buffer == nil || data.NullN() == 0 {
		return bits{}, false
	}
	return bits{buffer.Bytes(), data.Offset() + lo}, true
}

// words returns fixed-type values from row lo on.
func words[T any](data arrow.ArrayData, lo, n int) []T {
	var zero T
	at := (data.Offset() + lo) * int(unsafe.Sizeof(zero))
	bytes := data.Buffers()[1].Bytes()[at : at+n*int(unsafe.Sizeof(zero))]
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(bytes))), n)
}

// copyValues copies n values from row lo on into a flat vector, from its first row on.
func copyValues(out mapping.Vector, data arrow.ArrayData, lo, n int) {
	if n == 0 {
		return // there may be no buffers
	}
	if valid, ok := validity(data, lo); ok {
		setNull(out, n, func(row int) bool { return !valid.at(row) })
	}
	switch data.DataType().ID() {
	case arrow.BOOL:
		values := bits{data.Buffers()[1].Bytes(), data.Offset() + lo}
		for i, to := 0, elements[bool](out, n); i < n; i++ {
			to[i] = values.at(i)
		}
	case arrow.STRING:
		copyText(out, data, lo, n)
	case arrow.FIXED_SIZE_BINARY:
		to := elements[[2]uint64](out, n)
		for i, id := range words[[16]byte](data, lo, n) {
			to[i] = hugeint(id)
		}
	default: // int64, uint64, double
		copy(elements[uint64](out, n), words[uint64](data, lo, n))
	}
}

// hugeint returns a UUID in DuckDB's form: a number ordered like the bytes.
func hugeint(id [16]byte) [2]uint64 {
	return [2]uint64{binary.BigEndian.Uint64(id[8:]), binary.BigEndian.Uint64(id[:8]) ^ 1<<63}
}

// copyText copies texts into a flat vector. DuckDB copies them into its own memory.
func copyText(out mapping.Vector, data arrow.ArrayData, lo, n int) {
	at := texts(data, lo, n)
	valid, some := validity(data, lo)
	for i := range n {
		if !some || valid.at(i) {
			assign(out, i, at(i))
		}
	}
}

// assign copies a text into a row. Invalid UTF-8, which Table.Elements can make, is replaced, because
// DuckDB would turn it into null.
func assign(v mapping.Vector, row int, text []byte) {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	mapping.VectorAssignStringElementLen(v, mapping.IdxT(row), text)
}

// texts returns an array's texts from row lo on.
func texts(data arrow.ArrayData, lo, n int) func(i int) []byte {
	ends := words[int32](data, lo, n+1)
	var all []byte
	if buffer := data.Buffers()[2]; buffer != nil {
		all = buffer.Bytes()
	}
	return func(i int) []byte { return all[ends[i]:ends[i+1]] }
}

// newValues makes a vector of a dictionary's values, followed by a null.
func newValues(typ mapping.LogicalType, data arrow.ArrayData) mapping.Vector {
	n := data.Len()
	v := mapping.CreateVector(typ, mapping.IdxT(n+1))
	if data.DataType().ID() == arrow.LIST {
		copyLists(v, data)
	} else {
		copyValues(v, data, 0, n)
	}
	elements[[2]uint64](v, n+1)[n] = [2]uint64{} // all types with a dictionary have 16 bytes in DuckDB
	setNull(v, n+1, func(row int) bool { return row == n })
	return v
}

// copyLists copies lists into a flat vector.
func copyLists(v mapping.Vector, data arrow.ArrayData) {
	n := data.Len()
	if n == 0 {
		return
	}
	if valid, ok := validity(data, 0); ok {
		setNull(v, n, func(row int) bool { return !valid.at(row) })
	}
	ends := words[int32](data, 0, n+1)
	for i, to := 0, elements[[2]uint64](v, n); i < n; i++ {
		to[i] = [2]uint64{uint64(ends[i] - ends[0]), uint64(ends[i+1] - ends[i])} // offset and length
	}
	lo, count := int(ends[0]), int(ends[n]-ends[0])
	mapping.ListVectorReserve(v, mapping.IdxT(count))
	mapping.ListVectorSetSize(v, mapping.IdxT(count))
	child, items := mapping.ListVectorGetChild(v), data.Children()[0]
	if items.DataType().ID() == arrow.STRING {
		copyNames(child, items, lo, count)
	} else {
		copyValues(child, items, lo, count)
	}
}

// copyNames copies texts as copyText does. A repeated text reuses DuckDB's entry for its first occurrence:
// its length and address. Stacks have many frames but few functions. (A dictionary vector would be smaller,
// but DuckDB 1.5 reads wrong values from it as list elements.)
func copyNames(out mapping.Vector, data arrow.ArrayData, lo, n int) {
	at, to := texts(data, lo, n), elements[[2]uint64](out, n)
	first := map[string]int{}
	for i := range n {
		text := at(i)
		if was, ok := first[string(text)]; ok {
			to[i] = to[was]
			continue
		}
		assign(out, i, text)
		first[string(text)] = i
	}
}

// slice makes a dictionary vector with n rows from row lo on. values is from newValues.
func slice(out, values mapping.Vector, data arrow.ArrayData, lo, n int) {
	indexes := words[uint32](data, lo, n)
	null := uint32(data.Dictionary().Len())
	valid, some := validity(data, lo)
	refer(out, values, n, func(i int) uint32 {
		if some && !valid.at(i) {
			return null
		}
		return indexes[i]
	})
}

// refer makes a dictionary vector with n rows. Its values are shared, and live as long as it does, even if
// their own vector is destroyed before.
func refer(out, values mapping.Vector, n int, code func(i int) uint32) {
	sel := mapping.CreateSelectionVector(mapping.IdxT(n))
	defer mapping.DestroySelectionVector(&sel)
	to := unsafe.Slice((*uint32)(unsafe.Pointer(mapping.SelectionVectorGetDataPtr(sel))), n)
	for i := range to {
		to[i] = code(i)
	}
	mapping.VectorReferenceVector(out, values)
	mapping.SliceVector(out, sel, mapping.IdxT(n))
}
