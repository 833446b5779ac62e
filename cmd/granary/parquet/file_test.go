package parquet

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"go.uber.org/goleak"

	"github.com/granarydb/granary/internal/effort"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRowGroups checks that a row group ends at its limit of rows, or earlier at that of bytes.
func TestRowGroups(t *testing.T) {
	effort.Slow(t)
	schema := arrow.NewSchema([]arrow.Field{{Name: "labels.id", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	record := func(rows, length, from int) arrow.Record {
		b := array.NewStringBuilder(memory.NewGoAllocator())
		for i := range rows {
			b.Append(fmt.Sprintf("%0*d", length, from+i))
		}
		return array.NewRecord(schema, []arrow.Array{b.NewArray()}, int64(rows))
	}
	for _, tc := range []struct {
		name                  string
		records, rows, length int
		want                  []int64
	}{
		{"rows", 5, 100_000, 1, []int64{300_000, 200_000}},
		{"bytes", 10, 10_000, 1000, []int64{70_000, 30_000}},
	} {
		var out bytes.Buffer
		w, err := NewFileWriter(&out, schema)
		if err != nil {
			t.Fatal(err)
		}
		for i := range tc.records {
			if err := w.Write(record(tc.rows, tc.length, i*tc.rows)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil {
			t.Fatal(err)
		}
		var groups []int64
		for _, g := range f.RowGroups() {
			groups = append(groups, g.NumRows())
		}
		if !slices.Equal(groups, tc.want) {
			t.Errorf("%s: groups of %v rows, want %v", tc.name, groups, tc.want)
		}
	}
}

// arrays returns an array of five rows of each type with the text of its rows. A list is [a b].
func arrays() (all map[string]arrow.Array, want map[string][]string) {
	mem := memory.NewGoAllocator()
	texts := array.NewStringBuilder(mem)
	texts.AppendValues([]string{"a", "", "c", "b", "d"}, []bool{true, false, true, true, true})
	ids := array.NewFixedSizeBinaryBuilder(mem, &arrow.FixedSizeBinaryType{ByteWidth: 2})
	ids.AppendValues([][]byte{{1, 2}, {3, 4}, nil, {5, 6}, {7, 8}}, []bool{true, true, false, true, true})
	numbers := array.NewUint64Builder(mem)
	numbers.AppendValues([]uint64{1, 2, 3, 1<<64 - 1, 5}, []bool{true, false, true, true, true})
	lists := array.NewListBuilder(mem, arrow.BinaryTypes.String)
	lists.AppendNull()
	for _, list := range [][]string{{}, {"x"}, {"y", "z"}, {"p", "q", "r"}} {
		lists.Append(true)
		for _, text := range list {
			lists.ValueBuilder().(*array.StringBuilder).Append(text)
		}
	}
	all = map[string]arrow.Array{"text": texts.NewArray(), "id": ids.NewArray(), "n": numbers.NewArray(), "list": lists.NewArray()}
	codes := array.NewUint32Builder(mem)
	codes.AppendValues([]uint32{4, 3, 3, 0, 1}, []bool{true, true, true, false, true})
	indices := codes.NewArray()
	for name, values := range map[string]arrow.Array{"dictionary": all["text"], "dictionary of lists": all["list"]} {
		all[name] = array.NewDictionaryArray(&arrow.DictionaryType{IndexType: indices.DataType(), ValueType: values.DataType()}, indices, values)
	}
	return all, map[string][]string{
		"text":                {"a", "null", "c", "b", "d"},
		"id":                  {"0102", "0304", "null", "0506", "0708"},
		"n":                   {"1", "null", "3", "18446744073709551615", "5"},
		"list":                {"null", "[]", "[x]", "[y z]", "[p q r]"},
		"dictionary":          {"d", "b", "b", "null", "null"},
		"dictionary of lists": {"[p q r]", "[y z]", "[y z]", "null", "[]"},
	}
}

// TestCells checks the values of every supported array, also of slices of arrays.
func TestCells(t *testing.T) {
	all, want := arrays()
	for name, whole := range all {
		for _, cut := range [][2]int64{{0, 5}, {1, 4}, {2, 2}, {4, 5}} {
			from := array.NewSlice(whole, cut[0], cut[1])
			schema := arrow.NewSchema([]arrow.Field{{Name: name, Type: from.DataType(), Nullable: true}}, nil)
			var out bytes.Buffer
			w, err := NewFileWriter(&out, schema)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(w.Write(array.NewRecord(schema, []arrow.Array{from}, int64(from.Len()))), w.Close()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[name][cut[0]:cut[1]], cells(t, out.Bytes())); diff != "" {
				t.Errorf("%s %v: -want +got\n%s", name, cut, diff)
			}
		}
	}
}

// cells returns the cells of a file of one column.
func cells(t *testing.T, data []byte) []string {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, group := range f.RowGroups() {
		in := group.Rows()
		rows := make([]parquet.Row, 8)
		n, err := in.ReadRows(rows)
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		for _, row := range rows[:n] {
			got = append(got, cell(f.Schema().Columns()[0], row))
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

func cell(path []string, row parquet.Row) string {
	isList := len(path) > 1
	var values []string
	for _, v := range row {
		switch {
		case v.IsNull() && isList && v.DefinitionLevel() == 1:
			return "[]"
		case v.IsNull():
			return "null"
		case path[0] == "id":
			values = append(values, hex.EncodeToString(v.ByteArray()))
		case path[0] == "n":
			values = append(values, fmt.Sprint(v.Uint64()))
		default:
			values = append(values, v.String())
		}
	}
	if isList {
		return "[" + strings.Join(values, " ") + "]"
	}
	return strings.Join(values, " and ")
}

// TestTypes checks that an unsupported type and a record of another schema return ErrType.
func TestTypes(t *testing.T) {
	text := arrow.BinaryTypes.String
	for _, typ := range []arrow.DataType{
		arrow.FixedWidthTypes.Boolean, arrow.ListOf(arrow.ListOf(text)), arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, text),
		arrow.ListOf(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: text}),
	} {
		if _, err := NewFileWriter(io.Discard, arrow.NewSchema([]arrow.Field{{Name: "a", Type: typ}}, nil)); !errors.Is(err, ErrType) {
			t.Errorf("%s: %v", typ, err)
		}
	}
	all, _ := arrays()
	w, err := NewFileWriter(io.Discard, arrow.NewSchema([]arrow.Field{{Name: "a", Type: text}}, nil))
	if err != nil {
		t.Fatal(err)
	}
	for name, columns := range map[string][]arrow.Array{
		"no column": {}, "another type": {all["n"]}, "null": {all["text"]}, "two columns": {all["text"], all["text"]},
	} {
		fields := make([]arrow.Field, len(columns))
		for i, c := range columns {
			fields[i] = arrow.Field{Name: "a", Type: c.DataType(), Nullable: true}
		}
		if err := w.Write(array.NewRecord(arrow.NewSchema(fields, nil), columns, 5)); !errors.Is(err, ErrType) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
