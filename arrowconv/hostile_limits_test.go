package arrowconv

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// labelRuns makes a record of a few bytes: columns of labels, each with `rows`
// rows in runs of the given values, the first of them one row long.
func labelRuns(t testing.TB, columns, rows int, values string) arrow.Record {
	v := arrayOf(t, memory.NewGoAllocator(), arrow.BinaryTypes.String, values)
	ends := "["
	for i := 1; i < v.Len(); i++ {
		ends += fmt.Sprint(i, ", ")
	}
	e := arrayOf(t, memory.NewGoAllocator(), arrow.PrimitiveTypes.Int64, ends+fmt.Sprint(rows)+"]")
	column := array.NewRunEndEncodedArray(e, v, rows, 0)
	fields := make([]arrow.Field, columns)
	arrays := make([]arrow.Array, columns)
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprint("labels.", i), Type: column.DataType()}
		arrays[i] = column
	}
	return array.NewRecord(arrow.NewSchema(fields, nil), arrays, int64(rows))
}

// wantLimit checks that a record is refused for its size, and that little was
// allocated for finding out.
func wantLimit(t *testing.T, s *schema.Schema, rec arrow.Record, most uint64, want string) {
	t.Helper()
	var err error
	bytes := allocated(func() { _, err = Batch(s, rec) })
	if !errors.Is(err, ErrRecord) || !errors.Is(err, schema.ErrLimit) || !strings.Contains(err.Error(), want) {
		t.Errorf("Batch: %v; want ErrRecord and ErrLimit, %q", err, want)
	}
	if bytes > most {
		t.Errorf("%d bytes allocated for a refusal, at most %d", bytes, most)
	}
}

// TestRunsClaimRows: run ends can claim any number of rows. Rows without a run of their own
// are counted before they are allocated (A5).
func TestRunsClaimRows(t *testing.T) {
	s := tableOf(t, encoding.String)
	wantLimit(t, s, labelRuns(t, 1, 1<<40, `["a"]`), 64<<10, "limit exceeded: 1099511627776 rows")
	wantLimit(t, s, labelRuns(t, 1, schema.MaxRows+1, `["a", "b"]`), 64<<10, "limit exceeded: 4194305 rows")
	wantLimit(t, s, labelRuns(t, 8, schema.MaxRows, `["a", "b"]`), 64<<10,
		`column "labels.7": limit exceeded: rows without a run of their own take 570425072 bytes, at most 536870912`)

	// One run for all rows costs nothing, however many columns and rows.
	var batch schema.Batch
	var err error
	bytes := allocated(func() { batch, err = Batch(s, labelRuns(t, schema.MaxDynamic, schema.MaxRows, `["a"]`)) })
	if err != nil || bytes > 4<<20 {
		t.Fatalf("%d bytes, %v", bytes, err)
	}
	if v := batch.Columns["labels.1023"]; batch.Rows != schema.MaxRows || v.Len() != 1 || v.Strings[0] != "a" {
		t.Errorf("%d rows, values %v", batch.Rows, v.Strings)
	}

	// Two columns of two runs in 100,000 rows cost the memory of their rows.
	bytes = allocated(func() { batch, err = Batch(s, labelRuns(t, 2, 100_000, `["a", null]`)) })
	if most := uint64(2 * 100_000 * 17 * 5 / 4); err != nil || bytes > most {
		t.Errorf("%d bytes, at most %d: %v", bytes, most, err)
	}
}

// TestSharedValues: rows that share a long value take no memory, but time of their reader.
func TestSharedValues(t *testing.T) {
	text := strings.Repeat("x", schema.MaxString)
	most := maxShared / schema.MaxString
	for _, rows := range []int{most, most + 1} {
		runs := labelRuns(t, 1, rows, `["`+text+`", "`+text+`"]`)
		dict := dictOfZeros(t, rows, arrow.BinaryTypes.String, `["`+text+`", "`+text+`"]`)
		for _, rec := range []arrow.Record{runs, dict} {
			switch _, err := Batch(tableOf(t, encoding.String), rec); {
			case rows == most && err != nil:
				t.Errorf("%d rows: %v", rows, err)
			case rows > most:
				wantLimit(t, tableOf(t, encoding.String), rec, uint64(64*rows), "strings and lists that rows share have")
			}
		}
	}
	list := strings.Repeat(json1+",", schema.MaxList-1) + json1
	list = `[[` + list + `], [` + list + `]]`
	rows := maxShared/schema.MaxList/uuidLen + 1
	wantLimit(t, tableOf(t, encoding.UUIDList), dictOfZeros(t, rows, listType, list), uint64(64*rows+4*schema.MaxList*uuidLen), "strings and lists that rows share")

	// Together: each column is within the limit.
	third := labelRuns(t, 3, most/3+1, `["`+text+`", "`+text+`"]`)
	wantLimit(t, tableOf(t, encoding.String), third, uint64(64*3*most), `column "labels.2": limit exceeded: strings and lists`)
}

// TestConstantDictionary: rows of one index are one value, however many and however long.
func TestConstantDictionary(t *testing.T) {
	text := strings.Repeat("x", schema.MaxString)
	rec := dictOfZeros(t, schema.MaxRows, arrow.BinaryTypes.String, `["`+text+`"]`)
	var batch schema.Batch
	var err error
	bytes := allocated(func() { batch, err = Batch(tableOf(t, encoding.String), rec) })
	if v := batch.Columns["c"]; err != nil || batch.Rows != schema.MaxRows || len(v.Strings) != 1 || v.Strings[0] != text {
		t.Errorf("%d rows, %d values, %v", batch.Rows, len(v.Strings), err)
	}
	if bytes > 2*schema.MaxString {
		t.Errorf("%d bytes", bytes)
	}
}

// dictOfZeros makes a record of a dictionary column "c" whose indexes have one byte. All are
// zero, but for the last if there are two values.
func dictOfZeros(t testing.TB, rows int, value arrow.DataType, values string) arrow.Record {
	v := arrayOf(t, memory.NewGoAllocator(), value, values)
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: value}
	indexes := make([]byte, rows)
	indexes[rows-1] = byte(v.Len() - 1)
	d := array.NewDataWithDictionary(typ, rows, buffersOf(nil, indexes), 0, 0, v.Data().(*array.Data))
	return recordOf(array.MakeFromData(d))
}

// TestBatchMultiple: a batch takes at most 40 bytes for each of its record's,
// but for rows without a run of their own (A5).
func TestBatchMultiple(t *testing.T) {
	const n = 100_000
	zeros := func(bits int) []byte { return make([]byte, n*bits/8) }
	bitmap := make([]byte, n/8)
	bitmap[0] = 1
	plain := func(typ arrow.DataType, bits int) *array.Data {
		return array.NewData(typ, n, buffersOf(bitmap, zeros(bits)), nil, array.UnknownNullCount, 0)
	}
	dict := func(value *array.Data) *array.Data {
		typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: value.DataType()}
		return array.NewDataWithDictionary(typ, n, buffersOf(bitmap, zeros(8)), array.UnknownNullCount, 0, value)
	}
	texts := array.NewData(arrow.BinaryTypes.String, n, buffersOf(bitmap, make([]byte, 4*n+4), nil), nil, array.UnknownNullCount, 0)
	lists := func(elements *array.Data) *array.Data {
		return array.NewData(arrow.ListOf(elements.DataType()), n, buffersOf(bitmap, make([]byte, 4*n+4)), []arrow.ArrayData{elements}, array.UnknownNullCount, 0)
	}
	coded := array.NewDataWithDictionary(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: uuidType},
		n, buffersOf(nil, zeros(8)), 0, 0, array.NewData(uuidType, 1, buffersOf(nil, make([]byte, 16)), nil, 0, 0))
	few := lists(array.NewData(uuidType, 1, buffersOf(nil, make([]byte, 16)), nil, 0, 0))
	ends := plain(arrow.PrimitiveTypes.Int32, 32)
	ends.Buffers()[0] = nil
	for i := range n {
		putInteger(ends.Buffers()[1].Bytes(), arrow.PrimitiveTypes.Int32, i, i+1)
	}
	bools := plain(arrow.FixedWidthTypes.Boolean, 1)
	runs := array.NewData(arrow.RunEndEncodedOf(ends.DataType(), bools.DataType()), n, nil, []arrow.ArrayData{ends, bools}, 0, 0)
	for _, c := range []struct {
		typ  encoding.Type
		data *array.Data
	}{
		{encoding.Int64, plain(arrow.PrimitiveTypes.Int8, 8)},
		{encoding.Uint64, plain(arrow.PrimitiveTypes.Uint8, 8)},
		{encoding.Float64, plain(arrow.PrimitiveTypes.Float32, 32)},
		{encoding.Bool, plain(arrow.FixedWidthTypes.Boolean, 1)},
		{encoding.UUID, plain(uuidType, 128)},
		{encoding.String, texts},
		{encoding.UUIDList, few},
		{encoding.UUID, dict(plain(uuidType, 128))},
		{encoding.String, dict(texts)},
		{encoding.UUIDList, dict(few)},
		{encoding.String, dictOfZeros(t, n, arrow.BinaryTypes.String, `[""]`).Column(0).Data().(*array.Data)},
		{encoding.UUIDList, dictOfZeros(t, n, listType, `[[]]`).Column(0).Data().(*array.Data)},
		{encoding.Bool, runs},
		{encoding.UUIDList, dict(lists(coded))},
	} {
		rec := recordOf(array.MakeFromData(c.data))
		table := tableOf(t, c.typ)
		var err error
		bytes := allocated(func() { _, err = Batch(table, rec) })
		have := 0
		for _, d := range nodesOf(c.data, nil) {
			for _, b := range d.Buffers() {
				have += len(bytesOf(b))
			}
		}
		t.Logf("%v: %.1f bytes for one", c.data.DataType(), float64(bytes)/float64(have))
		if err != nil || bytes > 40*uint64(have) {
			t.Errorf("%v: %d bytes of %d: %v", c.data.DataType(), bytes, have, err)
		}
	}
}
