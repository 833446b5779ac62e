package main

import (
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array" //nolint:depguard // reads the records of a scan: package arrowconv only makes them
	"github.com/parquet-go/parquet-go"

	"github.com/granarydb/granary/profile"
)

const (
	// groupRows is how many rows a row group has, about: readers skip groups by their
	// least and greatest values and read several at once.
	groupRows = 256 << 10
	// groupBytes bounds what is kept of a row group before it is written: pages that are
	// compressed already, and dictionaries.
	groupBytes = 64 << 20
	// parquetValues is how many values are made for a column at once.
	parquetValues = 16 << 10
)

// parquetWriter writes a Parquet file. It has the pages of one row group in memory.
type parquetWriter struct {
	out     *parquet.GenericWriter[any]
	columns []*parquetColumn
	rows    int64 // in the row group
	written int64 // bytes of the row groups before
}

func newParquetWriter(w io.Writer, schema *arrow.Schema) *parquetWriter {
	p := &parquetWriter{}
	root := parquetRoot{}
	for i, f := range schema.Fields() {
		p.columns = append(p.columns, &parquetColumn{index: i, optional: f.Nullable})
		root.fields = append(root.fields, parquetField{parquetNode(f), f.Name})
	}
	p.out = parquet.NewGenericWriter[any](w, parquet.NewSchema("rows", root),
		parquet.Compression(&parquet.Zstd))
	return p
}

func (p *parquetWriter) write(rec arrow.Record) error {
	for i, out := range p.out.ColumnWriters() { // one a column: lists have one leaf
		if err := p.columns[i].write(out, rec.Column(i)); err != nil {
			return fmt.Errorf("column %s: %w", rec.ColumnName(i), err)
		}
	}
	p.rows += rec.NumRows()
	if p.rows < groupRows && p.out.Size()-p.written < groupBytes {
		return nil
	}
	if err := p.out.Flush(); err != nil {
		return err
	}
	p.rows, p.written = 0, p.out.Size()
	return nil
}

func (p *parquetWriter) close() error { return p.out.Close() }

// parquetNode returns what a field is in Parquet. Dictionaries are an encoding there, for
// values that repeat.
func parquetNode(f arrow.Field) parquet.Node {
	node := parquetType(f.Type)
	switch {
	case f.Name == profile.ColumnTimestamp && f.Type.ID() == arrow.INT64:
		node = parquet.Encoded(parquet.TimestampAdjusted(parquet.Nanosecond, false), &parquet.RLEDictionary)
	case slices.Contains([]string{profile.ColumnValue, profile.ColumnTraceID, profile.ColumnSpanID}, f.Name):
		node = parquet.Encoded(node, &parquet.Plain)
	}
	if f.Nullable {
		node = parquet.Optional(node)
	}
	return node
}

func parquetType(t arrow.DataType) parquet.Node {
	var leaf parquet.Node
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return parquetType(t.ValueType)
	case *arrow.ListType:
		return parquet.List(parquet.Optional(parquetType(t.Elem()))) // as Arrow has it
	case *arrow.FixedSizeBinaryType:
		// Not fixed_len_byte_array: of such a column, parquet-go 0.32 leaves pages without a
		// value out of the index of pages, and the others take their places.
		leaf = parquet.Leaf(parquet.ByteArrayType)
	case *arrow.Int64Type:
		leaf = parquet.Int(64)
	case *arrow.Uint64Type:
		leaf = parquet.Uint(64)
	case *arrow.StringType:
		leaf = parquet.String()
	default:
		panic(fmt.Sprintf("a scan has a column of type %s", t)) // the schema of profiles has none
	}
	return parquet.Encoded(leaf, &parquet.RLEDictionary)
}

// parquetRoot is a group whose fields are in the order of the columns, where
// parquet.Group sorts them by name.
type parquetRoot struct {
	parquet.Group
	fields []parquet.Field
}

// Fields returns the columns.
func (r parquetRoot) Fields() []parquet.Field { return r.fields }

// parquetField is one column.
type parquetField struct {
	parquet.Node
	name string
}

// Name returns the name of the column.
func (f parquetField) Name() string { return f.name }

// Value is for rows that are Go values. There are none.
func (f parquetField) Value(reflect.Value) reflect.Value { return reflect.Value{} }

// parquetColumn writes the values of one column.
type parquetColumn struct {
	index    int
	optional bool
	values   []parquet.Value
}

func (c *parquetColumn) write(out *parquet.ColumnWriter, from arrow.Array) error {
	cell := c.cells(from)
	for row := 0; row < from.Len(); {
		c.values = c.values[:0]
		for ; row < from.Len() && len(c.values) < parquetValues; row++ {
			c.values = cell(c.values, row)
		}
		if _, err := out.WriteRowValues(c.values); err != nil {
			return err
		}
	}
	return nil
}

// cells returns a function that appends the values of one row of an array: one, or of a
// list those of its elements. They are good as long as the array is.
func (c *parquetColumn) cells(from arrow.Array) func(dst []parquet.Value, row int) []parquet.Value {
	level := 0 // of definition, of a value that is there
	if c.optional {
		level = 1
	}
	null := parquet.NullValue().Level(0, 0, c.index)
	var cell func(dst []parquet.Value, row int) []parquet.Value
	switch from := from.(type) {
	case *array.Dictionary:
		cell = c.entries(from)
	case *array.List:
		cell = c.lists(from, level)
	default:
		value := leaves(from)
		cell = func(dst []parquet.Value, row int) []parquet.Value {
			return append(dst, value(row).Level(0, level, c.index))
		}
	}
	if from.NullN() == 0 {
		return cell
	}
	return func(dst []parquet.Value, row int) []parquet.Value {
		if from.IsNull(row) {
			return append(dst, null)
		}
		return cell(dst, row)
	}
}

// entries is cells of a dictionary: the values of each of its entries are made once.
func (c *parquetColumn) entries(from *array.Dictionary) func(dst []parquet.Value, row int) []parquet.Value {
	cell := c.cells(from.Dictionary())
	var values []parquet.Value
	ends := make([]int, 1, from.Dictionary().Len()+1)
	for i := range from.Dictionary().Len() {
		values = cell(values, i)
		ends = append(ends, len(values))
	}
	return func(dst []parquet.Value, row int) []parquet.Value {
		i := from.GetValueIndex(row)
		return append(dst, values[ends[i]:ends[i+1]]...)
	}
}

// lists is cells of lists. An element could be null by its type, and never is.
func (c *parquetColumn) lists(from *array.List, level int) func(dst []parquet.Value, row int) []parquet.Value {
	value := leaves(from.ListValues())
	return func(dst []parquet.Value, row int) []parquet.Value {
		start, end := from.ValueOffsets(row)
		if start == end {
			return append(dst, parquet.NullValue().Level(0, level, c.index))
		}
		for i := start; i < end; i++ {
			dst = append(dst, value(int(i)).Level(min(int(i-start), 1), level+2, c.index))
		}
		return dst
	}
}

// leaves returns a function that makes the value of one element of an array.
func leaves(from arrow.Array) func(i int) parquet.Value {
	switch from := from.(type) {
	case *array.Int64:
		return func(i int) parquet.Value { return parquet.Int64Value(from.Value(i)) }
	case *array.Uint64:
		return func(i int) parquet.Value { return parquet.Int64Value(int64(from.Value(i))) }
	case *array.FixedSizeBinary:
		return func(i int) parquet.Value { return parquet.ByteArrayValue(from.Value(i)) }
	case *array.String:
		bytes, first := from.ValueBytes(), 0
		if from.Len() > 0 {
			first = from.ValueOffset(0)
		}
		return func(i int) parquet.Value {
			return parquet.ByteArrayValue(bytes[from.ValueOffset(i)-first : from.ValueOffset(i+1)-first])
		}
	default:
		panic(fmt.Sprintf("a scan has a column of type %s", from.DataType()))
	}
}
