package iceberg

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/uuid"

	"github.com/granarydb/granary/profile"
)

// columnNames are the names of columns that differ between the table and the answers of nodes. The table has labels in
// maps, a node in a column for each name.
type columnNames struct {
	time, stack            string
	labels, texts, numbers string // of maps, or families of columns
	labelMaps              bool
}

var (
	tableColumns = columnNames{time: columnTimeNanos, stack: columnStack, labels: "labels", texts: columnSampleText, numbers: columnSampleNum, labelMaps: true}
	nodeColumns  = columnNames{time: profile.ColumnTimestamp, stack: profile.ColumnStacktrace, labels: profile.ColumnLabels, texts: profile.ColumnPprofLabels, numbers: profile.ColumnPprofNumLabels}
)

// family reads labels of one family.
type family struct {
	maps   *array.Map    // nil for columns
	names  []string      // of the columns
	values []arrow.Array // the columns
}

// each calls a function for each label of a row. at is the place of its value in values.
func (f *family) each(row int, do func(name string, values arrow.Array, at int)) {
	if f.maps != nil {
		from, to := f.maps.ValueOffsets(row)
		names := f.maps.Keys().(*array.String)
		for i := int(from); i < int(to); i++ {
			do(names.Value(i), f.maps.Items(), i)
		}
		return
	}
	for i, values := range f.values {
		if !values.IsNull(row) {
			do(f.names[i], values, row)
		}
	}
}

// rowReader reads the rows of a record of either tier.
type rowReader struct {
	types                         []*array.String // in the order of typeColumns
	time, duration, period, value func(row int) int64
	trace, span                   arrow.Array // nil if the record has none
	stacks                        *array.List
	functions                     *array.String
	labels, texts, numbers        family
}

// newRowReader returns the reader of a record. The error is ErrRecord.
func newRowReader(rec arrow.RecordBatch, names columnNames) (*rowReader, error) {
	r, c := &rowReader{}, recordColumns{rec: rec}
	for _, name := range typeColumns {
		r.types = append(r.types, column[*array.String](&c, name))
	}
	r.time, r.duration, r.period, r.value = c.numbers(names.time), c.numbers("duration"), c.numbers("period"), c.numbers("value")
	r.trace, r.span = c.find(profile.ColumnTraceID), c.find(profile.ColumnSpanID)
	if r.stacks = column[*array.List](&c, names.stack); r.stacks != nil {
		var ok bool
		if r.functions, ok = r.stacks.ListValues().(*array.String); !ok {
			c.fail(names.stack, r.stacks)
		}
	}
	r.labels, r.texts, r.numbers = c.family(names.labels, names.labelMaps), c.family(names.texts, names.labelMaps), c.family(names.numbers, names.labelMaps)
	return r, c.err
}

// recordColumns finds columns of a record. err is ErrRecord after one that is not there, or of another type.
type recordColumns struct {
	rec arrow.RecordBatch
	err error
}

func (c *recordColumns) fail(name string, a arrow.Array) {
	if c.err != nil {
		return
	}
	if c.err = fmt.Errorf("%w: no column %q", ErrRecord, name); a != nil {
		c.err = fmt.Errorf("%w: column %q is of type %s", ErrRecord, name, a.DataType())
	}
}

// find returns a column, nil if there is none.
func (c *recordColumns) find(name string) arrow.Array {
	at := c.rec.Schema().FieldIndices(name)
	if len(at) == 0 {
		return nil
	}
	return c.rec.Column(at[0])
}

// column returns a column of a type.
func column[A arrow.Array](c *recordColumns, name string) (a A) {
	found := c.find(name)
	a, ok := found.(A)
	if !ok {
		c.fail(name, found)
	}
	return a
}

// numbers returns a function that returns the numbers of a column, or the nanoseconds of times.
func (c *recordColumns) numbers(name string) func(row int) int64 {
	switch a := c.find(name).(type) {
	case *array.Int64:
		return a.Value
	case *array.Timestamp:
		if a.DataType().(*arrow.TimestampType).Unit == arrow.Nanosecond {
			return func(row int) int64 { return int64(a.Value(row)) }
		}
		c.fail(name, a)
	default:
		c.fail(name, a)
	}
	return nil
}

// family returns the labels of a map, or of the columns that begin with a name.
func (c *recordColumns) family(name string, isMap bool) (f family) {
	if isMap {
		if f.maps = column[*array.Map](c, name); f.maps != nil {
			if _, ok := f.maps.Keys().(*array.String); !ok {
				c.fail(name, f.maps)
			}
		}
		return f
	}
	for i, field := range c.rec.Schema().Fields() {
		if label, ok := strings.CutPrefix(field.Name, name+"."); ok {
			f.names, f.values = append(f.names, label), append(f.values, c.rec.Column(i))
		}
	}
	return f
}

// chosen reports whether options choose a row.
func (r *rowReader) chosen(row int, opts *LoadOptions) bool {
	if at := r.time(row); at < opts.From || at >= opts.To {
		return false
	}
	found := 0
	if len(opts.Labels) > 0 {
		r.labels.each(row, func(name string, values arrow.Array, at int) {
			if want, asked := opts.Labels[name]; asked && text(values, at) == want {
				found++
			}
		})
	}
	return found == len(opts.Labels)
}

// typeOf returns the type of a row. Its texts are those of the record.
func (r *rowReader) typeOf(row int) profile.Type {
	return profile.Type{
		Sample: r.types[0].Value(row), SampleUnit: r.types[1].Value(row), Period: r.types[2].Value(row), PeriodUnit: r.types[3].Value(row),
	}
}

// traceOf returns the trace id of a row.
func (r *rowReader) traceOf(row int) (id uuid.UUID, ok bool) {
	if r.trace == nil || r.trace.IsNull(row) {
		return id, false
	}
	switch a := r.trace.(type) {
	case *array.Binary:
		return id, copy(id[:], a.Value(row)) == len(id)
	case *array.FixedSizeBinary:
		return id, copy(id[:], a.Value(row)) == len(id)
	}
	return id, false
}

// spanOf returns the span id of a row.
func (r *rowReader) spanOf(row int) (id uint64, ok bool) {
	if r.span == nil || r.span.IsNull(row) {
		return 0, false
	}
	switch a := r.span.(type) {
	case *array.Int64:
		return uint64(a.Value(row)), true
	case *array.Uint64:
		return a.Value(row), true
	}
	return 0, false
}

// text returns a text of an array, "" if it has none.
func text(a arrow.Array, at int) string {
	if s, ok := a.(*array.String); ok && !a.IsNull(at) {
		return s.Value(at)
	}
	return ""
}
