package peers

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// Oracle answers by reading every row in every batch, in plain slices and maps. All stores' answers are
// compared with its own, so it does nothing clever. It keeps the batches that it is given.
type Oracle struct{ batches []schema.Batch }

func openOracle() (Store, error) { return &Oracle{}, nil }

// Insert implements Store.
func (o *Oracle) Insert(b schema.Batch) error {
	o.batches = append(o.batches, b)
	return nil
}

// Maintain implements Store.
func (o *Oracle) Maintain() error { return nil }

// Rest implements Store.
func (o *Oracle) Rest() error { return nil }

// Settle implements Store.
func (o *Oracle) Settle() error { return nil }

// Close implements Store.
func (o *Oracle) Close() error { return nil }

// chosen calls f for each row that matches all terms.
func (o *Oracle) chosen(where []Term, f func(b schema.Batch, row int)) {
	for _, b := range o.batches {
		for row := range b.Rows {
			if !slices.ContainsFunc(where, func(t Term) bool { return !t.holds(b, row) }) {
				f(b, row)
			}
		}
	}
}

// holds reports whether a term matches a row. Nothing matches a null.
func (t Term) holds(b schema.Batch, row int) bool {
	v, ok := b.Columns[t.Column]
	if !ok {
		return false
	}
	switch value := Cell(v, row).(type) {
	case string:
		if t.Pattern != nil {
			return t.Pattern.MatchString(value)
		}
		return value == t.Text
	case int64:
		return value == t.Number
	case uuid.UUID:
		return value == t.ID
	}
	return false
}

// Merge implements Store.
func (o *Oracle) Merge(where []Term, each func(stack []byte, sum int64)) error {
	sums := map[string]int64{}
	o.chosen(where, func(b schema.Batch, row int) { addStack(sums, b, row) })
	handStacks(sums, each)
	return nil
}

// Search implements Searcher.
func (o *Oracle) Search(pattern *regexp.Regexp, each func(stack []byte, sum int64)) error {
	matches := map[uuid.UUID]bool{}
	for _, b := range o.batches {
		for id, record := range b.Records {
			if _, ok := matches[id]; !ok {
				function, _, _ := strings.Cut(string(record), "\x00")
				matches[id] = pattern.MatchString(function)
			}
		}
	}
	sums := map[string]int64{}
	o.chosen(nil, func(b schema.Batch, row int) {
		stack := Cell(b.Columns[profile.ColumnStacktrace], row).([]uuid.UUID)
		if slices.ContainsFunc(stack, func(id uuid.UUID) bool { return matches[id] }) {
			addStack(sums, b, row)
		}
	})
	handStacks(sums, each)
	return nil
}

func addStack(sums map[string]int64, b schema.Batch, row int) {
	stack := Cell(b.Columns[profile.ColumnStacktrace], row).([]uuid.UUID)
	sums[string(StackBytes(nil, stack))] += Cell(b.Columns[profile.ColumnValue], row).(int64)
}

func handStacks(sums map[string]int64, each func(stack []byte, sum int64)) {
	if each == nil {
		return
	}
	for stack, sum := range sums {
		each([]byte(stack), sum)
	}
}

// StackBytes appends a stack's location ids.
func StackBytes(dst []byte, stack []uuid.UUID) []byte {
	for i := range stack {
		dst = append(dst, stack[i][:]...)
	}
	return dst
}

// Series implements Store.
func (o *Oracle) Series(where []Term, each func(at, sum int64)) error {
	sums := map[int64]int64{}
	o.chosen(where, func(b schema.Batch, row int) {
		sums[Cell(b.Columns[profile.ColumnTimestamp], row).(int64)] += Cell(b.Columns[profile.ColumnValue], row).(int64)
	})
	if each != nil {
		for at, sum := range sums {
			each(at, sum)
		}
	}
	return nil
}

// Totals implements Store.
func (o *Oracle) Totals(column string, each func(value string, rows, sum int64)) error {
	rows, sums := map[string]int64{}, map[string]int64{}
	o.chosen(nil, func(b schema.Batch, row int) {
		value, _ := Cell(b.Columns[column], row).(string)
		rows[value]++
		sums[value] += Cell(b.Columns[profile.ColumnValue], row).(int64)
	})
	if each != nil {
		for value, sum := range sums {
			each(value, rows[value], sum)
		}
	}
	return nil
}

// Pick implements Store.
func (o *Oracle) Pick(where []Term, columns []string, each func(schema.Batch)) (rows int64, err error) {
	o.chosen(where, func(b schema.Batch, row int) {
		rows++
		if each == nil {
			return
		}
		one := schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{}}
		for name, v := range b.Columns {
			if columns != nil && !slices.Contains(columns, name) {
				continue
			}
			switch value := Cell(v, row).(type) {
			case string:
				one.Columns[name] = encoding.Strings(value)
			case int64:
				one.Columns[name] = encoding.Int64s(value)
			case uuid.UUID:
				one.Columns[name] = encoding.UUIDs(value)
			case []uuid.UUID:
				one.Columns[name] = encoding.UUIDLists(value)
			}
		}
		each(one)
	})
	return rows, nil
}

// LabelNames implements Store.
func (o *Oracle) LabelNames() ([]string, error) {
	names := map[string]bool{}
	for _, b := range o.batches {
		for name := range b.Columns {
			if label, ok := strings.CutPrefix(name, fleet.LabelPrefix); ok {
				names[label] = true
			}
		}
	}
	return slices.Collect(maps.Keys(names)), nil
}

// Types implements Store.
func (o *Oracle) Types() ([]Type, error) {
	types := map[Type]bool{}
	o.chosen(nil, func(b schema.Batch, row int) {
		var kind Type
		for i, column := range TypeColumns {
			kind[i], _ = Cell(b.Columns[column], row).(string)
		}
		types[kind] = true
	})
	return slices.Collect(maps.Keys(types)), nil
}

// LabelValues implements Store.
func (o *Oracle) LabelValues(label string, where []Term) ([]string, error) {
	values := map[string]bool{}
	o.chosen(where, func(b schema.Batch, row int) {
		if value, ok := Cell(b.Columns[fleet.LabelPrefix+label], row).(string); ok {
			values[value] = true
		}
	})
	return slices.Collect(maps.Keys(values)), nil
}
