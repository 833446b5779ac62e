package arrowconv

import (
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding"
)

// idTypes are the types of ids in lists.
func idTypes() []arrow.DataType {
	types := []arrow.DataType{uuidType, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary}
	for _, index := range []arrow.DataType{arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint8} {
		for _, value := range []arrow.DataType{uuidType, arrow.BinaryTypes.Binary} {
			types = append(types, &arrow.DictionaryType{IndexType: index, ValueType: value})
		}
	}
	return types
}

// listsOf makes an array of lists, with an array of its own for each; nil is null.
func listsOf(t rapid.TB, element arrow.DataType, lists []any) arrow.Array {
	b := array.NewListBuilder(memory.NewGoAllocator(), element)
	for _, list := range lists {
		if b.Append(list != nil); list == nil {
			continue
		}
		for _, id := range list.([]uuid.UUID) {
			var err error
			switch ids := b.ValueBuilder().(type) {
			case *array.BinaryDictionaryBuilder:
				err = ids.Append(id[:])
			case *array.FixedSizeBinaryDictionaryBuilder:
				err = ids.Append(id[:])
			case *array.BinaryBuilder:
				ids.Append(id[:])
			case *array.FixedSizeBinaryBuilder:
				ids.Append(id[:])
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.NewArray()
}

// TestImporter: one Importer takes records of lists in all forms, and slices of them, one after
// the other. Every batch has the rows of its record.
func TestImporter(t *testing.T) {
	table := tableOf(t, encoding.UUIDList)
	var m Importer
	rapid.Check(t, func(t *rapid.T) {
		var lists []any
		for range rapid.IntRange(1, 12).Draw(t, "rows") {
			if rapid.IntRange(0, 15).Draw(t, "null") == 0 {
				lists = append(lists, nil)
				continue
			}
			list := []uuid.UUID{}
			for range rapid.IntRange(0, 5).Draw(t, "length") {
				list = append(list, id(byte(rapid.IntRange(1, 9).Draw(t, "id"))))
			}
			lists = append(lists, list)
		}
		typ := rapid.SampledFrom(idTypes()).Draw(t, "type")
		lo := rapid.IntRange(0, len(lists)-1).Draw(t, "lo")
		hi := rapid.IntRange(lo+1, len(lists)).Draw(t, "hi")
		rec := recordOf(listsOf(t, typ, lists)).NewSlice(int64(lo), int64(hi))
		batch, err := m.Batch(table, rec)
		if err != nil {
			t.Fatalf("%v: %v", typ, err)
		}
		if got, want := fmt.Sprint(rows(batch.Columns["c"])), fmt.Sprint(lists[lo:hi]); got != want {
			t.Fatalf("%v: %s, want %s", typ, got, want)
		}
	})
}

// TestImporterKeeps: an Importer keeps no more memory than its bound, whatever it has read.
func TestImporterKeeps(t *testing.T) {
	table := tableOf(t, encoding.UUIDList)
	lists := make([]any, mostReused/50)
	for i := range lists {
		lists[i] = make([]uuid.UUID, 100)
	}
	var m Importer
	for _, rows := range []int{len(lists), 1} {
		if _, err := m.Batch(table, recordOf(listsOf(t, uuidType, lists[:rows]))); err != nil {
			t.Fatal(err)
		}
	}
	if kept := cap(m.ids) + cap(m.lists) + cap(m.ends); kept > mostReused {
		t.Errorf("memory for %d ids and lists is kept, at most %d", kept, mostReused)
	}
}

// TestBatchConstant: numbers that all rows share, and rows that are all null, are one value.
func TestBatchConstant(t *testing.T) {
	cases := []struct {
		typ  encoding.Type
		of   arrow.DataType
		json string
		want []any
	}{
		{encoding.Int64, arrow.PrimitiveTypes.Int64, `[7, 7, 7]`, []any{int64(7)}},
		{encoding.Int64, arrow.PrimitiveTypes.Int64, `[7, 7, 8]`, []any{int64(7), int64(7), int64(8)}},
		{encoding.Int64, arrow.PrimitiveTypes.Int64, `[7, 7, null]`, []any{int64(7), int64(7), nil}},
		{encoding.Int64, arrow.PrimitiveTypes.Int64, `[null, null]`, []any{nil}},
		{encoding.Int64, arrow.PrimitiveTypes.Int8, `[-7, -7]`, []any{int64(-7)}},
		{encoding.Int64, nanos, `["1970-01-01 00:00:00.000000007", "1970-01-01 00:00:00.000000007"]`, []any{int64(7)}},
		{encoding.Uint64, arrow.PrimitiveTypes.Uint16, `[300, 300]`, []any{uint64(300)}},
		{encoding.Uint64, arrow.PrimitiveTypes.Uint16, `[300, 44]`, []any{uint64(300), uint64(44)}},
		{encoding.Float64, arrow.PrimitiveTypes.Float32, `[1.5, 1.5]`, []any{1.5}},
		{encoding.Float64, arrow.PrimitiveTypes.Float64, `[0, 1]`, []any{0.0, 1.0}},
	}
	for _, c := range cases {
		a := arrayOf(t, memory.NewGoAllocator(), c.of, c.json)
		batch, err := Batch(tableOf(t, c.typ), recordOf(a))
		if err != nil {
			t.Fatalf("%v %s: %v", c.of, c.json, err)
		}
		if batch.Rows != a.Len() {
			t.Errorf("%v %s: %d rows", c.of, c.json, batch.Rows)
		}
		diff(t, c.want, rows(batch.Columns["c"]))
	}
}

// TestBatchNullsWithoutValues: rows that are all null have the room of their values nevertheless.
func TestBatchNullsWithoutValues(t *testing.T) {
	a := arrayOf(t, memory.NewGoAllocator(), arrow.PrimitiveTypes.Int64, `[null, null]`)
	change(a.Data().(*array.Data), func(p *dataParts) { p.buffers[1] = memory.NewBufferBytes(make([]byte, 8)) })
	wantError(t, tableOf(t, encoding.Int64), recordOf(a), "buffer of 8 bytes for 2 values of 8")
}
