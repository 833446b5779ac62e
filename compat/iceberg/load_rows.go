package iceberg

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/uuid"

	"github.com/granarydb/granary/profile"
)

// columnNames are the column names that differ between the table and nodes' answers. The table has labels
// in maps, a node in a column for each name.
type columnNames struct {
	time, stack            string
	labels, texts, numbers string // maps, or families of columns
	labelMaps              bool
}

var (
	tableColumns = columnNames{time: columnTimeNanos, stack: columnStack, labels: "labels", texts: columnSampleText, numbers: columnSampleNum, labelMaps: true}
	nodeColumns  = columnNames{time: profile.ColumnTimestamp, stack: profile.ColumnStacktrace, labels: profile.ColumnLabels, texts: profile.ColumnPprofLabels, numbers: profile.ColumnPprofNumLabels}
)

// family reads the labels in one family. All values have one type.
type family struct {
	maps   *array.Map    // nil for columns
	names  []string      // of the columns
	values []arrow.Array // the columns
}

// each calls do for each label of a row. at is the place of its value in values.
func (f *family) each(row int, do func(name string, values arrow.Array, at int)) {
	if f.maps != nil {
		from, to := f.maps.ValueOffsets(row)
		names, values := f.maps.Keys().(*array.String), f.maps.Items()
		for i := int(from); i < int(to); i++ {
			if !values.IsNull(i) {
				do(names.Value(i), values, i)
			}
		}
		return
	}
	for i, values := range f.values {
		if !values.IsNull(row) {
			do(f.names[i], values, row)
		}
	}
}

// rowReader reads a record's rows from either tier.
type rowReader struct {
	types                  []*array.String     // in the order of typeColumns
	stackID                func(row int) int64 // nil if the record has no such column
	time                   func(row int) int64
	measures               [len(measures)]func(row int) int64
	trace, span            arrow.Array // nil if the record has no such column
	stacks                 *array.List
	functions              *array.String
	labels, texts, numbers family
}

// newRowReader returns a record's reader. The error is ErrRecord.
func newRowReader(rec arrow.RecordBatch, names columnNames) (*rowReader, error) {
	r, c := &rowReader{}, recordColumns{rec: rec}
	for _, name := range typeColumns {
		r.types = append(r.types, column[*array.String](&c, name))
	}
	r.time = c.numbers(names.time)
	for i, name := range measures {
		r.measures[i] = c.numbers(name)
	}
	r.trace, r.span = c.optional(profile.ColumnTraceID, isTrace), c.optional(profile.ColumnSpanID, isSpan)
	if r.stacks = column[*array.List](&c, names.stack); r.stacks != nil {
		var ok bool
		if r.functions, ok = r.stacks.ListValues().(*array.String); !ok || r.functions.NullN() > 0 {
			c.fail(names.stack, r.stacks)
		}
	}
	if c.find(columnStackID) != nil {
		r.stackID = c.numbers(columnStackID)
	}
	r.labels = c.family(names.labels, names.labelMaps, isText)
	r.texts = c.family(names.texts, names.labelMaps, isText)
	r.numbers = c.family(names.numbers, names.labelMaps, isNumber)
	return r, c.err
}

// recordColumns finds a record's columns. err is ErrRecord after a column that is missing, or has another
// type.
type recordColumns struct {
	rec arrow.RecordBatch
	err error
}

func (c *recordColumns) fail(name string, a arrow.Array) {
	if c.err != nil {
		return
	}
	if c.err = fmt.Errorf("%w: no column %q", ErrRecord, name); a != nil {
		c.err = fmt.Errorf("%w: column %q is of type %s, with %d nulls", ErrRecord, name, a.DataType(), a.NullN())
	}
}

// Conditions on columns.
func isText(a arrow.Array) bool   { _, ok := a.(*array.String); return ok }
func isNumber(a arrow.Array) bool { _, ok := a.(*array.Int64); return ok }

func isTrace(a arrow.Array) bool {
	fixed, ok := a.DataType().(*arrow.FixedSizeBinaryType)
	return ok && fixed.ByteWidth == len(uuid.UUID{}) || a.DataType().ID() == arrow.BINARY
}

func isSpan(a arrow.Array) bool {
	return a.DataType().ID() == arrow.INT64 || a.DataType().ID() == arrow.UINT64
}

// find returns a column, nil if there is none.
func (c *recordColumns) find(name string) arrow.Array {
	at := c.rec.Schema().FieldIndices(name)
	if len(at) == 0 {
		return nil
	}
	return c.rec.Column(at[0])
}

// column returns a column with type A, without nulls.
func column[A arrow.Array](c *recordColumns, name string) (a A) {
	found := c.find(name)
	a, ok := found.(A)
	if !ok || found.NullN() > 0 {
		c.fail(name, found)
	}
	return a
}

// optional returns a column that must satisfy is, nil if there is none.
func (c *recordColumns) optional(name string, is func(a arrow.Array) bool) arrow.Array {
	found := c.find(name)
	if found != nil && !is(found) {
		c.fail(name, found)
	}
	return found
}

// numbers returns a function that returns a column's numbers, or the nanoseconds of its times. It has no
// nulls.
func (c *recordColumns) numbers(name string) func(row int) int64 {
	found := c.find(name)
	if found != nil && found.NullN() == 0 {
		switch a := found.(type) {
		case *array.Int64:
			return a.Value
		case *array.Timestamp:
			if a.DataType().(*arrow.TimestampType).Unit == arrow.Nanosecond {
				return func(row int) int64 { return int64(a.Value(row)) }
			}
		}
	}
	c.fail(name, found)
	return nil
}

// texts returns a function that returns the texts in a column that rows can lack.
func (c *recordColumns) texts(name string) func(row int) (text string, has bool) {
	a, ok := c.find(name).(*array.String)
	if !ok {
		c.fail(name, c.find(name))
		return nil
	}
	return func(row int) (string, bool) {
		if a.IsNull(row) {
			return "", false
		}
		return a.Value(row), true
	}
}

// family returns the labels in a map, or in the columns whose names begin with name. The values must
// satisfy is.
func (c *recordColumns) family(name string, isMap bool, is func(a arrow.Array) bool) (f family) {
	if isMap {
		if f.maps = column[*array.Map](c, name); f.maps != nil && (!isText(f.maps.Keys()) || !is(f.maps.Items())) {
			c.fail(name, f.maps)
		}
		return f
	}
	for i, field := range c.rec.Schema().Fields() {
		if label, ok := strings.CutPrefix(field.Name, name+"."); ok {
			if !is(c.rec.Column(i)) {
				c.fail(field.Name, c.rec.Column(i))
			}
			f.names, f.values = append(f.names, label), append(f.values, c.rec.Column(i))
		}
	}
	return f
}

// chosen reports whether opts choose a row.
func (r *rowReader) chosen(row int, opts *LoadOptions) bool {
	if at := r.time(row); at < opts.From || at >= opts.To {
		return false
	}
	found := 0
	if len(opts.Labels) > 0 {
		r.labels.each(row, func(name string, values arrow.Array, at int) {
			if want, asked := opts.Labels[name]; asked && values.(*array.String).Value(at) == want {
				found++
			}
		})
	}
	return found == len(opts.Labels)
}

// typeOf returns a row's type. Its texts belong to the record.
func (r *rowReader) typeOf(row int) profile.Type {
	return profile.Type{
		Sample: r.types[0].Value(row), SampleUnit: r.types[1].Value(row), Period: r.types[2].Value(row), PeriodUnit: r.types[3].Value(row),
	}
}

// traceOf returns a row's trace id. ok is false if it has none.
func (r *rowReader) traceOf(row int) (id uuid.UUID, ok bool) {
	if r.trace == nil || r.trace.IsNull(row) {
		return id, false
	}
	var value []byte
	switch a := r.trace.(type) {
	case *array.Binary:
		value = a.Value(row)
	case *array.FixedSizeBinary:
		value = a.Value(row)
	}
	return id, len(value) == len(id) && copy(id[:], value) > 0
}

// spanOf returns a row's span id. ok is false if it has none.
func (r *rowReader) spanOf(row int) (id uint64, ok bool) {
	if r.span == nil || r.span.IsNull(row) {
		return 0, false
	}
	if a, isSigned := r.span.(*array.Int64); isSigned {
		return uint64(a.Value(row)), true
	}
	return r.span.(*array.Uint64).Value(row), true
}
