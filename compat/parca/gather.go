package parca

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parca-dev/parca/pkg/profile"

	"github.com/granarydb/granary/columnstore"
)

// textType is the type of text in Parca's records.
var textType = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.Binary}

// gather returns the column of stacks' locations. from has each distinct location once. Every place gets
// elements of its own, with their own bits of validity, because Parca's filters clear these bits.
//
//	from    a: 2 lines   b: 1 line
//	places  b a b
//	lines   b0 a0 a1 b0
func gather(from *profile.RecordReader, at *places) (*array.List, error) {
	lines, offsets, err := linesOf(from.Lines, at.indexes)
	if err != nil {
		return nil, err
	}
	line := structOf(from.Line.DataType(), len(lines),
		take64(from.LineNumber, from.LineNumber.Int64Values(), lines),
		take64(from.LineColumn, from.LineColumn.Uint64Values(), lines),
		takeText(from.LineFunctionNameIndices, from.LineFunctionNameDict, lines),
		takeText(from.LineFunctionSystemNameIndices, from.LineFunctionSystemNameDict, lines),
		takeText(from.LineFunctionFilenameIndices, from.LineFunctionFilenameDict, lines),
		take64(from.LineFunctionStartLine, from.LineFunctionStartLine.Int64Values(), lines),
	)
	valid, nulls := takeValid(from.Lines, at.indexes)
	ofLines := array.NewData(from.Lines.DataType(), len(at.indexes),
		buffers(valid, arrow.Int32Traits.CastToBytes(offsets)), []arrow.ArrayData{line}, nulls, 0)
	location := structOf(from.Location.DataType(), len(at.indexes),
		take64(from.Address, from.Address.Uint64Values(), at.indexes),
		take64(from.MappingStart, from.MappingStart.Uint64Values(), at.indexes),
		take64(from.MappingLimit, from.MappingLimit.Uint64Values(), at.indexes),
		take64(from.MappingOffset, from.MappingOffset.Uint64Values(), at.indexes),
		takeText(from.MappingFileIndices, from.MappingFileDict, at.indexes),
		takeText(from.MappingBuildIDIndices, from.MappingBuildIDDict, at.indexes),
		ofLines,
	)
	bits, nulls := bitsOf(at.valid)
	data := array.NewData(from.Locations.DataType(), len(at.valid),
		buffers(bits, arrow.Int32Traits.CastToBytes(at.offsets)), []arrow.ArrayData{location}, nulls, 0)
	return array.NewListData(data), nil
}

// linesOf returns the lines of locations, end to end, and the end of each location's lines.
func linesOf(lists *array.List, locations []uint32) (lines []uint32, offsets []int32, err error) {
	offsets = append(make([]int32, 0, len(locations)+1), 0)
	for _, i := range locations {
		start, end := lists.ValueOffsets(int(i))
		for j := start; j < end; j++ {
			lines = append(lines, uint32(j))
		}
		if len(lines) > math.MaxInt32 {
			return nil, nil, ErrTooLarge
		}
		offsets = append(offsets, int32(len(lines)))
	}
	return lines, offsets, nil
}

// structOf returns a column of structs that are all valid, with bits that can be cleared.
func structOf(t arrow.DataType, rows int, children ...arrow.ArrayData) arrow.ArrayData {
	valid := make([]byte, bitutil.BytesForBits(int64(rows)))
	memory.Set(valid, 0xff)
	return array.NewData(t, rows, buffers(valid), children, 0, 0)
}

// take64 returns the values at indexes of a 64-bit column.
func take64[T int64 | uint64](column arrow.Array, values []T, indexes []uint32) arrow.ArrayData {
	out := make([]T, len(indexes))
	for i, j := range indexes {
		out[i] = values[j]
	}
	valid, nulls := takeValid(column, indexes)
	return array.NewData(column.DataType(), len(out), buffers(valid, arrow.GetBytes(out)), nil, nulls, 0)
}

// takeText returns the values at indexes of a text column. They share the dictionary.
func takeText(column *array.Uint32, dict *array.Binary, indexes []uint32) arrow.ArrayData {
	out, values := make([]uint32, len(indexes)), column.Uint32Values()
	for i, j := range indexes {
		out[i] = values[j]
	}
	valid, nulls := takeValid(column, indexes)
	return array.NewDataWithDictionary(textType, len(out), buffers(valid, arrow.Uint32Traits.CastToBytes(out)), nulls, 0, dict.Data().(*array.Data))
}

// takeValid returns a column's bits of validity at indexes, nil if all of its values are valid.
func takeValid(column arrow.Array, indexes []uint32) (bits []byte, nulls int) {
	if column.NullN() == 0 {
		return nil, 0
	}
	bits = make([]byte, bitutil.BytesForBits(int64(len(indexes))))
	for i, j := range indexes {
		if column.IsValid(int(j)) {
			bitutil.SetBit(bits, i)
		} else {
			nulls++
		}
	}
	return bits, nulls
}

// bitsOf returns bits of validity.
func bitsOf(valid []bool) (bits []byte, nulls int) {
	bits = make([]byte, bitutil.BytesForBits(int64(len(valid))))
	for i, v := range valid {
		if v {
			bitutil.SetBit(bits, i)
		} else {
			nulls++
		}
	}
	return bits, nulls
}

// numbers returns a column of integers. It takes the slice.
func numbers(values []int64) arrow.Array {
	return array.NewInt64Data(array.NewData(arrow.PrimitiveTypes.Int64, len(values), buffers(nil, arrow.Int64Traits.CastToBytes(values)), nil, 0, 0))
}

// nullNumbers returns a column of nulls.
func nullNumbers(rows int) arrow.Array {
	bits := make([]byte, bitutil.BytesForBits(int64(rows)))
	return array.NewInt64Data(array.NewData(arrow.PrimitiveTypes.Int64, rows, buffers(bits, make([]byte, 8*rows)), nil, rows, 0))
}

// textColumn returns groups' values as a dictionary.
func textColumn(c *columnstore.GroupColumn) arrow.Array {
	indexes, codes := make([]uint32, c.Values.Len()), map[string]uint32{}
	valid := make([]bool, len(indexes))
	ends, text := []int32{0}, []byte(nil)
	for i, v := range c.Values.Strings {
		if valid[i] = !c.Values.Null(i); !valid[i] {
			continue
		}
		code, ok := codes[v]
		if !ok {
			code = uint32(len(codes))
			codes[v] = code
			text = append(text, v...)
			ends = append(ends, int32(len(text)))
		}
		indexes[i] = code
	}
	bits, nulls := bitsOf(valid)
	dict := array.NewData(arrow.BinaryTypes.Binary, len(codes), buffers(nil, arrow.Int32Traits.CastToBytes(ends), text), nil, 0, 0)
	return array.NewDictionaryData(array.NewDataWithDictionary(textType, len(indexes), buffers(bits, arrow.Uint32Traits.CastToBytes(indexes)), nulls, 0, dict))
}

// buffers returns Arrow's buffers over slices. A nil valid is no buffer.
func buffers(valid []byte, rest ...[]byte) []*memory.Buffer {
	out := make([]*memory.Buffer, 1, len(rest)+1)
	if valid != nil {
		out[0] = memory.NewBufferBytes(valid)
	}
	for _, b := range rest {
		out = append(out, memory.NewBufferBytes(b))
	}
	return out
}
