//go:build cgo && duckdb_arrow

package main

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2"
	"github.com/google/uuid"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/peers"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// condition turns terms into a condition, empty without terms.
func condition(where []peers.Term) string {
	var all []string
	for _, t := range where {
		column := name(t.Column)
		switch {
		case t.Pattern != nil:
			all = append(all, fmt.Sprintf("regexp_matches(%s, %s)", column, text(t.Pattern.String())))
		case t.Column == profile.ColumnTimestamp:
			all = append(all, fmt.Sprintf("%s = %d", column, t.Number))
		case t.Column == profile.ColumnTraceID:
			all = append(all, fmt.Sprintf("%s = %s", column, text(t.ID.String())))
		default:
			all = append(all, fmt.Sprintf("%s = %s", column, text(t.Text)))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(all, " AND ")
}

// query passes each record of the answer to each, releases it, and returns the number of rows.
func (s *store) query(question string, each func(arrow.Record) error) (rows int64, err error) {
	err = s.conn.Raw(func(raw any) error {
		a, err := duckdb.NewArrowFromConn(raw.(driver.Conn))
		if err != nil {
			return err
		}
		r, err := a.QueryContext(context.Background(), question)
		if err != nil {
			return err
		}
		defer r.Release()
		for r.Next() {
			rec := r.RecordBatch()
			rows += rec.NumRows()
			if each != nil {
				if err := each(rec); err != nil {
					return err
				}
			}
		}
		return r.Err()
	})
	return rows, err
}

// sum is the sum of the values, which fits a value's type.
var sum = fmt.Sprintf("sum(%s)::BIGINT", name(profile.ColumnValue))

// sums queries sums by a column of whole numbers.
func (s *store) sums(column string, where []peers.Term, each func(key, sum int64)) error {
	question := fmt.Sprintf("SELECT %[1]s::BIGINT, %[2]s FROM profiles%[3]s GROUP BY %[1]s", name(column), sum, condition(where))
	_, err := s.query(question, func(rec arrow.Record) error {
		if each == nil {
			return nil
		}
		keys, sums := rec.Column(0).(*array.Int64), rec.Column(1).(*array.Int64)
		for row := range int(rec.NumRows()) {
			each(keys.Value(row), sums.Value(row))
		}
		return nil
	})
	return err
}

// Merge implements peers.Store.
func (s *store) Merge(where []peers.Term, each func(stack []byte, sum int64)) error {
	if each == nil {
		return s.sums(profile.ColumnStacktrace, where, nil)
	}
	return s.sums(profile.ColumnStacktrace, where, func(number, sum int64) { each([]byte(s.stacks[number]), sum) })
}

// Series implements peers.Store.
func (s *store) Series(where []peers.Term, each func(at, sum int64)) error {
	return s.sums(profile.ColumnTimestamp, where, each)
}

// Totals implements peers.Store.
func (s *store) Totals(column string, each func(value string, rows, sum int64)) error {
	question := fmt.Sprintf("SELECT coalesce(%[1]s, ''), count(*), %[2]s FROM profiles GROUP BY %[1]s", name(column), sum)
	_, err := s.query(question, func(rec arrow.Record) error {
		if each == nil {
			return nil
		}
		for row := range int(rec.NumRows()) {
			each(rec.Column(0).(*array.String).Value(row), rec.Column(1).(*array.Int64).Value(row), rec.Column(2).(*array.Int64).Value(row))
		}
		return nil
	})
	return err
}

// Pick implements peers.Store. Stacks stay numbers unless each is set.
func (s *store) Pick(where []peers.Term, columns []string, each func(schema.Batch)) (rows int64, err error) {
	if columns == nil {
		columns = s.columns
	}
	var names []string
	for _, column := range columns {
		names = append(names, name(column))
	}
	question := fmt.Sprintf("SELECT %s FROM profiles%s", strings.Join(names, ", "), condition(where))
	if each == nil {
		return s.query(question, nil)
	}
	return s.query(question, func(rec arrow.Record) error {
		b := schema.Batch{Rows: int(rec.NumRows()), Columns: map[string]encoding.Vector{}}
		for i, column := range columns {
			v, err := s.vector(column, rec.Column(i))
			if err != nil {
				return err
			}
			b.Columns[column] = v
		}
		each(b)
		return nil
	})
}

// vector returns a column's plain values.
func (s *store) vector(column string, of arrow.Array) (v encoding.Vector, err error) {
	for row := range of.Len() {
		v.Valid = append(v.Valid, of.IsValid(row))
	}
	switch of := of.(type) {
	case *array.Int64:
		v.Type, v.Int64s = encoding.Int64, of.Int64Values()
	case *array.Int32:
		v.Type = encoding.UUIDList
		for row := range of.Len() {
			v.UUIDLists = append(v.UUIDLists, peers.IDs([]byte(s.stacks[of.Value(row)])))
		}
	case *array.String:
		if column == profile.ColumnTraceID {
			return s.ids(of, v)
		}
		v.Type = encoding.String
		for row := range of.Len() {
			v.Strings = append(v.Strings, strings.Clone(of.Value(row)))
		}
	default:
		return v, fmt.Errorf("column %s is of type %s", column, of.DataType())
	}
	return v, nil
}

// ids reads trace ids.
func (s *store) ids(of *array.String, v encoding.Vector) (encoding.Vector, error) {
	v.Type = encoding.UUID
	for row := range of.Len() {
		var id uuid.UUID
		if v.Valid[row] {
			var err error
			if id, err = uuid.Parse(of.Value(row)); err != nil {
				return v, err
			}
		}
		v.UUIDs = append(v.UUIDs, id)
	}
	return v, nil
}

// texts queries one column of strings.
func (s *store) texts(question string) (all []string, err error) {
	_, err = s.query(question, func(rec arrow.Record) error {
		column := rec.Column(0).(*array.String)
		for row := range column.Len() {
			all = append(all, strings.Clone(column.Value(row)))
		}
		return nil
	})
	return all, err
}

// Types implements peers.Store.
func (s *store) Types() (types []peers.Type, err error) {
	var names []string
	for _, column := range peers.TypeColumns {
		names = append(names, fmt.Sprintf("coalesce(%s, '')", name(column)))
	}
	_, err = s.query("SELECT DISTINCT "+strings.Join(names, ", ")+" FROM profiles", func(rec arrow.Record) error {
		for row := range int(rec.NumRows()) {
			var kind peers.Type
			for i := range kind {
				kind[i] = strings.Clone(rec.Column(i).(*array.String).Value(row))
			}
			types = append(types, kind)
		}
		return nil
	})
	return types, err
}

// LabelNames implements peers.Store, by the table's columns.
func (s *store) LabelNames() (names []string, err error) {
	columns, err := s.texts("SELECT name FROM pragma_table_info('profiles')")
	for _, column := range columns {
		if label, ok := strings.CutPrefix(column, fleet.LabelPrefix); ok {
			names = append(names, label)
		}
	}
	return names, err
}

// LabelValues implements peers.Store.
func (s *store) LabelValues(label string, where []peers.Term) ([]string, error) {
	column := fleet.LabelPrefix + label
	if !slices.Contains(s.columns, column) {
		return nil, nil
	}
	values := fmt.Sprintf("SELECT DISTINCT %[1]s FROM profiles%[2]s", name(column), condition(where))
	return s.texts(fmt.Sprintf("SELECT * FROM (%s) WHERE %s IS NOT NULL", values, name(column)))
}
