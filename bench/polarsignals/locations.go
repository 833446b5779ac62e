package main

import (
	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/columnstore"
	codec "github.com/granarydb/granary/profile/pprof"
)

// wholeLocations makes the column of whole locations for the stacks of an answer, by the public decoder of
// records. Each distinct stack is an entry of a dictionary of lists, and each distinct location one of a
// dictionary of structs. Texts are in dictionaries too, as the benchmark's schema has them.
type wholeLocations struct {
	decoder *codec.RecordDecoder
	codes   []uint32 // by code of an element: its location from 1 on
	record  []byte
	decoded codec.LocationRecord

	addresses           []uint64
	mappings, builds    texts
	ends                []int32 // of each location's lines
	numbers, starts     []int64
	functions           texts
	systemNames         texts
	files               texts
	stackEnds           []int32
	members             []uint32 // locations of all stacks
	stacks              []uint32 // by code of a list: its stack from 1 on
	elements, rowStacks []uint32
}

// texts is a column of texts in a dictionary.
type texts struct {
	codes []uint32
	known map[string]uint32
	all   []string
}

func (t *texts) add(text string) {
	code, known := t.known[text]
	if !known {
		if t.known == nil {
			t.known = map[string]uint32{}
		}
		code = uint32(len(t.all))
		t.known[text], t.all = code, append(t.all, text)
	}
	t.codes = append(t.codes, code)
}

// whole returns the locations of a column of stacks, which the caller releases.
func whole(stacks *columnstore.Groups, column int) (arrow.Array, error) {
	w := wholeLocations{decoder: codec.NewRecordDecoder(), ends: []int32{0}, stackEnds: []int32{0}}
	from := &stacks.Columns[column]
	for _, code := range from.Codes {
		if err := w.row(from, code); err != nil {
			return nil, err
		}
	}
	return w.array(), nil
}

// row appends a row with a stack.
func (w *wholeLocations) row(from *columnstore.GroupColumn, code uint32) error {
	for int(code) >= len(w.stacks) {
		w.stacks = append(w.stacks, make([]uint32, max(1024, len(w.stacks)))...)
	}
	if w.stacks[code] == 0 {
		w.elements = from.Lists.List(w.elements[:0], code)
		for _, element := range w.elements {
			at, err := w.location(from, element)
			if err != nil {
				return err
			}
			w.members = append(w.members, at)
		}
		w.stackEnds = append(w.stackEnds, int32(len(w.members)))
		w.stacks[code] = uint32(len(w.stackEnds) - 1)
	}
	w.rowStacks = append(w.rowStacks, w.stacks[code]-1)
	return nil
}

// location returns the location of an element, decoded if it is new.
func (w *wholeLocations) location(from *columnstore.GroupColumn, element uint32) (uint32, error) {
	for int(element) >= len(w.codes) {
		w.codes = append(w.codes, make([]uint32, max(1024, len(w.codes)))...)
	}
	if at := w.codes[element]; at > 0 {
		return at - 1, nil
	}
	if err := w.decoder.Decode(&w.decoded, from.Lists.ReadRecord(&w.record, element)); err != nil {
		return 0, err
	}
	l := &w.decoded
	w.addresses = append(w.addresses, l.Address)
	file, build := "", ""
	if l.Mapping != nil {
		file, build = l.Mapping.File, l.Mapping.BuildID
	}
	w.mappings.add(file)
	w.builds.add(build)
	for i := range l.Lines {
		line := &l.Lines[i]
		w.numbers, w.starts = append(w.numbers, line.Line), append(w.starts, line.StartLine)
		w.functions.add(line.Function)
		w.systemNames.add(line.SystemName)
		w.files.add(line.File)
	}
	w.ends = append(w.ends, int32(len(w.numbers)))
	w.codes[element] = uint32(len(w.addresses))
	return uint32(len(w.addresses) - 1), nil
}

// array returns the column, in the memory of w.
func (w *wholeLocations) array() arrow.Array {
	line := structOf([]string{"line", "function_name", "function_system_name", "function_filename", "function_start_line"},
		numbersOf(arrow.PrimitiveTypes.Int64, arrow.Int64Traits.CastToBytes(w.numbers), len(w.numbers)),
		w.functions.array(), w.systemNames.array(), w.files.array(),
		numbersOf(arrow.PrimitiveTypes.Int64, arrow.Int64Traits.CastToBytes(w.starts), len(w.starts)))
	location := structOf([]string{"address", "mapping_file", "mapping_build_id", "lines"},
		numbersOf(arrow.PrimitiveTypes.Uint64, arrow.Uint64Traits.CastToBytes(w.addresses), len(w.addresses)),
		w.mappings.array(), w.builds.array(), listOf(w.ends, line))
	stacks := listOf(w.stackEnds, dictionaryOf(w.members, location))
	return array.MakeFromData(dictionaryOf(w.rowStacks, stacks))
}

func (t *texts) array() arrow.ArrayData {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(t.all, nil)
	return dictionaryOf(t.codes, b.NewArray().Data())
}

func numbersOf(kind arrow.DataType, bytes []byte, n int) arrow.ArrayData {
	return array.NewData(kind, n, []*memory.Buffer{nil, memory.NewBufferBytes(bytes)}, nil, 0, 0)
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
