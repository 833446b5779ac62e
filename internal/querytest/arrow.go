package querytest

import (
	"fmt"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/google/uuid"
)

// Decode copies a record into one map per row. A value is nil for null, otherwise a string, int64, uint64,
// float64, bool, uuid.UUID or []uuid.UUID.
func Decode(rec arrow.Record) ([]map[string]any, error) {
	rows := make([]map[string]any, rec.NumRows())
	for i := range rows {
		rows[i] = make(map[string]any, rec.NumCols())
	}
	for c, column := range rec.Columns() {
		name := rec.ColumnName(c)
		for i, row := range rows {
			value, err := Cell(column, i)
			if err != nil {
				return nil, fmt.Errorf("column %q row %d: %w", name, i, err)
			}
			row[name] = value
		}
	}
	return rows, nil
}

// Cell copies a value from a column in any form.
func Cell(a arrow.Array, i int) (any, error) {
	if a.IsNull(i) {
		return nil, nil
	}
	switch a := a.(type) {
	case *array.Dictionary:
		return Cell(a.Dictionary(), a.GetValueIndex(i))
	case *array.RunEndEncoded:
		return Cell(a.Values(), a.GetPhysicalIndex(i))
	case *array.Int64:
		return a.Value(i), nil
	case *array.Uint64:
		return a.Value(i), nil
	case *array.Float64:
		return a.Value(i), nil
	case *array.Boolean:
		return a.Value(i), nil
	case *array.String:
		return string([]byte(a.Value(i))), nil // copied, because Release frees the record's bytes
	case *array.FixedSizeBinary:
		return uuid.FromBytes(a.Value(i))
	case *array.List:
		lo, hi := a.ValueOffsets(i)
		list := make([]uuid.UUID, 0, hi-lo)
		for k := lo; k < hi; k++ {
			id, err := Cell(a.ListValues(), int(k))
			if err != nil {
				return nil, err
			}
			list = append(list, id.(uuid.UUID))
		}
		return list, nil
	}
	return nil, fmt.Errorf("unexpected array %T", a)
}
