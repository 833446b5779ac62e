package querytest

import (
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/query/filter"
)

// RowsOf reads some columns for the rows in a selection. It leaves out columns of lists.
func RowsOf(r *filter.Read, s *filter.Selection, columns ...string) []oracle.Row {
	rows := make([]oracle.Row, s.Rows)
	series := s.Words(nil, s.Part.Series())
	for i := range rows {
		rows[i] = oracle.Row{}
	}
	for _, name := range columns {
		at, _ := r.Schema.Resolve(name)
		typ := r.Schema.Columns()[at].Type
		if typ == encoding.UUIDList {
			continue
		}
		if r.Schema.IsSeries(at) {
			for i, row := range rows {
				if value, ok := r.Schema.TupleValue(s.Part.Generation().Series.Value(uint32(series[i])), at, name); ok {
					row[name] = string(value)
				}
			}
			continue
		}
		column := s.Part.Find(at, name)
		if column == nil {
			continue
		}
		valid := s.Valid(column)
		for i, word := range s.Words(nil, column.Words()) {
			if typ.Fixed() && (valid == nil || valid[i]) || !typ.Fixed() && word != 0 {
				rows[i][name] = valueOf(column, typ, word)
			}
		}
	}
	return rows
}

func valueOf(column *encoding.Column, typ encoding.Type, word uint64) any {
	switch typ {
	case encoding.Int64:
		return encoding.ToInt64(word)
	case encoding.Uint64:
		return word
	case encoding.Float64:
		return encoding.ToFloat64(word)
	case encoding.Bool:
		return word != 0
	case encoding.UUID:
		return uuid.UUID(column.Bytes(word))
	}
	return string(column.Bytes(word))
}
