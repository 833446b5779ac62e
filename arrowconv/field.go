package arrowconv

import (
	"fmt"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
)

// uuidLen is the length of a UUID in bytes.
const uuidLen = 16

// The Arrow types of values. Elements of lists are never null, but are declared nullable as arrow.ListOf does
// by default, because engines were tested with that form.
var (
	uuidType  = &arrow.FixedSizeBinaryType{ByteWidth: uuidLen}
	listType  = arrow.ListOf(uuidType)
	namesType = arrow.ListOf(arrow.BinaryTypes.String)
	endsType  = arrow.PrimitiveTypes.Int32
	timeType  = &arrow.TimestampType{Unit: arrow.Nanosecond}
)

// ElementNames appends to dst the names of an element of a list, in order; an element can have any number of
// names. record is the element's record, or nil. It must not retain or change the record. Bytes that are not
// UTF-8 become U+FFFD.
type ElementNames func(dst []string, id uuid.UUID, record []byte) []string

// Field is a column of a builder's records.
type Field struct {
	// Name is the column's name in the record.
	Name string
	// Type is the type of the values.
	Type encoding.Type
	// Coded makes strings and UUIDs a dictionary, unless the form is FormPlain. It is ignored for lists,
	// which are always a dictionary in these forms, and for fixed types, which never are.
	Coded bool
	// Runs makes the field run-end encoded in FormNative. Other forms ignore it.
	Runs bool
	// Shared lets records share a dictionary for a UUIDList field without Names: it has all lists of the
	// store's dictionary, after these have been read (A1). It suits consumers that use records directly, or
	// write a dictionary only when it changes. It does not suit consumers that convert each record's
	// dictionary.
	Shared bool
	// Many announces that rows will have most lists in the dictionary. Records then share all lists from
	// the first record on, not only after an eighth was added. Lists with more than 8 Mi elements in
	// total are not shared.
	Many bool
	// Time makes Int64 a timestamp in nanoseconds without a zone. Other types ignore it.
	Time bool
	// Nullable allows rows without a value.
	Nullable bool
	// Names, if not nil, turns UUIDList into lists of strings: the names of all elements, concatenated.
	// The builder's goroutine calls it once for each distinct element of a dictionary's lists. Other
	// types ignore it.
	Names ElementNames
}

// coded reports whether the field's values are a dictionary.
func (f *Field) coded(form Form) bool {
	return form != FormPlain && (f.Type == encoding.UUIDList || f.Coded && !f.Type.Fixed())
}

// named reports whether the field has names instead of ids.
func (f *Field) named() bool { return f.Type == encoding.UUIDList && f.Names != nil }

// cellType returns the Arrow type of the field's cells: one for each row or, if run-end encoded, for each
// run. It panics if the field's type is unknown, because fields come from code, not from input.
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

// NewSchema returns the schema of the records of a RecordBuilder with the same form and fields. It panics
// if the form is unknown, or if a field's type is not one of package encoding.
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
