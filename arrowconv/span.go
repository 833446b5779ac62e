package arrowconv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/bitutil"
)

// maxEnd bounds offset+length of an array, so that sizes in bytes and bits computed from it
// cannot overflow. No memory holds as many rows.
const maxEnd = math.MaxInt / 64

// errNoData reports an array that was released, or was never valid.
var errNoData = errors.New("array without data")

// span is a range of rows of an array with checked lengths and a checked null bitmap. Its methods check
// the other buffers before they return them (A3). Rows are counted from 0 at the span's start.
type span struct {
	data   *array.Data
	typ    arrow.DataType
	offset int // first row's offset within the buffers
	rows   int
	valid  []byte // null bitmap, from bit 0 of the buffer; nil: no nulls
}

// newSpan checks that data has as many buffers and children as its type needs, and a bitmap that covers
// its length.
func newSpan(given arrow.ArrayData, buffers, children int) (span, error) {
	if typeID(given) < 0 {
		return span{}, errNoData
	}
	data := given.(*array.Data)
	s := span{data: data, typ: data.DataType(), offset: data.Offset(), rows: data.Len()}
	switch {
	case s.rows < 0 || s.offset < 0 || s.rows > maxEnd || s.offset > maxEnd-s.rows:
		return span{}, fmt.Errorf("length %d and offset %d", s.rows, s.offset)
	case len(data.Buffers()) != buffers:
		return span{}, fmt.Errorf("%d buffers, want %d", len(data.Buffers()), buffers)
	case len(data.Children()) != children:
		return span{}, fmt.Errorf("%d children, want %d", len(data.Children()), children)
	}
	// A bitmap without bytes means no bitmap, as in Arrow's own IsNull.
	if s.valid = s.buffer(0); len(s.valid) == 0 {
		s.valid = nil
	} else if need := bitutil.BytesForBits(int64(s.offset + s.rows)); int64(len(s.valid)) < need {
		return span{}, fmt.Errorf("null bitmap of %d bytes, want %d", len(s.valid), need)
	}
	return s, nil
}

// buffer returns the unchecked bytes of buffer i, or nil if it is absent.
func (s *span) buffer(i int) []byte {
	if all := s.data.Buffers(); i < len(all) && all[i] != nil {
		return all[i].Bytes()
	}
	return nil
}

// between returns rows [lo, hi) of the span, which must be within it.
func (s span) between(lo, hi int) span {
	s.offset += lo
	s.rows = hi - lo
	return s
}

// null reports whether row i has no value.
func (s *span) null(i int) bool {
	return s.valid != nil && bitutil.BitIsNotSet(s.valid, s.offset+i)
}

// hasNulls reports whether some row has no value.
func (s *span) hasNulls() bool {
	return s.valid != nil && bitutil.CountSetBits(s.valid, s.offset, s.rows) < s.rows
}

// flags returns whether each row has a value, or nil if all do.
func (s *span) flags() []bool {
	if !s.hasNulls() {
		return nil
	}
	flags := make([]bool, s.rows)
	for i := range flags {
		flags[i] = !s.null(i)
	}
	return flags
}

// isConstant reports whether all rows of an array, at least one, are null, or have the same number or
// dictionary index. It returns false for a malformed array, because the reader of its values reports it.
func isConstant(given arrow.ArrayData) bool {
	s, err := newSpan(given, 2, 0)
	if err != nil {
		return false
	}
	typ := s.typ
	if t, ok := typ.(*arrow.DictionaryType); ok && t != nil && isInteger(t.IndexType) {
		typ = t.IndexType
	}
	width := numberWidth(typ)
	if width == 0 {
		return false
	}
	raw, err := s.fixed(width)
	switch {
	case err != nil:
		return false
	case s.hasNulls():
		return bitutil.CountSetBits(s.valid, s.offset, s.rows) == 0
	}
	return bytes.Equal(raw[width:], raw[:len(raw)-width])
}

// numberWidth returns the bytes of an integer or float value, or 0 for other types.
func numberWidth(t arrow.DataType) int {
	switch id := idOf(t); {
	case id == arrow.FLOAT32:
		return 4
	case isInteger(t), id == arrow.FLOAT64, id == arrow.TIMESTAMP:
		return integerWidth(id)
	}
	return 0
}

// fixed returns the values of the rows, width bytes each, from buffer 1.
func (s *span) fixed(width int) ([]byte, error) {
	raw := s.buffer(1)
	if len(raw)/width < s.offset+s.rows {
		return nil, fmt.Errorf("buffer of %d bytes for %d values of %d", len(raw), s.offset+s.rows, width)
	}
	return raw[s.offset*width:][:s.rows*width], nil
}

// bits returns buffer 1 if it has a bit for each row. Row i has bit offset+i.
func (s *span) bits() ([]byte, error) {
	raw := s.buffer(1)
	if int64(len(raw)) < bitutil.BytesForBits(int64(s.offset+s.rows)) {
		return nil, fmt.Errorf("buffer of %d bytes for %d bits", len(raw), s.offset+s.rows)
	}
	return raw, nil
}

// offsets returns the offsets of buffer 1: the start of each row's value, and the end of the last. They
// ascend and are within [0, limit], and use the memory of dst if it suffices.
func (s *span) offsets(dst []int, limit int) ([]int, error) {
	if s.rows == 0 {
		return append(dst[:0], 0), nil // the buffer may be absent
	}
	all := *s
	all.rows++
	wide := s.typ.ID() == arrow.LARGE_STRING || s.typ.ID() == arrow.LARGE_BINARY || s.typ.ID() == arrow.LARGE_LIST
	width := 4
	if wide {
		width = 8
	}
	raw, err := all.fixed(width)
	if err != nil {
		return nil, fmt.Errorf("offsets: %w", err)
	}
	out := slices.Grow(dst[:0], all.rows)[:all.rows]
	last := int64(0)
	for i := range out {
		end := int64(0)
		if wide {
			end = int64(binary.NativeEndian.Uint64(raw[8*i:]))
		} else {
			end = int64(int32(binary.NativeEndian.Uint32(raw[4*i:])))
		}
		if end < last || end > int64(limit) {
			return nil, fmt.Errorf("offset %d is %d, want %d to %d", i, end, last, limit)
		}
		out[i], last = int(end), end
	}
	return out, nil
}

// integer is the result type of integers.
type integer interface{ int64 | uint64 }

// integers returns an integer array's values, including the values of null rows.
func integers[T integer](s *span) ([]T, error) {
	width := integerWidth(s.typ.ID())
	raw, err := s.fixed(width)
	if err != nil {
		return nil, err
	}
	out := make([]T, s.rows)
	switch s.typ.ID() {
	case arrow.INT8:
		for i := range out {
			out[i] = T(int8(raw[i]))
		}
	case arrow.UINT8:
		for i := range out {
			out[i] = T(raw[i])
		}
	case arrow.INT16:
		for i := range out {
			out[i] = T(int16(binary.NativeEndian.Uint16(raw[2*i:])))
		}
	case arrow.UINT16:
		for i := range out {
			out[i] = T(binary.NativeEndian.Uint16(raw[2*i:]))
		}
	case arrow.INT32:
		for i := range out {
			out[i] = T(int32(binary.NativeEndian.Uint32(raw[4*i:])))
		}
	case arrow.UINT32:
		for i := range out {
			out[i] = T(binary.NativeEndian.Uint32(raw[4*i:]))
		}
	default:
		for i := range out {
			out[i] = T(binary.NativeEndian.Uint64(raw[8*i:]))
		}
	}
	return out, nil
}

// integerWidth returns the bytes per value: less than 8 only for narrower integers.
func integerWidth(id arrow.Type) int {
	switch id {
	case arrow.INT8, arrow.UINT8:
		return 1
	case arrow.INT16, arrow.UINT16:
		return 2
	case arrow.INT32, arrow.UINT32:
		return 4
	}
	return 8
}
