package main

import (
	"io"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/ipc"
	"github.com/apache/arrow/go/v14/arrow/memory"

	codec "github.com/granarydb/granary/profile/pprof"
)

func textField(name string) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.BinaryTypes.String, Nullable: true}
}

func numberField(name string) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}
}

// streamSchema is the schema of the benchmark, with plain texts.
func streamSchema() *arrow.Schema {
	line := arrow.StructOf(numberField("line"), textField("function_name"), textField("function_system_name"), textField("function_filename"), numberField("function_start_line"))
	location := arrow.StructOf(
		arrow.Field{Name: "address", Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
		textField("mapping_file"), textField("mapping_build_id"),
		arrow.Field{Name: "lines", Type: arrow.ListOf(line), Nullable: true},
	)
	var sets []arrow.Field
	for _, l := range labels {
		sets = append(sets, textField(l.name))
	}
	fields := []arrow.Field{
		{Name: "labels", Type: arrow.StructOf(sets...)},
		{Name: "locations", Type: arrow.ListOf(location), Nullable: true},
		{Name: "value", Type: arrow.PrimitiveTypes.Int64},
	}
	for _, name := range []string{"producer", "sample_type", "sample_unit", "period_type", "period_unit", "temporality"} {
		fields = append(fields, textField(name))
	}
	return arrow.NewSchema(append(fields,
		arrow.Field{Name: "period", Type: arrow.PrimitiveTypes.Int64},
		arrow.Field{Name: "duration", Type: arrow.PrimitiveTypes.Int64},
		arrow.Field{Name: "time_nanos", Type: &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}},
	), nil)
}

// stream writes all rows as an Arrow IPC stream.
func (s *source) stream(to io.Writer) error {
	schema := streamSchema()
	w := ipc.NewWriter(to, ipc.WithSchema(schema))
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	err := s.each(func(r *rows) error {
		appendRows(b, r)
		rec := b.NewRecord()
		defer rec.Release()
		return w.Write(rec)
	})
	if err != nil {
		return err
	}
	return w.Close()
}

// appendRows appends rows to a builder of the schema.
func appendRows(b *array.RecordBuilder, r *rows) {
	sets := b.Field(0).(*array.StructBuilder)
	locations := newLocationBuilder(b.Field(1).(*array.ListBuilder))
	for i, time := range r.times {
		sets.Append(true)
		for k := range labels {
			if text := r.labels.text(k); text != "" {
				sets.FieldBuilder(k).(*array.StringBuilder).Append(text)
			} else {
				sets.FieldBuilder(k).AppendNull()
			}
		}
		locations.stack(r.flat, r.stacks[i])
		b.Field(2).(*array.Int64Builder).Append(r.values[i])
		for k, text := range []string{producer, sampleType, sampleUnit, periodType, periodUnit, temporality} {
			b.Field(3 + k).(*array.StringBuilder).Append(text)
		}
		b.Field(9).(*array.Int64Builder).Append(period)
		b.Field(10).(*array.Int64Builder).Append(duration)
		b.Field(11).(*array.TimestampBuilder).Append(arrow.Timestamp(time))
	}
}

// locationBuilder appends stacks to a column of locations.
type locationBuilder struct {
	list, lines                  *array.ListBuilder
	location, line               *array.StructBuilder
	address                      *array.Uint64Builder
	mapping, build               *array.StringBuilder
	number, start                *array.Int64Builder
	function, systemName, source *array.StringBuilder
}

func newLocationBuilder(list *array.ListBuilder) *locationBuilder {
	b := &locationBuilder{list: list, location: list.ValueBuilder().(*array.StructBuilder)}
	b.address = b.location.FieldBuilder(0).(*array.Uint64Builder)
	b.mapping, b.build = b.location.FieldBuilder(1).(*array.StringBuilder), b.location.FieldBuilder(2).(*array.StringBuilder)
	b.lines = b.location.FieldBuilder(3).(*array.ListBuilder)
	b.line = b.lines.ValueBuilder().(*array.StructBuilder)
	b.number, b.start = b.line.FieldBuilder(0).(*array.Int64Builder), b.line.FieldBuilder(4).(*array.Int64Builder)
	b.function, b.systemName = b.line.FieldBuilder(1).(*array.StringBuilder), b.line.FieldBuilder(2).(*array.StringBuilder)
	b.source = b.line.FieldBuilder(3).(*array.StringBuilder)
	return b
}

func (b *locationBuilder) stack(f *codec.Flat, stack []uint32) {
	b.list.Append(true)
	for _, at := range stack {
		l := &f.Locations[at]
		m := &f.Mappings[l.Mapping]
		b.location.Append(true)
		b.address.Append(l.Address)
		b.mapping.Append(f.Strings[m.File])
		b.build.Append(f.Strings[m.BuildID])
		b.lines.Append(true)
		for _, line := range f.LinesOf(at) {
			fn := &f.Functions[line.Function]
			b.line.Append(true)
			b.number.Append(line.Line)
			b.function.Append(f.Strings[fn.Name])
			b.systemName.Append(f.Strings[fn.SystemName])
			b.source.Append(f.Strings[fn.File])
			b.start.Append(fn.StartLine)
		}
	}
}
