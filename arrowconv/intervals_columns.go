package arrowconv

import (
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v14/arrow"
)

// intervalColumn is a column in records of intervals.
type intervalColumn uint8

const (
	columnID intervalColumn = iota
	columnPath
	columnStart
	columnEnd
	columnOpen
	columnKind
	columnBool
	columnInt
	columnFloat
	columnString
	columnBytes
	intervalColumns
)

var intervalColumnNames = [intervalColumns]string{
	"attribute_id", "attribute", "start", "end", "open", "kind",
	"value_bool", "value_int", "value_float", "value_string", "value_bytes",
}

// width returns the bits of a value, or 0 for a column of texts.
func (c intervalColumn) width() int {
	switch c {
	case columnOpen, columnBool:
		return 1
	case columnID:
		return 32
	case columnStart, columnEnd, columnInt, columnFloat:
		return 64
	}
	return 0
}

// intervalOrder returns the columns called names; nil means all.
func intervalOrder(names []string) ([]intervalColumn, error) {
	if names == nil {
		names = intervalColumnNames[:]
	}
	order := make([]intervalColumn, len(names))
	for i, name := range names {
		at := slices.Index(intervalColumnNames[:], name)
		if at < 0 {
			return nil, fmt.Errorf("%w: intervals have no column %q", ErrBuild, name)
		}
		if order[i] = intervalColumn(at); slices.Contains(order[:i], order[i]) {
			return nil, fmt.Errorf("%w: column %q is named twice", ErrBuild, name)
		}
	}
	return order, nil
}

// NewIntervalSchema returns the schema of an IntervalBuilder's records with the named columns, or all columns
// if names is nil. The schema depends on nothing else. Errors wrap ErrBuild: an unknown form, or a column
// that is unknown or named twice.
//
//	                FormDictionary               FormNative                    FormPlain
//	attribute_id    uint32                       in runs                       uint32
//	attribute       dictionary<uint32, utf8>     in runs                       utf8
//	start, end      int64                        the same                      int64
//	open            bool                         the same                      bool
//	kind            dictionary<uint32, utf8>     the same                      utf8
//	value_bool      bool                         the same                      bool
//	value_int       int64                        the same                      int64
//	value_float     double                       the same                      double
//	value_string    dictionary<uint32, utf8>     the same                      utf8
//	value_bytes     binary                       the same                      binary
//
// "In runs" is run_end_encoded<int32, T>, where T is the type of FormDictionary. Only the columns of
// values can be null. In each row all are null except the column of the row's kind. (The IPC writer of
// Arrow v14 fails on a slice of no rows in a record with value_bytes: skip such slices.)
func NewIntervalSchema(form Form, names []string) (*arrow.Schema, error) {
	if !form.Known() {
		return nil, fmt.Errorf("%w: %v", ErrBuild, form)
	}
	order, err := intervalOrder(names)
	if err != nil {
		return nil, err
	}
	fields := make([]arrow.Field, len(order))
	for i, c := range order {
		typ := c.cellType(form)
		if form == FormNative && (c == columnID || c == columnPath) {
			typ = arrow.RunEndEncodedOf(endsType, typ)
		}
		fields[i] = arrow.Field{Name: intervalColumnNames[c], Type: typ, Nullable: c >= columnBool}
	}
	return arrow.NewSchema(fields, nil), nil
}

// cellType returns the type of a column's values.
func (c intervalColumn) cellType(form Form) arrow.DataType {
	switch c {
	case columnID:
		return arrow.PrimitiveTypes.Uint32
	case columnStart, columnEnd, columnInt:
		return arrow.PrimitiveTypes.Int64
	case columnOpen, columnBool:
		return arrow.FixedWidthTypes.Boolean
	case columnFloat:
		return arrow.PrimitiveTypes.Float64
	case columnBytes:
		return arrow.BinaryTypes.Binary
	}
	if form == FormPlain {
		return arrow.BinaryTypes.String
	}
	return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.String}
}
