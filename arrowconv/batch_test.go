package arrowconv

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/endian"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// arrayOf makes an array of a type from JSON, as Arrow reads it: an authority
// that is not ours.
func arrayOf(t testing.TB, mem memory.Allocator, typ arrow.DataType, json string) arrow.Array {
	t.Helper()
	a, _, err := array.FromJSON(mem, typ, strings.NewReader(json))
	if err != nil {
		t.Fatalf("%v: %v", typ, err)
	}
	return a
}

// dictOf makes a dictionary array of indexes and values.
func dictOf(t testing.TB, mem memory.Allocator, index, value arrow.DataType, indexes, values string) arrow.Array {
	t.Helper()
	i, v := arrayOf(t, mem, index, indexes), arrayOf(t, mem, value, values)
	defer i.Release()
	defer v.Release()
	return array.NewDictionaryArray(&arrow.DictionaryType{IndexType: index, ValueType: value}, i, v)
}

// recordOf makes a record of one column "c", and takes over the array.
func recordOf(a arrow.Array) arrow.Record {
	defer a.Release()
	s := arrow.NewSchema([]arrow.Field{{Name: "c", Type: a.DataType(), Nullable: true}}, nil)
	return array.NewRecord(s, []arrow.Array{a}, int64(a.Len()))
}

// runsOf makes a run-end encoded array: values and, by run, where it ends.
func runsOf(t testing.TB, mem memory.Allocator, index arrow.DataType, ends string, values arrow.Array, length int) arrow.Array {
	t.Helper()
	e := arrayOf(t, mem, index, ends)
	defer e.Release()
	defer values.Release()
	return array.NewRunEndEncodedArray(e, values, length, 0)
}

// spreadOne makes a vector that stands for all rows one of all rows.
func spreadOne(v encoding.Vector, rows int) encoding.Vector {
	if v.Len() != 1 || rows == 1 {
		return v
	}
	one := runs{ends: []int64{int64(rows)}}
	return one.spread(&v)
}

// uuidJSON is the base64 of id(1) and id(2), as FromJSON wants it.
const (
	json1 = `"AQAAAAAAAAAAAAAAAAAA/g=="`
	json2 = `"AgAAAAAAAAAAAAAAAAAA/Q=="`
)

var (
	largeList = arrow.LargeListOf(uuidType)
	dictUUID  = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: uuidType}
	// listOfElements is the type of the stacks in Parca's records.
	listOfElements = arrow.ListOfField(arrow.Field{Name: "element", Type: &arrow.DictionaryType{
		IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.Binary,
	}})
	nanos     = &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}
	integerTs = []arrow.DataType{
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	}
)

// inCase is an array that Batch takes, and its rows.
type inCase struct {
	typ  encoding.Type
	make func(testing.TB, memory.Allocator) arrow.Array
	want []any
}

func fromJSON(typ arrow.DataType, json string) func(testing.TB, memory.Allocator) arrow.Array {
	return func(t testing.TB, mem memory.Allocator) arrow.Array { return arrayOf(t, mem, typ, json) }
}

func fromDict(index, value arrow.DataType, indexes, values string) func(testing.TB, memory.Allocator) arrow.Array {
	return func(t testing.TB, mem memory.Allocator) arrow.Array {
		return dictOf(t, mem, index, value, indexes, values)
	}
}

// inCases lists all forms that Batch takes, each with nulls.
func inCases() []inCase {
	one, two := []uuid.UUID{id(1)}, []uuid.UUID{id(2), id(1)}
	lists := fmt.Sprintf(`[[%s], null, [], [%s, %s], [%s]]`, json1, json2, json1, json1)
	listRows := []any{one, nil, []uuid.UUID{}, two, one}
	texts := []any{"a", nil, "", "日本", "a"}
	textJSON := `["a", null, "", "日本", "a"]`
	cases := []inCase{
		{encoding.Int64, fromJSON(nanos, `["1970-01-01 00:00:00.000000007", null, "1969-12-31 23:59:59"]`), []any{int64(7), nil, int64(-1e9)}},
		{encoding.Float64, fromJSON(arrow.PrimitiveTypes.Float64, `[1.5, null, -0.25]`), []any{1.5, nil, -0.25}},
		{encoding.Float64, fromJSON(arrow.PrimitiveTypes.Float32, `[1.5, null, -0.25]`), []any{1.5, nil, -0.25}},
		{encoding.Bool, fromJSON(arrow.FixedWidthTypes.Boolean, `[true, null, false, true]`), []any{true, nil, false, true}},
		{encoding.String, fromJSON(arrow.BinaryTypes.String, textJSON), texts},
		{encoding.String, fromJSON(arrow.BinaryTypes.LargeString, textJSON), texts},
		{encoding.String, fromJSON(arrow.BinaryTypes.Binary, `["YQ==", null, ""]`), []any{"a", nil, ""}},
		{encoding.String, fromJSON(arrow.BinaryTypes.LargeBinary, `["YQ==", null, ""]`), []any{"a", nil, ""}},
		{encoding.String, fromDict(arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.LargeString, `[2, 0, 1]`, textJSON), []any{"", "a", nil}},
		{encoding.String, fromDict(arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.Binary, `[0, 0]`, `["YQ=="]`), []any{"a", "a"}},
		{encoding.UUID, fromJSON(uuidType, `[`+json1+`, null, `+json2+`]`), []any{id(1), nil, id(2)}},
		{encoding.UUID, fromDict(arrow.PrimitiveTypes.Uint8, uuidType, `[1, null, 0, 1]`, `[`+json1+`, null]`), []any{nil, nil, id(1), nil}},
		{encoding.UUID, fromJSON(arrow.BinaryTypes.Binary, `[`+json1+`, null, `+json2+`]`), []any{id(1), nil, id(2)}},
		{encoding.UUID, fromJSON(arrow.BinaryTypes.LargeBinary, `[`+json1+`, null, `+json2+`]`), []any{id(1), nil, id(2)}},
		{encoding.UUID, fromDict(arrow.PrimitiveTypes.Uint8, arrow.BinaryTypes.Binary, `[1, null, 0, 1]`, `[`+json1+`, null, `+json2+`]`), []any{nil, nil, id(1), nil}},
		{encoding.UUIDList, fromJSON(arrow.ListOf(arrow.BinaryTypes.Binary), lists), listRows},
		{encoding.UUIDList, fromJSON(listOfElements, lists), listRows},
		{encoding.UUIDList, fromDict(arrow.PrimitiveTypes.Int32, listOfElements, `[4, 3, null, 1, 3]`, lists), []any{one, two, nil, nil, two}},
		{encoding.UUIDList, fromDict(arrow.PrimitiveTypes.Int32, listOfElements, `[3, 3, 3]`, lists), []any{two, two, two}},
		{encoding.String, fromDict(arrow.PrimitiveTypes.Uint32, arrow.BinaryTypes.String, `[null, null, null]`, `["a"]`), []any{nil, nil, nil}},
		{encoding.String, fromDict(arrow.PrimitiveTypes.Uint32, arrow.BinaryTypes.String, `[0, null, 0]`, `["a"]`), []any{"a", nil, "a"}},
		{encoding.UUIDList, fromJSON(listType, lists), listRows},
		{encoding.UUIDList, fromJSON(largeList, lists), listRows},
		{encoding.UUIDList, fromJSON(arrow.ListOf(dictUUID), lists), listRows},
		{encoding.UUIDList, fromJSON(arrow.LargeListOf(dictUUID), lists), listRows},
		{encoding.UUIDList, fromDict(arrow.PrimitiveTypes.Int32, listType, `[4, 3, null, 1, 3]`, lists), []any{one, two, nil, nil, two}},
		{encoding.UUIDList, fromDict(arrow.PrimitiveTypes.Int64, arrow.ListOf(dictUUID), `[4, 3, null, 1, 3]`, lists), []any{one, two, nil, nil, two}},
	}
	for _, typ := range integerTs {
		cases = append(cases, inCase{encoding.String, fromDict(typ, arrow.BinaryTypes.String, `[1, 0, null, 1]`, `["x", "y"]`), []any{"y", "x", nil, "y"}})
		if typ.ID() != arrow.UINT64 {
			cases = append(cases, inCase{encoding.Int64, fromJSON(typ, `[1, null, 127]`), []any{int64(1), nil, int64(127)}})
		}
		if strings.HasPrefix(typ.Name(), "u") {
			cases = append(cases, inCase{encoding.Uint64, fromJSON(typ, `[1, null, 127]`), []any{uint64(1), nil, uint64(127)}})
		} else {
			cases = append(cases, inCase{encoding.Int64, fromJSON(typ, `[-1, -128]`), []any{int64(-1), int64(-128)}})
		}
	}
	return cases
}

// runLengths is how often runCases repeats a case's rows.
var runLengths = []int{1, 3, 2, 1, 4}

// runCases lists the cases run-end encoded, with one type of run ends for each.
func runCases(cases []inCase) []inCase {
	indexes := []arrow.DataType{arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64}
	var out []inCase
	for i, c := range cases {
		var want []any
		ends := "["
		for k, row := range c.want {
			want = append(want, slices.Repeat([]any{row}, runLengths[k])...)
			ends += fmt.Sprintf("%d, ", len(want))
		}
		ends = strings.TrimSuffix(ends, ", ") + "]"
		out = append(out, inCase{c.typ, func(t testing.TB, mem memory.Allocator) arrow.Array {
			return runsOf(t, mem, indexes[i%len(indexes)], ends, c.make(t, mem), len(want))
		}, want})
	}
	return out
}

// TestBatchTypes: every Arrow form of a type gives the same rows, whole and
// sliced, and the batch outlives the record (A4).
func TestBatchTypes(t *testing.T) {
	for _, c := range append(inCases(), runCases(inCases())...) {
		mem := &scribbler{memory.NewGoAllocator()}
		rec := recordOf(c.make(t, mem))
		t.Run(fmt.Sprintf("%v/%v", c.typ, rec.Column(0).DataType()), func(t *testing.T) {
			got := map[[2]int]encoding.Vector{}
			for lo := range c.want {
				for hi := lo; hi <= len(c.want); hi++ {
					part := rec.NewSlice(int64(lo), int64(hi))
					got[[2]int{lo, hi}] = mustBatch(t, c.typ, part)
					part.Release()
				}
			}
			rec.Release() // overwrites the record's memory
			for at, v := range got {
				diff(t, c.want[at[0]:at[1]], rows(v))
			}
		})
	}
}

// scribbler is an allocator that overwrites freed memory.
type scribbler struct{ memory.Allocator }

func (s *scribbler) Free(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
	s.Allocator.Free(b)
}

// TestBatchOneRun: rows of one run are one value, and of the other runs none is
// looked at, where runs begin and end as the rows do too.
func TestBatchOneRun(t *testing.T) {
	runs := fromRuns(arrow.PrimitiveTypes.Int32, `[2, 5, 6]`, fromJSON(arrow.BinaryTypes.Binary, `["/w==", "YQ==", "/w=="]`))
	rec := recordOf(runs(t, memory.NewGoAllocator()))
	for lo := int64(2); lo <= 5; lo++ {
		for hi := lo; hi <= 5; hi++ {
			batch, err := Batch(tableOf(t, encoding.String), rec.NewSlice(lo, hi))
			if err != nil {
				t.Fatalf("rows %d to %d: %v", lo, hi, err)
			}
			v := batch.Columns["c"]
			if want := []string{"a"}[:min(1, hi-lo)]; !slices.Equal(v.Strings, want) {
				t.Errorf("rows %d to %d: %q, want %q", lo, hi, v.Strings, want)
			}
		}
	}
	for _, bad := range [][2]int64{{1, 2}, {1, 3}, {4, 6}, {5, 6}, {0, 6}} {
		wantError(t, tableOf(t, encoding.String), rec.NewSlice(bad[0], bad[1]), "not valid UTF-8")
	}
}

// TestBatchUnusedID: a binary value that no row has need not be an id.
func TestBatchUnusedID(t *testing.T) {
	rec := recordOf(dictOf(t, memory.NewGoAllocator(), arrow.PrimitiveTypes.Uint8, arrow.BinaryTypes.Binary, `[0, null]`, `[`+json1+`, "YQ=="]`))
	diff(t, []any{id(1), nil}, rows(mustBatch(t, encoding.UUID, rec)))
}

// TestBatchRefuses: types that do not fit, and records that are no batch.
func TestBatchRefuses(t *testing.T) {
	mem := memory.NewGoAllocator()
	cases := []struct {
		typ  encoding.Type
		make func(testing.TB, memory.Allocator) arrow.Array
		want string
	}{
		{encoding.Int64, fromJSON(arrow.PrimitiveTypes.Uint64, `[1]`), "arrow type uint64 does not fit int64"},
		{encoding.Int64, fromJSON(arrow.FixedWidthTypes.Timestamp_ms, `["1970-01-01"]`), "arrow type timestamp[ms, tz=UTC] does not fit int64"},
		{encoding.Uint64, fromJSON(arrow.PrimitiveTypes.Int8, `[1]`), "arrow type int8 does not fit uint64"},
		{encoding.Float64, fromJSON(arrow.PrimitiveTypes.Int8, `[1]`), "does not fit float64"},
		{encoding.Bool, fromJSON(arrow.PrimitiveTypes.Int8, `[1]`), "does not fit bool"},
		{encoding.String, fromJSON(uuidType, `[`+json1+`]`), "does not fit string"},
		{encoding.UUID, fromJSON(arrow.BinaryTypes.String, `["a"]`), "does not fit uuid"},
		{encoding.UUID, fromJSON(arrow.BinaryTypes.Binary, `["YQ=="]`), "row 0: binary value of 1 bytes, want 16"},
		{encoding.UUIDList, fromJSON(listOfElements, `[[], [`+json1+`, "YQ=="]]`), "row 1: element 1: binary value of 1 bytes, want 16"},
		{encoding.UUIDList, fromJSON(listOfElements, `[[null]]`), "row 0: element 0 is null"},
		{encoding.String, fromDict(arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.String, `[7, 7]`, `["a"]`), "row 0: dictionary index 7, want less than 1"},
		{encoding.UUID, fromJSON(&arrow.FixedSizeBinaryType{ByteWidth: 1}, `["YQ=="]`), "want fixed_size_binary[16]"},
		{encoding.UUID, fromDict(arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int64, `[0]`, `[1]`), "want fixed_size_binary[16]"},
		{encoding.UUIDList, fromJSON(arrow.BinaryTypes.String, `["a"]`), "does not fit uuid list"},
		{encoding.UUIDList, fromJSON(arrow.ListOf(arrow.PrimitiveTypes.Int64), `[[1]]`), "want fixed_size_binary[16]"},
		{encoding.UUIDList, fromDict(arrow.PrimitiveTypes.Uint32, arrow.ListOf(arrow.BinaryTypes.String), `[0]`, `[["main"]]`), "elements: utf8, want fixed_size_binary[16]"},
		{encoding.UUIDList, fromJSON(listType, `[[`+json1+`], [`+json1+`, null]]`), "row 1: element 1 is null"},
		{encoding.UUIDList, fromJSON(arrow.ListOf(dictUUID), `[[null]]`), "row 0: element 0 is null"},
		{encoding.UUIDList, fromDict(arrow.PrimitiveTypes.Int8, listType, `[1]`, `[[], [null]]`), "dictionary entry 1: element 0 is null"},
		{encoding.UUIDList, fromDict(arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.String, `[0]`, `["a"]`), "dictionary of utf8, want lists"},
		{encoding.String, fromDict(arrow.PrimitiveTypes.Int8, listType, `[0]`, `[[]]`), "want strings"},
		{encoding.String, fromDict(arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.String, `[-1]`, `["a"]`), "row 0: dictionary index -1, want less than 1"},
		{encoding.String, fromDict(arrow.PrimitiveTypes.Uint8, arrow.BinaryTypes.String, `[0, 255]`, `["a"]`), "row 1: dictionary index 255"},
		{encoding.String, fromDict(arrow.PrimitiveTypes.Uint64, arrow.BinaryTypes.String, `[9223372036854775808]`, `["a"]`), "row 0: dictionary index"},
		{encoding.String, fromJSON(arrow.BinaryTypes.Binary, `["YQ==", "/w=="]`), "row 1: not valid UTF-8"},
		{encoding.String, fromDict(arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.Binary, `[1]`, `["YQ==", "/w=="]`), "dictionary entry 1: not valid UTF-8"},
		{encoding.Int64, fromRuns(arrow.PrimitiveTypes.Int64, `[3]`, fromJSON(arrow.BinaryTypes.String, `["a"]`)), "run-end encoded utf8 does not fit int64"},
		{encoding.String, fromRuns(arrow.PrimitiveTypes.Int32, `[3]`, fromJSON(arrow.BinaryTypes.Binary, `["/w=="]`)), "values of runs: row 0: not valid UTF-8"},
		{encoding.Int64, fromRuns(arrow.PrimitiveTypes.Int32, `[3]`, fromRuns(arrow.PrimitiveTypes.Int32, `[1]`, fromJSON(arrow.PrimitiveTypes.Int64, `[1]`))), "run-end encoded run_end_encoded does not fit int64"},
		{encoding.String, dictOfRuns, "dictionary of run_end_encoded, want strings"},
		{encoding.UUIDList, listOfRuns, "elements: run_end_encoded, want fixed_size_binary[16]"},
	}
	for _, c := range cases {
		rec := recordOf(c.make(t, mem))
		wantError(t, tableOf(t, c.typ), rec, `column "c": `, c.want)
		rec.Release()
	}
}

func fromRuns(index arrow.DataType, ends string, values func(testing.TB, memory.Allocator) arrow.Array) func(testing.TB, memory.Allocator) arrow.Array {
	return func(t testing.TB, mem memory.Allocator) arrow.Array {
		e := arrayOf(t, mem, index, ends)
		last := array.NewSlice(e, int64(e.Len()-1), int64(e.Len())).ValueStr(0)
		length, err := strconv.Atoi(last)
		if err != nil {
			t.Fatal(err)
		}
		return runsOf(t, mem, index, ends, values(t, mem), length)
	}
}

// dictOfRuns and listOfRuns are nestings that Arrow permits and Batch refuses.
func dictOfRuns(t testing.TB, mem memory.Allocator) arrow.Array {
	runs := fromRuns(arrow.PrimitiveTypes.Int32, `[2]`, fromJSON(arrow.BinaryTypes.String, `["a"]`))(t, mem)
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: runs.DataType()}
	indexes := arrayOf(t, mem, arrow.PrimitiveTypes.Int8, `[0, 1]`).Data()
	return array.MakeFromData(array.NewDataWithDictionary(typ, 2, indexes.Buffers(), 0, 0, runs.Data().(*array.Data)))
}

func listOfRuns(t testing.TB, mem memory.Allocator) arrow.Array {
	runs := fromRuns(arrow.PrimitiveTypes.Int32, `[2]`, fromJSON(uuidType, `[`+json1+`]`))(t, mem)
	offsets := arrayOf(t, mem, arrow.PrimitiveTypes.Int32, `[0, 2]`).Data().Buffers()[1]
	return array.MakeFromData(array.NewData(arrow.ListOf(runs.DataType()), 1, []*memory.Buffer{nil, offsets},
		[]arrow.ArrayData{runs.Data()}, 0, 0))
}

// wantError checks that Batch refuses a record, and names the cause.
func wantError(t *testing.T, s *schema.Schema, rec arrow.Record, want ...string) {
	t.Helper()
	batch, err := Batch(s, rec)
	if !errors.Is(err, ErrRecord) {
		t.Fatalf("Batch: %v, %v; want an ErrRecord: %v", batch, err, want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("Batch: %v; want %q", err, w)
		}
	}
}

// TestBatchColumns: any order and any dynamic columns; no unknown or doubled ones.
func TestBatchColumns(t *testing.T) {
	a := arrayOf(t, memory.NewGoAllocator(), arrow.BinaryTypes.String, `["x", null]`)
	n := arrayOf(t, memory.NewGoAllocator(), arrow.PrimitiveTypes.Int64, `[1, 2]`)
	s := tableOf(t, encoding.Int64)
	record := func(names ...string) arrow.Record {
		var fields []arrow.Field
		var arrays []arrow.Array
		for _, name := range names {
			column := a
			if name == "c" {
				column = n
			}
			fields = append(fields, arrow.Field{Name: name, Type: column.DataType()})
			arrays = append(arrays, column)
		}
		return array.NewRecord(arrow.NewSchema(fields, nil), arrays, 2)
	}
	batch, err := Batch(s, record("labels.z", "c", "labels.a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Check(&batch); err != nil {
		t.Error(err)
	}
	got := map[string][]any{}
	for name, v := range batch.Columns {
		got[name] = rows(v)
	}
	diff(t, map[string][]any{"labels.z": {"x", nil}, "labels.a": {"x", nil}, "c": {int64(1), int64(2)}}, got)
	for _, name := range []string{"", "d", "labels", "labels.", "c.x", "lab"} {
		wantError(t, s, record("c", name), fmt.Sprintf("column %q: not in the schema", name))
	}
	wantError(t, s, record("c", "c"), `column "c" is there twice`)
	wantError(t, s, record("labels.a", "c", "labels.a"), `column "labels.a" is there twice`)
	wantError(t, s, record("labels."+strings.Repeat("x", schema.MaxName)), "column 0: limit exceeded")
}

// TestBatchShape: records with a wrong schema, length or columns are refused.
func TestBatchShape(t *testing.T) {
	s := tableOf(t, encoding.Int64)
	n := arrayOf(t, memory.NewGoAllocator(), arrow.PrimitiveTypes.Int64, `[1, 2]`)
	fields := []arrow.Field{{Name: "c", Type: n.DataType()}}
	wantError(t, s, nil, "without schema")
	wantError(t, s, array.NewRecord(arrow.NewSchema(fields, nil), nil, 0), "0 columns, but 1 in the schema")
	wantError(t, s, array.NewRecord(arrow.NewSchema(fields, nil), []arrow.Array{n}, 1), `column "c": 2 rows, the record has 1`)
	other := endian.BigEndian
	if endian.NativeEndian == other {
		other = endian.LittleEndian
	}
	wantError(t, s, array.NewRecord(arrow.NewSchemaWithEndian(fields, nil, other), []arrow.Array{n}, 2), "byte order")
	released := array.NewRecord(arrow.NewSchema(fields, nil), []arrow.Array{n}, 2)
	released.Release()
	wantError(t, s, released, "0 columns, but 1")
	wantError(t, s, &fakeRecord{released, nil, 1, -1}, "-1 rows")
	wantError(t, s, &fakeRecord{released, nil, 1, 1}, `column "c": array without data`)
	wantError(t, s, &fakeRecord{released, array.NewInt64Data(n.Data()), 1, 3}, `2 rows, the record has 3`)
	dead := array.NewInt64Data(n.Data())
	dead.Release()
	wantError(t, s, &fakeRecord{released, dead, 1, 1}, `column "c": array without data`)
}

// fakeRecord is a record with one column that no constructor has seen.
type fakeRecord struct {
	arrow.Record
	column     arrow.Array
	cols, rows int64
}

func (f *fakeRecord) Column(int) arrow.Array { return f.column }
func (f *fakeRecord) NumCols() int64         { return f.cols }
func (f *fakeRecord) NumRows() int64         { return f.rows }

// TestBatchLimits: errors for values beyond a limit of package schema wrap ErrLimit.
func TestBatchLimits(t *testing.T) {
	mem := memory.NewGoAllocator()
	long := strings.Repeat("x", schema.MaxString+1)
	elements := strings.Repeat(json1+",", schema.MaxList) + json1
	many := make([]arrow.Field, schema.MaxColumns+schema.MaxDynamic+1)
	for i := range many {
		many[i] = arrow.Field{Name: fmt.Sprintf("labels.%d", i), Type: arrow.BinaryTypes.String}
	}
	empty := array.NewRecord(arrow.NewSchema(nil, nil), nil, 0)
	cases := []struct {
		name string
		typ  encoding.Type
		rec  arrow.Record
	}{
		{"string", encoding.String, recordOf(arrayOf(t, mem, arrow.BinaryTypes.String, `["`+long+`"]`))},
		{"string in dictionary", encoding.String, recordOf(dictOf(t, mem, arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.String, `[0]`, `["`+long+`"]`))},
		{"list", encoding.UUIDList, recordOf(arrayOf(t, mem, listType, `[[`+elements+`]]`))},
		{"list in dictionary", encoding.UUIDList, recordOf(dictOf(t, mem, arrow.PrimitiveTypes.Int8, listType, `[0]`, `[[`+elements+`]]`))},
		{"rows", encoding.Bool, &fakeRecord{empty, nil, 0, schema.MaxRows + 1}},
		{"columns", encoding.Bool, &fakeRecord{array.NewRecord(arrow.NewSchema(many, nil), nil, 0), nil, int64(len(many)), 0}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Batch(tableOf(t, c.typ), c.rec); !errors.Is(err, ErrRecord) || !errors.Is(err, schema.ErrLimit) {
				t.Errorf("Batch: %v; want ErrRecord and ErrLimit", err)
			}
		})
	}
	// Entries that no row has do not count.
	rec := recordOf(dictOf(t, mem, arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.String, `[0, null]`, `["a", "`+long+`"]`))
	diff(t, []any{"a", nil}, rows(mustBatch(t, encoding.String, rec)))
}

// TestBatchConcurrent: readers of one record do not race; the race detector
// judges.
func TestBatchConcurrent(t *testing.T) {
	rec := recordOf(dictOf(t, memory.NewGoAllocator(), arrow.PrimitiveTypes.Int8, listType, `[0, null, 0]`, `[[`+json1+`]]`))
	part := rec.NewSlice(1, 3) // its null count is not known yet
	table := tableOf(t, encoding.UUIDList)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := Batch(table, part); err != nil {
				t.Error(err)
			}
		})
	}
	part.Column(0).NullN()
	wg.Wait()
}

// BenchmarkBatchRuns reads a column of strings in runs of 16 rows, and one of a
// single run.
func BenchmarkBatchRuns(b *testing.B) {
	const rows = 1 << 16
	for _, length := range []int{16, rows} {
		b.Run(fmt.Sprint("run=", length), func(b *testing.B) {
			var ends, values []string
			for end := length; end <= rows; end += length {
				ends, values = append(ends, fmt.Sprint(end)), append(values, fmt.Sprintf("%q", fmt.Sprint("pod-", end%7)))
			}
			rec := recordOf(fromRuns(arrow.PrimitiveTypes.Int32, "["+strings.Join(ends, ",")+"]",
				fromJSON(arrow.BinaryTypes.String, "["+strings.Join(values, ",")+"]"))(b, memory.NewGoAllocator()))
			table := tableOf(b, encoding.String)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Batch(table, rec); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
