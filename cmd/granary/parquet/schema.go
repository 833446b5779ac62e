package parquet

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/parquet-go/parquet-go"

	"github.com/granarydb/granary/profile"
)

// ErrType is the error for a column with a type that the package cannot write, and for a record that does not
// have the schema of its file.
var ErrType = errors.New("unsupported Arrow type")

// node returns the Parquet node of a field. In Parquet a dictionary is not a type but an encoding, used for
// columns whose values repeat.
func node(f arrow.Field) (parquet.Node, error) {
	n, err := nodeOf(f.Type)
	if err != nil {
		return nil, err
	}
	switch {
	case f.Name == profile.ColumnTimestamp && f.Type.ID() == arrow.INT64:
		n = parquet.Encoded(parquet.TimestampAdjusted(parquet.Nanosecond, false), &parquet.RLEDictionary)
	case slices.Contains([]string{profile.ColumnValue, profile.ColumnTraceID, profile.ColumnSpanID}, f.Name):
		n = parquet.Encoded(n, &parquet.Plain)
	}
	if f.Nullable {
		n = parquet.Optional(n)
	}
	return n, nil
}

// nodeOf returns the node of a type: a leaf, a list of leaves, or a dictionary of either.
func nodeOf(t arrow.DataType) (parquet.Node, error) {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return nodeOf(t.ValueType)
	case *arrow.ListType:
		element, err := leaf(t.Elem())
		if err != nil {
			return nil, err
		}
		return parquet.List(parquet.Optional(element)), nil // optional, as in Arrow
	default:
		return leaf(t)
	}
}

func leaf(t arrow.DataType) (parquet.Node, error) {
	var n parquet.Node
	switch t.(type) {
	case *arrow.FixedSizeBinaryType:
		// Not fixed_len_byte_array: for such a column, the page index of parquet-go 0.32 omits
		// pages without a value, so the entries of later pages are off.
		n = parquet.Leaf(parquet.ByteArrayType)
	case *arrow.Int64Type:
		n = parquet.Int(64)
	case *arrow.Uint64Type:
		n = parquet.Uint(64)
	case *arrow.StringType:
		n = parquet.String()
	default:
		return nil, fmt.Errorf("%w: %s", ErrType, t)
	}
	return parquet.Encoded(n, &parquet.RLEDictionary), nil
}

// group keeps the fields in the order of the columns. parquet.Group sorts them by name.
type group struct {
	parquet.Group
	fields []parquet.Field
}

// Fields returns the columns.
func (g group) Fields() []parquet.Field { return g.fields }

// field is one column.
type field struct {
	parquet.Node
	name string
}

// Name returns the name of the column.
func (f field) Name() string { return f.name }

// Value returns the zero value: rows are never Go values.
func (f field) Value(reflect.Value) reflect.Value { return reflect.Value{} }
