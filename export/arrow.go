package export

import (
	"io"
	"slices"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/ipc"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/profile"
)

// An ArrowWriter writes an Arrow IPC stream, compressed with zstd. Each record has its own
// dictionaries. Only the stream format supports that: in an IPC file, a dictionary can grow
// but cannot be replaced. An ArrowWriter belongs to one goroutine.
type ArrowWriter struct {
	out    *ipc.Writer
	schema *arrow.Schema
	time   int // index of the column of profile times, or -1
}

// NewArrowWriter returns a writer of records with a schema. It writes to w in small pieces, so w should
// be buffered. The schema is written with the first record, or by Close. mem is the writer's allocator;
// nil means the Go allocator.
func NewArrowWriter(w io.Writer, schema *arrow.Schema, mem memory.Allocator) *ArrowWriter {
	if mem == nil {
		mem = memory.DefaultAllocator
	}
	a := &ArrowWriter{time: timeColumn(schema)}
	a.schema = withTimes(schema, a.time)
	a.out = ipc.NewWriter(w, ipc.WithSchema(a.schema), ipc.WithAllocator(mem), ipc.WithZstd())
	return a
}

// Write writes a record with the schema. The caller still owns the record and may release it afterwards.
// The errors come from the underlying writer.
func (a *ArrowWriter) Write(rec arrow.Record) error {
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

// Close ends the stream and frees the writer's memory. It does not close the underlying writer. It must
// be called after an error of Write too. The stream then ends like a complete stream, so the caller
// should discard the output.
func (a *ArrowWriter) Close() error { return a.out.Close() }

// timeType is the type of times: nanoseconds in UTC without a time zone. A time zone would make DuckDB
// truncate nanoseconds, and Python need one more package.
var timeType = &arrow.TimestampType{Unit: arrow.Nanosecond}

// timeColumn returns the index of the column of profile times, or -1.
func timeColumn(schema *arrow.Schema) int {
	return slices.IndexFunc(schema.Fields(), func(f arrow.Field) bool {
		return f.Name == profile.ColumnTimestamp && f.Type.ID() == arrow.INT64
	})
}

// withTimes returns the schema with timeType for a column. An index of -1 changes no column.
func withTimes(schema *arrow.Schema, column int) *arrow.Schema {
	fields := slices.Clone(schema.Fields())
	if column >= 0 {
		fields[column].Type = timeType
	}
	meta := schema.Metadata()
	return arrow.NewSchema(fields, &meta)
}
