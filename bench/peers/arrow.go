package peers

import (
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/google/uuid"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// arrowRecords are plain Arrow records, one a profile, in the order of arrival. A question goes through all
// of them by hand. A term is tried once for each entry in a dictionary, and a record's rows are read only
// if it matches one.
type arrowRecords struct{ records []arrow.Record }

func openArrow() (Store, error) { return &arrowRecords{}, nil }

// Insert implements Store.
func (a *arrowRecords) Insert(b schema.Batch) error {
	a.records = append(a.records, Record(b))
	return nil
}

// Maintain implements Store.
func (a *arrowRecords) Maintain() error { return nil }

// Rest implements Store.
func (a *arrowRecords) Rest() error { return nil }

// Settle implements Store.
func (a *arrowRecords) Settle() error { return nil }

// Close implements Store.
func (a *arrowRecords) Close() error {
	for _, rec := range a.records {
		rec.Release()
	}
	return nil
}

// columnOf returns a record's column, nil if it has none with the name.
func columnOf(rec arrow.Record, name string) arrow.Array {
	if at := rec.Schema().FieldIndices(name); len(at) > 0 {
		return rec.Column(at[0])
	}
	return nil
}

// chosen calls f for each run of rows that match all terms.
func (a *arrowRecords) chosen(where []Term, f func(rec arrow.Record, from, to int)) {
	for _, rec := range a.records {
		rows := int(rec.NumRows())
		tests, any := testsOf(rec, where)
		if !any {
			continue
		}
		if len(tests) == 0 {
			f(rec, 0, rows)
			continue
		}
		for from := 0; from < rows; {
			to := from
			for to < rows && !slices.ContainsFunc(tests, func(holds func(int) bool) bool { return !holds(to) }) {
				to++
			}
			if to > from {
				f(rec, from, to)
			}
			from = to + 1
		}
	}
}

// testsOf returns the tests for a record's rows: for the terms that do not match all rows. any is false if
// a term matches none.
func testsOf(rec arrow.Record, where []Term) (tests []func(row int) bool, any bool) {
	for _, t := range where {
		switch column := columnOf(rec, t.Column).(type) {
		case nil:
			return nil, false
		case *array.Dictionary:
			values := column.Dictionary().(*array.Binary)
			hits, count := make([]bool, values.Len()), 0
			for i := range hits {
				if hits[i] = t.matches(values.Value(i)); hits[i] {
					count++
				}
			}
			if count == 0 {
				return nil, false
			}
			if count < len(hits) || column.NullN() > 0 {
				tests = append(tests, func(row int) bool { return column.IsValid(row) && hits[column.GetValueIndex(row)] })
			}
		case *array.Int64:
			values := column.Int64Values()
			tests = append(tests, func(row int) bool { return column.IsValid(row) && values[row] == t.Number })
		case *array.FixedSizeBinary:
			tests = append(tests, func(row int) bool { return column.IsValid(row) && string(column.Value(row)) == string(t.ID[:]) })
		}
	}
	return tests, true
}

// matches reports whether a term matches a text.
func (t Term) matches(text []byte) bool {
	if t.Pattern != nil {
		return t.Pattern.Match(text)
	}
	return string(text) == t.Text
}

// arrowStacks reads a record's stacks.
type arrowStacks struct {
	list  *array.List
	codes *array.Dictionary
	ids   *array.FixedSizeBinary
}

func stacksOf(rec arrow.Record) arrowStacks {
	list := columnOf(rec, profile.ColumnStacktrace).(*array.List)
	codes := list.ListValues().(*array.Dictionary)
	return arrowStacks{list: list, codes: codes, ids: codes.Dictionary().(*array.FixedSizeBinary)}
}

// appendTo appends a row's location ids.
func (s arrowStacks) appendTo(dst []byte, row int) []byte {
	for from, to := s.list.ValueOffsets(row); from < to; from++ {
		dst = append(dst, s.ids.Value(s.codes.GetValueIndex(int(from)))...)
	}
	return dst
}

// valuesOf returns a record's values.
func valuesOf(rec arrow.Record) []int64 {
	return columnOf(rec, profile.ColumnValue).(*array.Int64).Int64Values()
}

// Merge implements Store. It sums by a stack's bytes.
func (a *arrowRecords) Merge(where []Term, each func(stack []byte, sum int64)) error {
	at := map[string]int{} // index in sums
	var sums []int64
	var stack []byte
	a.chosen(where, func(rec arrow.Record, from, to int) {
		stacks, values := stacksOf(rec), valuesOf(rec)
		for row := from; row < to; row++ {
			stack = stacks.appendTo(stack[:0], row)
			i, ok := at[string(stack)]
			if !ok {
				i = len(sums)
				at[string(stack)], sums = i, append(sums, 0)
			}
			sums[i] += values[row]
		}
	})
	if each != nil {
		for stack, i := range at {
			each([]byte(stack), sums[i])
		}
	}
	return nil
}

// Series implements Store.
func (a *arrowRecords) Series(where []Term, each func(at, sum int64)) error {
	sums := map[int64]int64{}
	a.chosen(where, func(rec arrow.Record, from, to int) {
		times, values := columnOf(rec, profile.ColumnTimestamp).(*array.Int64).Int64Values(), valuesOf(rec)
		for row := from; row < to; row++ {
			sums[times[row]] += values[row]
		}
	})
	if each != nil {
		for at, sum := range sums {
			each(at, sum)
		}
	}
	return nil
}

// total is the number of a value's rows, and their sum.
type total struct{ rows, sum int64 }

// Totals implements Store.
func (a *arrowRecords) Totals(column string, each func(value string, rows, sum int64)) error {
	totals := map[string]total{}
	a.chosen(nil, func(rec arrow.Record, from, to int) {
		keys, values := columnOf(rec, column), valuesOf(rec)
		if keys == nil {
			t := totals[""]
			for row := from; row < to; row++ {
				t = total{t.rows + 1, t.sum + values[row]}
			}
			totals[""] = t
			return
		}
		codes := keys.(*array.Dictionary)
		of := make([]total, codes.Dictionary().Len()+1) // the last is for nulls
		for row := from; row < to; row++ {
			i := len(of) - 1
			if codes.IsValid(row) {
				i = codes.GetValueIndex(row)
			}
			of[i] = total{of[i].rows + 1, of[i].sum + values[row]}
		}
		for i, t := range of {
			name := ""
			if i < len(of)-1 {
				name = string(codes.Dictionary().(*array.Binary).Value(i))
			}
			if t.rows > 0 {
				totals[name] = total{totals[name].rows + t.rows, totals[name].sum + t.sum}
			}
		}
	})
	if each != nil {
		for name, t := range totals {
			each(name, t.rows, t.sum)
		}
	}
	return nil
}

// Pick implements Store. Its records share the kept records' memory.
func (a *arrowRecords) Pick(where []Term, columns []string, each func(schema.Batch)) (rows int64, err error) {
	a.chosen(where, func(rec arrow.Record, from, to int) {
		var fields []arrow.Field
		var of []arrow.Array
		for i, field := range rec.Schema().Fields() {
			if columns == nil || slices.Contains(columns, field.Name) {
				fields, of = append(fields, field), append(of, rec.Column(i))
			}
		}
		whole := array.NewRecord(arrow.NewSchema(fields, nil), of, rec.NumRows())
		defer whole.Release()
		part := whole.NewSlice(int64(from), int64(to))
		defer part.Release()
		rows += part.NumRows()
		if each != nil {
			each(batchOf(part))
		}
	})
	return rows, nil
}

// batchOf returns a record's plain values.
func batchOf(rec arrow.Record) schema.Batch {
	b := schema.Batch{Rows: int(rec.NumRows()), Columns: map[string]encoding.Vector{}}
	for i, field := range rec.Schema().Fields() {
		var v encoding.Vector
		for row := range b.Rows {
			v.Valid = append(v.Valid, rec.Column(i).IsValid(row))
		}
		switch column := rec.Column(i).(type) {
		case *array.Dictionary:
			v.Type = encoding.String
			for row := range b.Rows {
				text := ""
				if column.IsValid(row) {
					text = string(column.Dictionary().(*array.Binary).Value(column.GetValueIndex(row)))
				}
				v.Strings = append(v.Strings, text)
			}
		case *array.Int64:
			v.Type, v.Int64s = encoding.Int64, column.Int64Values()
		case *array.FixedSizeBinary:
			v.Type = encoding.UUID
			for row := range b.Rows {
				var id uuid.UUID
				if column.IsValid(row) {
					id = uuid.UUID(column.Value(row))
				}
				v.UUIDs = append(v.UUIDs, id)
			}
		case *array.List:
			v.Type = encoding.UUIDList
			stacks := stacksOf(rec)
			for row := range b.Rows {
				v.UUIDLists = append(v.UUIDLists, IDs(stacks.appendTo(nil, row)))
			}
		}
		b.Columns[field.Name] = v
	}
	return b
}

// IDs returns the location ids in a stack that is one piece.
func IDs(stack []byte) (ids []uuid.UUID) {
	for ; len(stack) > 0; stack = stack[16:] {
		ids = append(ids, uuid.UUID(stack[:16]))
	}
	return ids
}

// Types implements Store.
func (a *arrowRecords) Types() ([]Type, error) {
	types := map[Type]bool{}
	a.chosen(nil, func(rec arrow.Record, from, to int) {
		var columns [len(Type{})]*array.Dictionary
		for i, name := range TypeColumns {
			columns[i], _ = columnOf(rec, name).(*array.Dictionary)
		}
		for row := from; row < to; row++ {
			var kind Type
			for i, column := range columns {
				if column != nil && column.IsValid(row) {
					kind[i] = string(column.Dictionary().(*array.Binary).Value(column.GetValueIndex(row)))
				}
			}
			types[kind] = true
		}
	})
	return slices.Collect(maps.Keys(types)), nil
}

// LabelNames implements Store.
func (a *arrowRecords) LabelNames() ([]string, error) {
	names := map[string]bool{}
	for _, rec := range a.records {
		for _, field := range rec.Schema().Fields() {
			if label, ok := strings.CutPrefix(field.Name, fleet.LabelPrefix); ok {
				names[label] = true
			}
		}
	}
	return slices.Collect(maps.Keys(names)), nil
}

// LabelValues implements Store.
func (a *arrowRecords) LabelValues(label string, where []Term) ([]string, error) {
	values := map[string]bool{}
	a.chosen(where, func(rec arrow.Record, from, to int) {
		column, ok := columnOf(rec, fleet.LabelPrefix+label).(*array.Dictionary)
		if !ok {
			return
		}
		seen := make([]bool, column.Dictionary().Len())
		for row := from; row < to; row++ {
			if column.IsValid(row) {
				seen[column.GetValueIndex(row)] = true
			}
		}
		for i, of := range seen {
			if of {
				values[string(column.Dictionary().(*array.Binary).Value(i))] = true
			}
		}
	})
	return slices.Collect(maps.Keys(values)), nil
}
