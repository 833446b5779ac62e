package main

import (
	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// whole returns the whole locations of a column of stacks, which the caller releases. Each distinct stack is an
// entry of a dictionary of lists, and each distinct location one of a dictionary of structs. Texts are in a
// dictionary that all columns share.
func whole(stacks *columnstore.GroupColumn) (arrow.Array, error) {
	t, err := profile.NewStackTable(stacks)
	if err != nil {
		return nil, err
	}
	c := &t.Locations
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(c.Texts, nil)
	texts := b.NewArray().Data()
	line := structOf(
		[]string{"line", "function_name", "function_system_name", "function_filename", "function_start_line"},
		int64sOf(c.Lines), dictionaryOf(c.Functions, texts), dictionaryOf(c.SystemNames, texts), dictionaryOf(c.SourceFiles, texts), int64sOf(c.StartLines),
	)
	addresses := memory.NewBufferBytes(arrow.Uint64Traits.CastToBytes(c.Addresses))
	location := structOf(
		[]string{"address", "mapping_file", "mapping_build_id", "lines"},
		array.NewData(arrow.PrimitiveTypes.Uint64, len(c.Addresses), []*memory.Buffer{nil, addresses}, nil, 0, 0),
		dictionaryOf(c.Files, texts), dictionaryOf(c.BuildIDs, texts), listOf(c.LineEnds, line),
	)
	return array.MakeFromData(dictionaryOf(t.Groups, listOf(t.Ends, dictionaryOf(t.Members, location)))), nil
}

func int64sOf(numbers []int64) arrow.ArrayData {
	bytes := memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(numbers))
	return array.NewData(arrow.PrimitiveTypes.Int64, len(numbers), []*memory.Buffer{nil, bytes}, nil, 0, 0)
}

func structOf(names []string, fields ...arrow.ArrayData) arrow.ArrayData {
	var kinds []arrow.Field
	for i, f := range fields {
		kinds = append(kinds, arrow.Field{Name: names[i], Type: f.DataType(), Nullable: true})
	}
	return array.NewData(arrow.StructOf(kinds...), fields[0].Len(), []*memory.Buffer{nil}, fields, 0, 0)
}

func listOf(ends []int32, of arrow.ArrayData) arrow.ArrayData {
	offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(ends))
	return array.NewData(arrow.ListOf(of.DataType()), len(ends)-1, []*memory.Buffer{nil, offsets}, []arrow.ArrayData{of}, 0, 0)
}

func dictionaryOf(codes []uint32, of arrow.ArrayData) arrow.ArrayData {
	kind := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: of.DataType()}
	data := memory.NewBufferBytes(arrow.Uint32Traits.CastToBytes(codes))
	return array.NewDataWithDictionary(kind, len(codes), []*memory.Buffer{nil, data}, 0, 0, of.(*array.Data))
}
