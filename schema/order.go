package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Order is the column names of earlier batches in schema order, reused for batches with the same names. It
// holds two sets of names, because profiles with trace ids come among others. The zero value is empty. It
// is not safe for concurrent use. It copies names and retains nothing from a batch.
type Order struct {
	schema *Schema
	names  [2][]columnName // the latest first
}

// columnName is a batch's concrete column and the index of its schema column.
type columnName struct {
	column int
	name   string
}

// maxOrder is the number of columns up to which an order is kept, to bound its memory.
const maxOrder = 64

// concrete appends a batch's columns to an empty slice, in schema order, concrete dynamic columns by name.
func (s *Schema) concrete(columns []Concrete, order *Order, b *Batch) ([]Concrete, error) {
	columns = slices.Grow(columns, len(b.Columns))
	for _, names := range order.names {
		if order.schema == s && len(names) == len(b.Columns) {
			if all, ok := columnsNamed(columns, names, b); ok {
				return all, nil
			}
		}
	}
	var few [maxOrder]columnName
	names, err := s.inOrder(few[:0], b)
	if err != nil {
		return nil, err
	}
	columns, _ = columnsNamed(columns, names, b)
	order.keep(s, names)
	return columns, nil
}

// columnsNamed appends a batch's columns with the given names; false if one is absent.
func columnsNamed(columns []Concrete, names []columnName, b *Batch) ([]Concrete, bool) {
	columns = columns[:len(names)]
	for i, n := range names {
		values, ok := b.Columns[n.name]
		if !ok {
			return nil, false
		}
		c := &columns[i] // filled in place, because a Concrete is large
		c.Column, c.Name, c.Values = n.column, n.name, values
	}
	return columns, true
}

// inOrder appends the names of a batch's columns to dst, in schema order, concrete dynamic columns by name.
// It sorts names because the columns with their values are ten times as large to move.
func (s *Schema) inOrder(dst []columnName, b *Batch) ([]columnName, error) {
	for name := range b.Columns {
		i, ok := s.Resolve(name)
		if !ok {
			return nil, fmt.Errorf("%w: column %s", ErrBatch, s.unknown(name))
		}
		if !s.columns[i].Dynamic {
			name = s.columns[i].Name // because the batch's name may be a substring of a large string
		}
		dst = append(dst, columnName{i, name})
	}
	slices.SortFunc(dst, func(a, b columnName) int {
		if a.column != b.column {
			return cmp.Compare(a.column, b.column)
		}
		return cmp.Compare(a.name, b.name)
	})
	return dst, nil
}

// unknown describes a column that is not in the schema.
func (s *Schema) unknown(name string) string {
	if family, ok := strings.CutSuffix(name, "."); ok {
		if _, ok := s.Family(family); ok {
			return fmt.Sprintf("%q has no name after the point", name)
		}
	}
	return fmt.Sprintf("%.100q is not in the schema", name)
}

// keep stores the names of a batch's columns in one allocation, unless there are many.
func (o *Order) keep(s *Schema, names []columnName) {
	if len(names) > maxOrder {
		return
	}
	if o.schema != s {
		*o = Order{schema: s}
	}
	var text strings.Builder
	for _, n := range names {
		text.WriteString(n.name)
	}
	rest := text.String()
	kept := o.names[1][:0]
	for _, n := range names {
		kept = append(kept, columnName{n.column, rest[:len(n.name)]})
		rest = rest[len(n.name):]
	}
	o.names = [2][]columnName{kept, o.names[0]}
}
