package querytest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/google/uuid"

	"github.com/granarydb/granary/internal/oracle"
)

// ElementNames returns the names of an element in these tests: none to two.
func ElementNames(dst []string, id uuid.UUID, record []byte) []string {
	for k := range int(id[0]) % 3 {
		dst = append(dst, fmt.Sprintf("f%d.%d %s", id[0], k, record))
	}
	return dst
}

// NamesOf returns a row whose list is replaced with its ElementNames.
func NamesOf(row oracle.Row, column string, records map[uuid.UUID][]byte) oracle.Row {
	row = maps.Clone(row)
	if list, ok := row[column].([]uuid.UUID); ok {
		names := []any{}
		for _, id := range list {
			for k := range int(id[0]) % 3 {
				names = append(names, fmt.Sprintf("f%d.%d %s", id[0], k, records[id]))
			}
		}
		row[column] = names
	}
	return row
}

// formCell reads a record's value by the rules of the Arrow format.
func formCell(a arrow.Array, i int) any {
	if r, ok := a.(*array.RunEndEncoded); ok {
		row := int32(i + a.Data().Offset())
		run := slices.IndexFunc(r.RunEndsArr().(*array.Int32).Int32Values(), func(end int32) bool { return end > row })
		return formCell(r.Values(), run)
	}
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Dictionary:
		return formCell(a.Dictionary(), a.GetValueIndex(i))
	case *array.List:
		lo, hi := a.ValueOffsets(i)
		if ids, ok := a.ListValues().(*array.FixedSizeBinary); ok {
			list := []uuid.UUID{}
			for k := lo; k < hi; k++ {
				list = append(list, uuid.UUID(ids.Value(int(k))))
			}
			return list
		}
		names := []any{}
		for k := lo; k < hi; k++ {
			names = append(names, strings.Clone(a.ListValues().(*array.String).Value(int(k))))
		}
		return names
	}
	value, err := Cell(a, i)
	if err != nil {
		panic(err)
	}
	return value
}

// FormRows formats a record's rows as text.
func FormRows(rec arrow.Record) []string {
	out := make([]string, rec.NumRows())
	for i := range out {
		row := map[string]any{}
		for c, column := range rec.Columns() {
			row[rec.ColumnName(c)] = formCell(column, i)
		}
		out[i] = oracle.Text(row)
	}
	return out
}
