package export

import (
	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/profile"
)

// Stacks returns a table's stacks as a column with an element for each group: an entry of a dictionary of lists, whose
// elements are entries of a dictionary of locations.
//
//	dictionary<uint32, list<dictionary<uint32, struct<
//	    address uint64, mapping_file, mapping_build_id,
//	    lines list<struct<line int64, function_name, function_system_name, function_filename, function_start_line int64>>>>>>
//
// Texts are entries of one dictionary<uint32, utf8>. Unknown texts are "", and nothing is null. The column is released by
// the caller. It shares the table's memory, which must not be changed any more; it costs a copy of the distinct texts.
func Stacks(t *profile.StackTable) arrow.Array {
	l := &t.Locations
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(l.Texts, nil)
	texts := b.NewArray()
	defer texts.Release()
	of := func(codes []uint32) arrow.ArrayData { return dictionary(codes, texts.Data()) }
	line := structs(
		[]string{"line", "function_name", "function_system_name", "function_filename", "function_start_line"},
		numbers(arrow.PrimitiveTypes.Int64, arrow.Int64Traits.CastToBytes(l.Lines), len(l.Lines)),
		of(l.Functions), of(l.SystemNames), of(l.SourceFiles),
		numbers(arrow.PrimitiveTypes.Int64, arrow.Int64Traits.CastToBytes(l.StartLines), len(l.StartLines)),
	)
	location := structs(
		[]string{"address", "mapping_file", "mapping_build_id", "lines"},
		numbers(arrow.PrimitiveTypes.Uint64, arrow.Uint64Traits.CastToBytes(l.Addresses), len(l.Addresses)),
		of(l.Files), of(l.BuildIDs), lists(l.LineEnds, line),
	)
	return array.MakeFromData(dictionary(t.Groups, lists(t.Ends, dictionary(t.Members, location))))
}

func numbers(kind arrow.DataType, bytes []byte, n int) arrow.ArrayData {
	return array.NewData(kind, n, []*memory.Buffer{nil, memory.NewBufferBytes(bytes)}, nil, 0, 0)
}

func structs(names []string, fields ...arrow.ArrayData) arrow.ArrayData {
	var kinds []arrow.Field
	for i, f := range fields {
		kinds = append(kinds, arrow.Field{Name: names[i], Type: f.DataType(), Nullable: true})
	}
	return array.NewData(arrow.StructOf(kinds...), fields[0].Len(), []*memory.Buffer{nil}, fields, 0, 0)
}

// lists returns lists that end at ends, of which there is one more than lists, or none for no list.
func lists(ends []int32, of arrow.ArrayData) arrow.ArrayData {
	if len(ends) == 0 {
		ends = []int32{0}
	}
	offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(ends))
	return array.NewData(arrow.ListOf(of.DataType()), len(ends)-1, []*memory.Buffer{nil, offsets}, []arrow.ArrayData{of}, 0, 0)
}

func dictionary(codes []uint32, of arrow.ArrayData) arrow.ArrayData {
	kind := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: of.DataType()}
	data := memory.NewBufferBytes(arrow.Uint32Traits.CastToBytes(codes))
	return array.NewDataWithDictionary(kind, len(codes), []*memory.Buffer{nil, data}, 0, 0, of.(*array.Data))
}
