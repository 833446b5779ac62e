package arrowconv

import (
	"fmt"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
)

// uuidLen is the length of a UUID in bytes.
const uuidLen = 16

// The Arrow types of values. Elements of lists are never null, but are declared nullable as
// arrow.ListOf does by default: that form was tested with engines.
var (
	uuidType  = &arrow.FixedSizeBinaryType{ByteWidth: uuidLen}
	listType  = arrow.ListOf(uuidType)
	namesType = arrow.ListOf(arrow.BinaryTypes.String)
	endsType  = arrow.PrimitiveTypes.Int32
	timeType  = &arrow.TimestampType{Unit: arrow.Nanosecond}
)

// ElementNames appends to dst the names of an element of a list, given its id and its record, which
// is nil if it has none: any number of names, in order. It must not retain or change the
// record. Bytes that are not UTF-8 become U+FFFD.
type ElementNames func(dst []string, id uuid.UUID, record []byte) []string

// Field is one column of a Builder's records.
type Field struct {
	// Name is the column's name in the record.
	Name string
	// Type is the type of the values.
	Type encoding.Type
	// Coded makes strings and UUIDs a dictionary, unless the form is FormPlain. It is ignored
	// for lists, which then always are one, and for fixed types, which never are.
	Coded bool
	// Runs makes the field run-end encoded in FormNative; in other forms it is ignored.
	Runs bool
	// Shared lets records share one dictionary of UUIDList, unless the field has Names: the
	// one of all lists of the store's dictionary, once these have been read (A1). It suits
	// consumers that read records as they are, or write a dictionary only when it changes. It
	// does not suit consumers that convert the dictionary of each record.
	Shared bool
	// Many announces that rows will have most of the lists of the dictionary: records share all
	// of them from the first on, not only after an eighth has been added. Lists of more than
	// 8 Mi elements in all are not shared.
	Many bool
	// Time makes Int64 a timestamp in nanoseconds without a zone. Other types ignore it.
	Time bool
	// Nullable allows rows without a value.
	Nullable bool
	// Names, if not nil, makes UUIDList lists of strings: the names of their elements,
	// end to end. It is called from the builder's goroutine, once for each distinct
	// element of the lists of one dictionary. For other types it is ignored.
	Names ElementNames
}

// coded reports whether the field's values are a dictionary.
func (f *Field) coded(form Form) bool {
	return form != FormPlain && (f.Type == encoding.UUIDList || f.Coded && !f.Type.Fixed())
}

// named reports whether the field has names in place of ids.
func (f *Field) named() bool { return f.Type == encoding.UUIDList && f.Names != nil }

// cellType returns the Arrow type of the field's values: of each row or, if it is run-end
// encoded, of each run. It panics if the field's type is unknown: fields come from code, not
// from input.
func (f *Field) cellType(form Form) arrow.DataType {
	if f.coded(form) {
		return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: f.valueType()}
	}
	return f.valueType()
}

// dataType returns the Arrow type of the field.
func (f *Field) dataType(form Form) arrow.DataType {
	if form == FormNative && f.Runs {
		return arrow.RunEndEncodedOf(endsType, f.cellType(form))
	}
	return f.cellType(form)
}

func (f *Field) valueType() arrow.DataType {
	switch f.Type {
	case encoding.Int64:
		if f.Time {
			return timeType
		}
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
		if f.named() {
			return namesType
		}
		return listType
	}
	panic(fmt.Sprintf("arrowconv: unknown type: %v", f.Type))
}

// NewSchema returns the schema of the records of a Builder with the same form and fields. It
// panics if the form is unknown, or if a field's type is not one of package encoding.
func NewSchema(form Form, fields []Field) *arrow.Schema {
	if !form.Known() {
		panic(fmt.Sprintf("arrowconv: %v", form))
	}
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		out[i] = arrow.Field{Name: f.Name, Type: f.dataType(form), Nullable: f.Nullable}
	}
	return arrow.NewSchema(out, nil)
}
