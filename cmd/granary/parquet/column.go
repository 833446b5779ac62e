package parquet

import (
	"fmt"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/parquet-go/parquet-go"
)

// chunk is the number of values converted at a time.
const chunk = 16 << 10

// column writes the values of one column.
type column struct {
	index    int
	optional bool
	values   []parquet.Value
}

func (c *column) write(out *parquet.ColumnWriter, from arrow.Array) error {
	cell := c.cells(from)
	for row := 0; row < from.Len(); {
		c.values = c.values[:0]
		for ; row < from.Len() && len(c.values) < chunk; row++ {
			c.values = cell(c.values, row)
		}
		if _, err := out.WriteRowValues(c.values); err != nil {
			return err
		}
	}
	return nil
}

// cells returns a function that appends the values of a row of an array: one value, or one value for each
// element of a list. The values are valid for the lifetime of the array.
func (c *column) cells(from arrow.Array) func(dst []parquet.Value, row int) []parquet.Value {
	level := 0 // definition level of a value that is not null
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

// entries is cells for dictionaries. It converts each dictionary entry once.
func (c *column) entries(from *array.Dictionary) func(dst []parquet.Value, row int) []parquet.Value {
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

// lists is cells for lists. An element is never null, although its type is optional.
func (c *column) lists(from *array.List, level int) func(dst []parquet.Value, row int) []parquet.Value {
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

// leaves returns a function that converts one element of an array. NewFileWriter refuses all
// types that leaves does not know.
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
		panic(fmt.Sprintf("an array of type %s", from.DataType()))
	}
}
