package arrowconv

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow/go/v14/arrow"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// ErrRecord says that a record is malformed or does not fit a schema. The
// error that wraps it names the column and the cause; if the cause is a limit
// of package schema, it wraps schema.ErrLimit as well.
var ErrRecord = errors.New("invalid record")

// Batch copies a record into a batch for a table with the given schema. The
// columns may come in any order and be left out. A column fits if it holds
//
//	Int64     int8 to int64, uint8 to uint32, timestamp in nanoseconds
//	Uint64    uint8 to uint64
//	Float64   float32, float64
//	Bool      bool
//	String    utf8, large_utf8, binary or large_binary (of valid UTF-8)
//	UUID      fixed_size_binary[16]
//	UUIDList  list or large_list of UUIDs, none of them null
//
// where strings, UUIDs and lists can also be a dictionary of these with any
// integer as index, and so can the elements of lists.
//
// The record is checked in full first, however it was made (A3), and nothing of
// it is kept (A4). Errors wrap ErrRecord. What rows a table takes is for
// schema.Check to say: nulls and missing columns pass here.
func Batch(s *schema.Schema, rec arrow.Record) (schema.Batch, error) {
	rows, fields, err := checkShape(rec)
	if err != nil {
		return schema.Batch{}, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	batch := schema.Batch{Rows: rows, Columns: make(map[string]encoding.Vector, len(fields))}
	for i, f := range fields {
		if len(f.Name) > schema.MaxName {
			return schema.Batch{}, fmt.Errorf("%w: column %d: %w: name of %d bytes, at most %d",
				ErrRecord, i, schema.ErrLimit, len(f.Name), schema.MaxName)
		}
		if _, twice := batch.Columns[f.Name]; twice {
			return schema.Batch{}, fmt.Errorf("%w: column %q is there twice", ErrRecord, f.Name)
		}
		values, err := columnValues(s, f.Name, rec.Column(i), rows)
		if err != nil {
			return schema.Batch{}, fmt.Errorf("%w: column %q: %w", ErrRecord, f.Name, err)
		}
		batch.Columns[strings.Clone(f.Name)] = values
	}
	return batch, nil
}

// checkShape checks the record without its columns.
func checkShape(rec arrow.Record) (rows int, fields []arrow.Field, err error) {
	const maxColumns = schema.MaxColumns + schema.MaxDynamic
	if rec == nil || rec.Schema() == nil {
		return 0, nil, errors.New("record without schema")
	}
	fields = rec.Schema().Fields()
	n := rec.NumRows()
	switch {
	case !rec.Schema().IsNativeEndian():
		return 0, nil, errors.New("byte order of another machine")
	case int64(len(fields)) != rec.NumCols():
		return 0, nil, fmt.Errorf("%d columns, but %d in the schema", rec.NumCols(), len(fields))
	case len(fields) > maxColumns:
		return 0, nil, fmt.Errorf("%w: %d columns, at most %d", schema.ErrLimit, len(fields), maxColumns)
	case n < 0:
		return 0, nil, fmt.Errorf("%d rows", n)
	case n > schema.MaxRows:
		return 0, nil, fmt.Errorf("%w: %d rows, at most %d", schema.ErrLimit, n, schema.MaxRows)
	}
	return int(n), fields, nil
}

// columnValues returns the values of one column of the record.
func columnValues(s *schema.Schema, name string, column arrow.Array, rows int) (encoding.Vector, error) {
	i, ok := s.Resolve(name)
	switch {
	case !ok:
		return encoding.Vector{}, errors.New("not in the schema")
	case column == nil || typeID(column.Data()) < 0:
		return encoding.Vector{}, errNoData
	case column.Data().Len() != rows:
		return encoding.Vector{}, fmt.Errorf("%d rows, the record has %d", column.Data().Len(), rows)
	}
	return newVector(s.Columns()[i].Type, column.Data())
}
