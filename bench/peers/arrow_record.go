package peers

import (
	"maps"
	"slices"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// arrowText is the type of strings in Parca's records.
var arrowText = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.Binary}

// arrowLocation is arrowText with 16-byte ids, which this store takes as ids.
var arrowLocation = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: &arrow.FixedSizeBinaryType{ByteWidth: 16}}

// Record turns a profile into an Arrow record with Parca's shape: strings and the locations of stacks by
// dictionaries. The caller releases it.
func Record(b schema.Batch) arrow.Record {
	var fields []arrow.Field
	var columns []arrow.Array
	for _, name := range slices.Sorted(maps.Keys(b.Columns)) {
		column := recordColumn(b.Columns[name], b.Rows)
		defer column.Release() // the record keeps it
		fields = append(fields, arrow.Field{Name: name, Type: column.DataType(), Nullable: true})
		columns = append(columns, column)
	}
	return array.NewRecord(arrow.NewSchema(fields, nil), columns, int64(b.Rows))
}

// recordColumn returns a column's array. A value that stands for all rows is repeated.
func recordColumn(v encoding.Vector, rows int) arrow.Array {
	switch v.Type {
	case encoding.String:
		return texts(v, rows)
	case encoding.UUIDList:
		return locationLists(v.UUIDLists)
	case encoding.UUID:
		b := array.NewFixedSizeBinaryBuilder(memory.DefaultAllocator, arrowLocation.ValueType.(*arrow.FixedSizeBinaryType))
		defer b.Release()
		for row := range rows {
			if id, ok := Cell(v, row).(uuid.UUID); ok {
				b.Append(id[:])
			} else {
				b.AppendNull()
			}
		}
		return b.NewArray()
	default:
		return numbers(v, rows)
	}
}

// texts returns a dictionary array of strings. An empty one is null.
func texts(v encoding.Vector, rows int) arrow.Array {
	if v.Len() == 1 && !v.Null(0) && v.Strings[0] != "" {
		return constant(v.Strings[0], rows)
	}
	b := array.NewDictionaryBuilder(memory.DefaultAllocator, arrowText).(*array.BinaryDictionaryBuilder)
	defer b.Release()
	for row := range rows {
		text, ok := Cell(v, row).(string)
		if !ok {
			b.AppendNull()
		} else if err := b.AppendString(text); err != nil {
			panic(err) // the dictionary's type is the builder's
		}
	}
	return b.NewArray()
}

// constant returns a dictionary array with one value in every row.
func constant(value string, rows int) arrow.Array {
	b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	defer b.Release()
	b.AppendString(value)
	values := b.NewArray()
	defer values.Release()
	return dictionaryOf(arrowText, make([]uint32, rows), values)
}

// locationLists returns lists of location ids. A location that occurs again shares its entry
// in the dictionary.
func locationLists(stacks [][]uuid.UUID) arrow.Array {
	ids := array.NewFixedSizeBinaryBuilder(memory.DefaultAllocator, arrowLocation.ValueType.(*arrow.FixedSizeBinaryType))
	defer ids.Release()
	known := map[uuid.UUID]uint32{}
	var codes []uint32
	offsets := make([]int32, 1, len(stacks)+1)
	for _, stack := range stacks {
		for _, id := range stack {
			code, ok := known[id]
			if !ok {
				code = uint32(len(known))
				known[id] = code
				ids.Append(id[:])
			}
			codes = append(codes, code)
		}
		offsets = append(offsets, int32(len(codes)))
	}
	values := ids.NewArray()
	defer values.Release()
	elements := dictionaryOf(arrowLocation, codes, values)
	defer elements.Release()
	data := array.NewData(arrow.ListOf(arrowLocation), len(stacks),
		[]*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets))}, []arrow.ArrayData{elements.Data()}, 0, 0)
	defer data.Release()
	return array.NewListData(data)
}

// dictionaryOf returns a dictionary array of codes.
func dictionaryOf(t *arrow.DictionaryType, codes []uint32, values arrow.Array) arrow.Array {
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Uint32Traits.CastToBytes(codes))}
	data := array.NewDataWithDictionary(t, len(codes), buffers, 0, 0, values.Data().(*array.Data))
	defer data.Release()
	return array.NewDictionaryData(data)
}

// numbers returns an array of integers.
func numbers(v encoding.Vector, rows int) arrow.Array {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	for row := range rows {
		if number, ok := Cell(v, row).(int64); ok {
			b.Append(number)
		} else {
			b.AppendNull()
		}
	}
	return b.NewArray()
}
