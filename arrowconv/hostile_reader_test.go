package arrowconv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
)

// This file reads arrays a second time, as the Arrow columnar format describes
// them: a value at a time, by index arithmetic on the buffers, sharing no code
// with Batch and calling no accessor of arrow's arrays.

// slowValue returns row i of an array in the form of rows, nil for null. It trusts the array,
// and panics if the array is malformed.
func slowValue(t encoding.Type, given arrow.ArrayData, i int) any {
	d := given.(*array.Data)
	k := d.Offset() + i
	if typ, ok := d.DataType().(*arrow.RunEndEncodedType); ok {
		ends := d.Children()[0].(*array.Data)
		run := 0
		for slowInt(typ.RunEnds(), ends.Buffers()[1].Bytes(), ends.Offset()+run) <= int64(k) {
			if run++; run == ends.Len() {
				panic("no run for the row")
			}
		}
		return slowValue(t, d.Children()[1], run)
	}
	if b := d.Buffers()[0]; b != nil && b.Len() > 0 && b.Bytes()[k/8]>>(k%8)&1 == 0 {
		return nil
	}
	if typ, ok := d.DataType().(*arrow.DictionaryType); ok {
		index := slowInt(typ.IndexType, d.Buffers()[1].Bytes(), k)
		if index < 0 || index >= int64(d.Dictionary().Len()) {
			panic("no dictionary entry for the row")
		}
		return slowValue(t, d.Dictionary(), int(index))
	}
	switch t {
	case encoding.String:
		lo, hi := slowOffsets(d, k)
		return string(d.Buffers()[2].Bytes()[lo:hi])
	case encoding.UUIDList:
		lo, hi := slowOffsets(d, k)
		list := []uuid.UUID{}
		for e := lo; e < hi; e++ {
			list = append(list, slowValue(encoding.UUID, d.Children()[0], e).(uuid.UUID))
		}
		return list
	case encoding.UUID:
		if len(d.Buffers()) < 3 {
			break
		}
		lo, hi := slowOffsets(d, k)
		if hi-lo != uuidLen {
			panic("not 16 bytes")
		}
		return uuid.UUID(d.Buffers()[2].Bytes()[lo:hi])
	}
	return slowFixed(t, d, k)
}

// slowFixed reads the value at k, counted from the buffer's start.
func slowFixed(t encoding.Type, d *array.Data, k int) any {
	raw := d.Buffers()[1].Bytes()
	switch t {
	case encoding.Int64:
		return slowInt(d.DataType(), raw, k)
	case encoding.Uint64:
		return uint64(slowInt(d.DataType(), raw, k))
	case encoding.Float64:
		if d.DataType().ID() == arrow.FLOAT32 {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*k:])))
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(raw[8*k:]))
	case encoding.Bool:
		return raw[k/8]>>(k%8)&1 == 1
	}
	return uuid.UUID(raw[16*k : 16*k+16])
}

// slowInt reads the integer at k of a buffer.
func slowInt(typ arrow.DataType, raw []byte, k int) int64 {
	width := typ.(arrow.FixedWidthDataType).BitWidth() / 8
	var v uint64
	for i := range width {
		v |= uint64(raw[k*width+i]) << (8 * i)
	}
	switch typ.ID() {
	case arrow.INT8:
		return int64(int8(v))
	case arrow.INT16:
		return int64(int16(v))
	case arrow.INT32:
		return int64(int32(v))
	}
	return int64(v)
}

// slowOffsets reads where the value at k begins and ends.
func slowOffsets(d *array.Data, k int) (lo, hi int) {
	typ := arrow.PrimitiveTypes.Int32
	switch d.DataType().ID() {
	case arrow.LARGE_STRING, arrow.LARGE_BINARY, arrow.LARGE_LIST:
		typ = arrow.PrimitiveTypes.Int64
	}
	raw := d.Buffers()[1].Bytes()
	return int(slowInt(typ, raw, k)), int(slowInt(typ, raw, k+1))
}

// slowRows returns all rows of an array.
func slowRows(t encoding.Type, d arrow.ArrayData) []any {
	out := make([]any, d.Len())
	for i := range out {
		out[i] = slowValue(t, d, i)
	}
	return out
}

// slowValid returns an error unless an array is of a type, valid in all its parts by the
// format, and within the types and limits of Batch. Batch must accept a valid one.
func slowValid(t encoding.Type, typ arrow.DataType, given arrow.ArrayData) (err error) {
	defer func() {
		if p := recover(); p != nil { // a read beyond a buffer
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	d, ok := given.(*array.Data)
	switch {
	case !ok || d == nil:
		return errors.New("no data")
	case d.DataType() == nil || d.DataType().ID() != typ.ID() || !arrow.TypeEqual(d.DataType(), typ):
		return errors.New("another type")
	case d.Len() < 0 || d.Len() > 1<<20 || d.Offset() < 0 || d.Offset() > 1<<20:
		return errors.New("length or offset")
	}
	if err := slowLayout(t, d); err != nil {
		return err
	}
	if !t.Fixed() { // each value is readable
		for i := range d.Len() {
			if text, ok := slowValue(t, d, i).(string); ok && !utf8.ValidString(text) {
				return errors.New("not UTF-8")
			}
		}
	}
	return nil
}

// slowLayout checks the buffers and children of an array, and those in turn.
func slowLayout(t encoding.Type, d *array.Data) error {
	end := d.Offset() + d.Len()
	buffers, children := 2, 0
	switch d.DataType().ID() {
	case arrow.RUN_END_ENCODED:
		if len(d.Buffers()) > 1 || len(d.Buffers()) == 1 && bytesOf(d.Buffers()[0]) != nil || len(d.Children()) != 2 {
			return errors.New("layout of runs")
		}
		return slowRuns(t, d)
	case arrow.LIST, arrow.LARGE_LIST:
		children = 1
	case arrow.STRING, arrow.LARGE_STRING, arrow.BINARY, arrow.LARGE_BINARY:
		buffers = 3
	}
	if len(d.Buffers()) != buffers || len(d.Children()) != children {
		return errors.New("layout")
	}
	if bits := bytesOf(d.Buffers()[0]); len(bits) > 0 && 8*len(bits) < end {
		return errors.New("bitmap")
	}
	switch typ := d.DataType().(type) {
	case *arrow.DictionaryType:
		if err := slowFixedFits(typ.IndexType, d, end); err != nil {
			return err
		}
		for i := range d.Len() {
			slowValue(t, d, i) // panics without an entry
		}
		return slowValid(t, typ.ValueType, d.Dictionary())
	case arrow.ListLikeType:
		if err := slowValid(encoding.UUID, typ.Elem(), d.Children()[0]); err != nil {
			return err
		}
		return slowRising(d, d.Children()[0].Len())
	case arrow.BinaryDataType:
		return slowRising(d, len(bytesOf(d.Buffers()[2])))
	}
	return slowFixedFits(d.DataType(), d, end)
}

// slowFixedFits checks the length of buffer 1.
func slowFixedFits(typ arrow.DataType, d *array.Data, end int) error {
	if have := 8 * len(bytesOf(d.Buffers()[1])); have < end*typ.(arrow.FixedWidthDataType).BitWidth() {
		return errors.New("data")
	}
	return nil
}

// slowRising checks the offsets.
func slowRising(d *array.Data, limit int) error {
	for i := range d.Len() {
		if lo, hi := slowOffsets(d, d.Offset()+i); lo < 0 || hi < lo || hi > limit {
			return errors.New("offsets")
		}
	}
	return nil
}

// slowRuns checks a run-end encoded array.
func slowRuns(t encoding.Type, d *array.Data) error {
	typ := d.DataType().(*arrow.RunEndEncodedType)
	ends, values := d.Children()[0].(*array.Data), d.Children()[1]
	if err := slowValid(encoding.Int64, typ.RunEnds(), ends); err != nil {
		return err
	}
	if err := slowValid(t, typ.Encoded(), values); err != nil {
		return err
	}
	last := int64(0)
	for i := range ends.Len() {
		end, ok := slowValue(encoding.Int64, ends, i).(int64)
		if !ok || end <= last {
			return errors.New("run ends")
		}
		last = end
	}
	if values.Len() < ends.Len() || last < int64(d.Offset()+d.Len()) {
		return errors.New("runs")
	}
	return nil
}

// TestSlowReader: the second reader reads records that Arrow made from JSON.
func TestSlowReader(t *testing.T) {
	for _, c := range append(inCases(), runCases(inCases())...) {
		a := c.make(t, memory.NewGoAllocator())
		diff(t, c.want, slowRows(c.typ, a.Data()))
		if err := slowValid(c.typ, a.DataType(), a.Data()); err != nil {
			t.Errorf("%v: %v", a.DataType(), err)
		}
		part := array.NewSlice(a, 1, int64(a.Len()))
		diff(t, c.want[1:], slowRows(c.typ, part.Data()))
	}
}
