package iceberg

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/google/uuid"

	"github.com/granarydb/granary/profile"
)

// group is the rows in one row group as codes, some 70 bytes a row.
type group struct {
	times                   []int64
	measures                [len(measures)][]int64
	series, samples, stacks []uint32 // codes of the sets below
	traces                  []uint32 // 0 is null, else the index in traceIDs plus 1
	spans                   []int64
	hasSpan                 []bool

	seriesSets, sampleSets labelSets
	stackSet               stacks
	traceCodes             map[uuid.UUID]uint32
	traceIDs               []uuid.UUID
}

func newGroup() *group {
	g := &group{}
	g.reset()
	return g
}

func (g *group) rows() int { return len(g.times) }

// reset empties the group and keeps its memory.
func (g *group) reset() {
	g.times = g.times[:0]
	for i := range g.measures {
		g.measures[i] = g.measures[i][:0]
	}
	g.series, g.samples, g.stacks = g.series[:0], g.samples[:0], g.stacks[:0]
	g.traces, g.spans, g.hasSpan = g.traces[:0], g.spans[:0], g.hasSpan[:0]
	g.seriesSets.reset()
	g.sampleSets.reset()
	g.stackSet.reset()
	g.traceCodes, g.traceIDs = map[uuid.UUID]uint32{}, g.traceIDs[:0]
}

// typeColumns are the columns that lead a series.
var typeColumns = []string{profile.ColumnSampleType, profile.ColumnSampleUnit, profile.ColumnPeriodType, profile.ColumnPeriodUnit}

// reader appends records' rows to a group. All records have one schema.
type reader struct {
	texts     *texts
	locations *locations
	series    []textColumn // the types, then labels
	samples   []textColumn
	numbers   []numberColumn
	index     map[string]int // index of the other columns
	lists     []uint32       // stack codes by entry in a record's dictionary
}

func newReader(schema *arrow.Schema, t *texts, l *locations) (*reader, error) {
	r := &reader{texts: t, locations: l, index: map[string]int{}}
	for _, name := range typeColumns {
		at := schema.FieldIndices(name)
		if len(at) != 1 {
			return nil, fmt.Errorf("%w: no column %q", ErrRecord, name)
		}
		r.series = append(r.series, textColumn{index: at[0], label: t.code(name)})
	}
	for i, f := range schema.Fields() {
		family, name, dynamic := strings.Cut(f.Name, ".")
		switch {
		case dynamic && family == profile.ColumnLabels:
			r.series = append(r.series, textColumn{index: i, label: t.code(name)})
		case dynamic && family == profile.ColumnPprofLabels:
			r.samples = append(r.samples, textColumn{index: i, label: t.code(name)})
		case dynamic && family == profile.ColumnPprofNumLabels:
			r.numbers = append(r.numbers, numberColumn{index: i, label: t.code(name)})
		default:
			r.index[f.Name] = i
		}
	}
	for _, name := range fixedColumns {
		if _, ok := r.index[name]; !ok {
			return nil, fmt.Errorf("%w: no column %q", ErrRecord, name)
		}
	}
	return r, nil
}

// fixedColumns are the columns that belong neither to a series nor to a sample's labels.
var fixedColumns = append([]string{profile.ColumnStacktrace, profile.ColumnTimestamp, profile.ColumnTraceID, profile.ColumnSpanID}, measures[:]...)

// scanColumns are the columns that the reader scans.
func scanColumns() []string {
	return slices.Concat(typeColumns, []string{profile.ColumnLabels, profile.ColumnPprofLabels, profile.ColumnPprofNumLabels}, fixedColumns)
}

// read appends a record's rows. After an error the group is unusable.
func (r *reader) read(g *group, rec arrow.Record) error {
	if len(r.locations.all) > mostLocations {
		return fmt.Errorf("%w: more than %d locations", ErrRecord, mostLocations)
	}
	if err := r.numbersOf(rec, profile.ColumnTimestamp, &g.times); err != nil {
		return err
	}
	for i, name := range measures {
		if err := r.numbersOf(rec, name, &g.measures[i]); err != nil {
			return err
		}
	}
	if err := r.labels(g, rec); err != nil {
		return err
	}
	if err := r.stacks(g, rec); err != nil {
		return err
	}
	if err := r.traces(g, rec); err != nil {
		return err
	}
	return r.spans(g, rec)
}

// numbersOf appends a column of numbers that every row has.
func (r *reader) numbersOf(rec arrow.Record, name string, to *[]int64) error {
	c := numberColumn{index: r.index[name]}
	if err := c.load(rec); err != nil {
		return err
	}
	n := int(rec.NumRows())
	if c.values.NullN() > 0 {
		return fmt.Errorf("%w: null in column %q", ErrRecord, name)
	}
	if c.ends == nil {
		*to = append(*to, c.values.Int64Values()...)
		return nil
	}
	for row := 0; row < n; {
		end := min(c.seek(row), n)
		v, _ := c.now()
		for ; row < end; row++ {
			*to = append(*to, v)
		}
	}
	return nil
}

// labels appends the codes of series and of sample labels, a run at a time.
func (r *reader) labels(g *group, rec arrow.Record) error {
	for _, columns := range [][]textColumn{r.series, r.samples} {
		for i := range columns {
			if err := columns[i].load(rec, r.texts); err != nil {
				return err
			}
		}
	}
	for i := range r.numbers {
		if err := r.numbers[i].load(rec); err != nil {
			return err
		}
	}
	n := int(rec.NumRows())
	g.series = codesOf(g.series, &g.seriesSets, r.series, nil, n)
	g.samples = codesOf(g.samples, &g.sampleSets, r.samples, r.numbers, n)
	return nil
}

// codesOf appends the set codes of n rows.
func codesOf(dst []uint32, sets *labelSets, columns []textColumn, numbers []numberColumn, n int) []uint32 {
	for row := 0; row < n; {
		end := n
		for i := range columns {
			end = min(end, columns[i].seek(row))
		}
		for i := range numbers {
			end = min(end, numbers[i].seek(row))
		}
		code := sets.code(columns, numbers)
		for ; row < end; row++ {
			dst = append(dst, code)
		}
	}
	return dst
}

// stacks appends stack codes. Each entry in the record's dictionary is looked up once.
func (r *reader) stacks(g *group, rec arrow.Record) error {
	index := r.index[profile.ColumnStacktrace]
	coded, ok := rec.Column(index).(*array.Dictionary)
	if !ok || coded.NullN() > 0 {
		return fmt.Errorf("%w: stacks of type %s, or null", ErrRecord, rec.Column(index).DataType())
	}
	lists, ok := coded.Dictionary().(*array.List)
	if !ok {
		return fmt.Errorf("%w: stacks of type %s", ErrRecord, coded.DataType())
	}
	tokens, ok := lists.ListValues().(*array.String)
	if !ok {
		return fmt.Errorf("%w: stacks of type %s", ErrRecord, coded.DataType())
	}
	bytes, first := tokens.ValueBytes(), 0
	if tokens.Len() > 0 {
		first = tokens.ValueOffset(0)
	}
	r.lists = r.lists[:0]
	for i := range lists.Len() {
		from, to := lists.ValueOffsets(i)
		var list []byte
		if from < to {
			list = bytes[tokens.ValueOffset(int(from))-first : tokens.ValueOffset(int(to)-1)-first+tokenBytes]
		}
		r.lists = append(r.lists, g.stackSet.code(list, r.locations))
	}
	for i := range coded.Len() {
		g.stacks = append(g.stacks, r.lists[coded.GetValueIndex(i)])
	}
	return nil
}

func (r *reader) traces(g *group, rec arrow.Record) error {
	column := rec.Column(r.index[profile.ColumnTraceID])
	code := func(id []byte) uint32 {
		c, ok := g.traceCodes[uuid.UUID(id)]
		if !ok {
			g.traceIDs = append(g.traceIDs, uuid.UUID(id))
			c = uint32(len(g.traceIDs))
			g.traceCodes[uuid.UUID(id)] = c
		}
		return c
	}
	var value func(row int) []byte
	switch a := column.(type) {
	case *array.FixedSizeBinary:
		value = a.Value
	case *array.Dictionary:
		ids, ok := a.Dictionary().(*array.FixedSizeBinary)
		if !ok {
			return fmt.Errorf("%w: trace ids of type %s", ErrRecord, column.DataType())
		}
		value = func(i int) []byte { return ids.Value(a.GetValueIndex(i)) }
	default:
		return fmt.Errorf("%w: trace ids of type %s", ErrRecord, column.DataType())
	}
	for i := range column.Len() {
		if column.IsNull(i) {
			g.traces = append(g.traces, 0)
			continue
		}
		g.traces = append(g.traces, code(value(i)))
	}
	return nil
}

func (r *reader) spans(g *group, rec arrow.Record) error {
	column, ok := rec.Column(r.index[profile.ColumnSpanID]).(*array.Uint64)
	if !ok {
		return fmt.Errorf("%w: span ids of type %s", ErrRecord, rec.Column(r.index[profile.ColumnSpanID]).DataType())
	}
	for i := range column.Len() {
		has := column.IsValid(i)
		g.hasSpan = append(g.hasSpan, has)
		if has {
			g.spans = append(g.spans, int64(column.Value(i)))
		} else {
			g.spans = append(g.spans, 0)
		}
	}
	return nil
}
