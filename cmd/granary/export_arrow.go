package main

import (
	"io"
	"slices"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array" //nolint:depguard // gives int64 values another type; looks at none
	"github.com/apache/arrow/go/v14/arrow/ipc"   //nolint:depguard // writes; what is refused is to read IPC
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/profile"
)

// arrowWriter writes an IPC stream. Each record has dictionaries of its own, which only
// the stream form of IPC can say: in a file, a dictionary can grow but not be replaced.
type arrowWriter struct {
	out    *ipc.Writer
	schema *arrow.Schema
	time   int // the column of profiles' times
}

func newArrowWriter(w io.Writer, schema *arrow.Schema, mem memory.Allocator) *arrowWriter {
	if mem == nil {
		mem = memory.DefaultAllocator
	}
	a := &arrowWriter{time: timeColumn(schema)}
	a.schema = withTimes(schema, a.time)
	a.out = ipc.NewWriter(w, ipc.WithSchema(a.schema), ipc.WithAllocator(mem), ipc.WithZstd())
	return a
}

func (a *arrowWriter) write(rec arrow.Record) error {
	columns := slices.Clone(rec.Columns())
	if a.time >= 0 {
		from := columns[a.time].Data()
		data := array.NewData(timeType, from.Len(), from.Buffers(), nil, from.NullN(), from.Offset())
		defer data.Release()
		columns[a.time] = array.MakeFromData(data)
		defer columns[a.time].Release()
	}
	stamped := array.NewRecord(a.schema, columns, rec.NumRows())
	defer stamped.Release()
	return a.out.Write(stamped)
}

func (a *arrowWriter) close() error { return a.out.Close() }

// timeType is what times become: an int64 of nanoseconds in the store. They are UTC, and
// say no zone: DuckDB would cut nanoseconds off, and needs one more package in Python.
var timeType = &arrow.TimestampType{Unit: arrow.Nanosecond}

// timeColumn returns the index of the times of profiles, -1 if they are not there.
func timeColumn(schema *arrow.Schema) int {
	return slices.IndexFunc(schema.Fields(), func(f arrow.Field) bool {
		return f.Name == profile.ColumnTimestamp && f.Type.ID() == arrow.INT64
	})
}

// withTimes returns a schema in which a column has times.
func withTimes(schema *arrow.Schema, column int) *arrow.Schema {
	fields := slices.Clone(schema.Fields())
	if column >= 0 {
		fields[column].Type = timeType
	}
	meta := schema.Metadata()
	return arrow.NewSchema(fields, &meta)
}
