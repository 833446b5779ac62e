package arrowconv

import (
	"fmt"

	"github.com/apache/arrow/go/v14/arrow"

	"github.com/granarydb/granary/encoding"
)

// uuidLen is the length of a UUID in bytes.
const uuidLen = 16

// The Arrow types of values. Elements of lists are never null, yet declared
// nullable as arrow.ListOf does by default: that form is what engines were
// tried with.
var (
	uuidType = &arrow.FixedSizeBinaryType{ByteWidth: uuidLen}
	listType = arrow.ListOf(uuidType)
)

// Field is one column of the records that a Builder makes.
type Field struct {
	// Name is the column's name in the record.
	Name string
	// Type is the type of the values.
	Type encoding.Type
	// Coded makes strings and UUIDs a dictionary. Lists always are one, the
	// fixed types never: there it is ignored.
	Coded bool
	// Nullable lets rows have no value.
	Nullable bool
}

// coded says whether the field is a dictionary.
func (f *Field) coded() bool {
	return f.Type == encoding.UUIDList || f.Coded && !f.Type.Fixed()
}

// dataType returns the Arrow type of the field; it panics if its type is
// unknown: fields come from code, not from input.
func (f *Field) dataType() arrow.DataType {
	if f.coded() {
		return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: valueType(f.Type)}
	}
	return valueType(f.Type)
}

func valueType(t encoding.Type) arrow.DataType {
	switch t {
	case encoding.Int64:
		return arrow.PrimitiveTypes.Int64
	case encoding.Uint64:
		return arrow.PrimitiveTypes.Uint64
	case encoding.Float64:
		return arrow.PrimitiveTypes.Float64
	case encoding.Bool:
		return arrow.FixedWidthTypes.Boolean
	case encoding.String:
		return arrow.BinaryTypes.String
	case encoding.UUID:
		return uuidType
	case encoding.UUIDList:
		return listType
	}
	panic(fmt.Sprintf("arrowconv: unknown type: %v", t))
}

// NewSchema returns the schema of the records that a Builder with the same
// fields makes. It panics if a field's type is not one of encoding's.
func NewSchema(fields []Field) *arrow.Schema {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		out[i] = arrow.Field{Name: f.Name, Type: f.dataType(), Nullable: f.Nullable}
	}
	return arrow.NewSchema(out, nil)
}
