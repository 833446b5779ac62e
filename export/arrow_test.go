package export

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/ipc"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/profile"
)

// record returns a record of times, values, and labels from a dictionary of its own.
func record(mem memory.Allocator, schema *arrow.Schema, first int64, labels ...string) arrow.Record {
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	for i, l := range labels {
		b.Field(0).(*array.Int64Builder).Append(first + int64(i))
		b.Field(1).(*array.Int64Builder).Append(-first)
		if err := b.Field(2).(*array.BinaryDictionaryBuilder).AppendString(l); err != nil {
			panic(err)
		}
	}
	return b.NewRecord()
}

// TestArrowWriter reads a stream back. Times are timestamps, also in a slice of a record.
// Values and metadata are unchanged. Each record has its own dictionary.
func TestArrowWriter(t *testing.T) {
	meta := arrow.NewMetadata([]string{"key"}, []string{"value"})
	schema := arrow.NewSchema([]arrow.Field{
		{Name: profile.ColumnTimestamp, Type: arrow.PrimitiveTypes.Int64},
		{Name: profile.ColumnValue, Type: arrow.PrimitiveTypes.Int64},
		{Name: "labels.job", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.String}},
	}, &meta)
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	var out bytes.Buffer
	w := NewArrowWriter(&out, schema, mem)
	whole := record(mem, schema, 10, "a", "b", "a")
	part, other := whole.NewSlice(1, 3), record(mem, schema, 20, "c")
	for _, rec := range []arrow.Record{whole, part, other} {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	in, err := ipc.NewReader(&out, ipc.WithAllocator(mem))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Release()
	if f := in.Schema().Field(0); !arrow.TypeEqual(f.Type, &arrow.TimestampType{Unit: arrow.Nanosecond}) || !in.Schema().Metadata().Equal(meta) {
		t.Errorf("schema %v", in.Schema())
	}
	var got []string
	for in.Next() {
		rec := in.Record()
		labels := rec.Column(2).(*array.Dictionary)
		for i := range int(rec.NumRows()) {
			got = append(got, fmt.Sprint(int64(rec.Column(0).(*array.Timestamp).Value(i)), rec.Column(1).(*array.Int64).Value(i),
				" ", labels.Dictionary().(*array.String).Value(labels.GetValueIndex(i))))
		}
	}
	want := []string{"10 -10 a", "11 -10 b", "12 -10 a", "11 -10 b", "12 -10 a", "20 -20 c"}
	if diff := cmp.Diff(want, got); diff != "" || in.Err() != nil {
		t.Errorf("%v, -want +got\n%s", in.Err(), diff)
	}
}

// TestArrowWriterErrors checks that Write and Close return the errors of the underlying
// writer.
func TestArrowWriterErrors(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: profile.ColumnTimestamp, Type: arrow.BinaryTypes.String}, // not profile times
	}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	b.Field(0).(*array.StringBuilder).Append("x")
	w := NewArrowWriter(broken{}, schema, nil)
	if err := w.Write(b.NewRecord()); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if err := w.Close(); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }
