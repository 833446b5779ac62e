package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// A row group ends with its rows, or before with its bytes.
func TestParquetGroups(t *testing.T) {
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
		w := newParquetWriter(&out, schema)
		for i := range tc.records {
			if err := w.write(record(tc.rows, tc.length, i*tc.rows)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.close(); err != nil {
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

// Every array that a record may have becomes what it says, also one that is a slice.
func TestParquetCells(t *testing.T) {
	mem := memory.NewGoAllocator()
	texts := array.NewStringBuilder(mem)
	texts.AppendValues([]string{"a", "", "c", "b", "d"}, []bool{true, false, true, true, true})
	ids := array.NewFixedSizeBinaryBuilder(mem, &arrow.FixedSizeBinaryType{ByteWidth: 2})
	ids.AppendValues([][]byte{{1, 2}, {3, 4}, nil, {5, 6}, {7, 8}}, []bool{true, true, false, true, true})
	numbers := array.NewUint64Builder(mem)
	numbers.AppendValues([]uint64{1, 2, 3, 1<<64 - 1, 5}, []bool{true, false, true, true, true})
	lists := array.NewListBuilder(mem, arrow.BinaryTypes.String)
	for i := range 5 { // the first is null, the second empty
		if i == 0 {
			lists.AppendNull()
			continue
		}
		lists.Append(true)
		for k := 1; k < i; k++ {
			lists.ValueBuilder().(*array.StringBuilder).Append(fmt.Sprint(i, k))
		}
	}
	all := map[string]arrow.Array{"text": texts.NewArray(), "id": ids.NewArray(), "n": numbers.NewArray(), "list": lists.NewArray()}
	codes := array.NewUint32Builder(mem)
	codes.AppendValues([]uint32{4, 3, 3, 0, 1}, []bool{true, true, true, false, true})
	indices := codes.NewArray()
	for name, values := range map[string]arrow.Array{"dictionary": all["text"], "dictionary of lists": all["list"]} {
		all[name] = array.NewDictionaryArray(&arrow.DictionaryType{IndexType: indices.DataType(), ValueType: values.DataType()}, indices, values)
	}
	for name, whole := range all {
		for _, cut := range [][2]int64{{0, 5}, {1, 4}, {2, 2}, {4, 5}} {
			from := array.NewSlice(whole, cut[0], cut[1])
			schema := arrow.NewSchema([]arrow.Field{{Name: name, Type: from.DataType(), Nullable: true}}, nil)
			var out bytes.Buffer
			w := newParquetWriter(&out, schema)
			if err := errors.Join(w.write(array.NewRecord(schema, []arrow.Array{from}, int64(from.Len()))), w.close()); err != nil {
				t.Fatal(err)
			}
			_, rows := readParquet(t, out.Bytes(), "")
			var got, want []string
			for i := range from.Len() {
				text, ok := arrowText(t, from, i)
				want = append(want, fmt.Sprintf("%q %t", text, ok))
			}
			for _, r := range rows {
				text, ok := r[name]
				if name == "id" && ok {
					text = fmt.Sprintf("%x", text)
				}
				got = append(got, fmt.Sprintf("%q %t", text, ok))
			}
			if strings.Contains(name, "list") { // a list that is null has no value: for rows read here it is empty
				for i := range want {
					want[i] = strings.ReplaceAll(want[i], "false", "true")
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %v: -want +got\n%s", name, cut, diff)
			}
		}
	}
}
