package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// oracle answers by looking at every row of every batch, in plain slices and maps. It
// is what other peers' answers are held to, so it does nothing clever. Batches are
// kept as they came.
type oracle struct{ batches []schema.Batch }

func openOracle() (peer, error) { return &oracle{}, nil }

func (o *oracle) insert(b schema.Batch) error {
	o.batches = append(o.batches, b)
	return nil
}

func (o *oracle) maintain() error { return nil }
func (o *oracle) rest() error     { return nil }
func (o *oracle) settle() error   { return nil }
func (o *oracle) close() error    { return nil }

// chosen calls f for each row for which all terms hold.
func (o *oracle) chosen(where []term, f func(b schema.Batch, row int)) {
	for _, b := range o.batches {
		for row := range b.Rows {
			if !slices.ContainsFunc(where, func(t term) bool { return !t.holds(b, row) }) {
				f(b, row)
			}
		}
	}
}

// holds says whether a term holds for a row. A null is no value: nothing matches it.
func (t term) holds(b schema.Batch, row int) bool {
	v, ok := b.Columns[t.column]
	if !ok {
		return false
	}
	switch value := cell(v, row).(type) {
	case string:
		if t.pattern != nil {
			return t.pattern.MatchString(value)
		}
		return value == t.text
	case int64:
		return value == t.number
	case uuid.UUID:
		return value == t.id
	}
	return false
}

func (o *oracle) merge(where []term, each func(stack []byte, sum int64)) error {
	sums := map[string]int64{}
	o.chosen(where, func(b schema.Batch, row int) { addStack(sums, b, row) })
	handStacks(sums, each)
	return nil
}

func (o *oracle) search(pattern *regexp.Regexp, each func(stack []byte, sum int64)) error {
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
		stack := cell(b.Columns[profile.ColumnStacktrace], row).([]uuid.UUID)
		if slices.ContainsFunc(stack, func(id uuid.UUID) bool { return matches[id] }) {
			addStack(sums, b, row)
		}
	})
	handStacks(sums, each)
	return nil
}

func addStack(sums map[string]int64, b schema.Batch, row int) {
	stack := cell(b.Columns[profile.ColumnStacktrace], row).([]uuid.UUID)
	sums[string(stackBytes(nil, stack))] += cell(b.Columns[profile.ColumnValue], row).(int64)
}

func handStacks(sums map[string]int64, each func(stack []byte, sum int64)) {
	if each == nil {
		return
	}
	for stack, sum := range sums {
		each([]byte(stack), sum)
	}
}

// stackBytes appends the ids of a stack's locations.
func stackBytes(dst []byte, stack []uuid.UUID) []byte {
	for i := range stack {
		dst = append(dst, stack[i][:]...)
	}
	return dst
}

func (o *oracle) series(where []term, each func(at, sum int64)) error {
	sums := map[int64]int64{}
	o.chosen(where, func(b schema.Batch, row int) {
		sums[cell(b.Columns[profile.ColumnTimestamp], row).(int64)] += cell(b.Columns[profile.ColumnValue], row).(int64)
	})
	if each != nil {
		for at, sum := range sums {
			each(at, sum)
		}
	}
	return nil
}

func (o *oracle) totals(column string, each func(value string, rows, sum int64)) error {
	rows, sums := map[string]int64{}, map[string]int64{}
	o.chosen(nil, func(b schema.Batch, row int) {
		value, _ := cell(b.Columns[column], row).(string)
		rows[value]++
		sums[value] += cell(b.Columns[profile.ColumnValue], row).(int64)
	})
	if each != nil {
		for value, sum := range sums {
			each(value, rows[value], sum)
		}
	}
	return nil
}

func (o *oracle) pick(where []term, columns []string, each func(schema.Batch)) (rows int64, err error) {
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
			switch value := cell(v, row).(type) {
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

func (o *oracle) labelNames() ([]string, error) {
	names := map[string]bool{}
	for _, b := range o.batches {
		for name := range b.Columns {
			if label, ok := strings.CutPrefix(name, labelPrefix); ok {
				names[label] = true
			}
		}
	}
	return slices.Collect(maps.Keys(names)), nil
}

func (o *oracle) types() ([]profileType, error) {
	types := map[profileType]bool{}
	o.chosen(nil, func(b schema.Batch, row int) {
		var kind profileType
		for i, column := range typeColumns {
			kind[i], _ = cell(b.Columns[column], row).(string)
		}
		types[kind] = true
	})
	return slices.Collect(maps.Keys(types)), nil
}

func (o *oracle) labelValues(label string, where []term) ([]string, error) {
	values := map[string]bool{}
	o.chosen(where, func(b schema.Batch, row int) {
		if value, ok := cell(b.Columns[labelPrefix+label], row).(string); ok {
			values[value] = true
		}
	})
	return slices.Collect(maps.Keys(values)), nil
}
