package iceberg

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	codec "github.com/granarydb/granary/profile/pprof"
	"github.com/granarydb/granary/schema"
)

// loadedLocation is a location in a store.
type loadedLocation struct {
	id     uuid.UUID
	record []byte
}

// location returns a location with only a function.
func (in *loading) location(name string) (loadedLocation, error) {
	if l, known := in.locations[name]; known {
		return l, nil
	}
	name = strings.Clone(name) // because it belongs to the record
	l, err := encoded(&codec.LocationRecord{Lines: []codec.RecordLine{{Function: name}}})
	if err != nil {
		return l, fmt.Errorf("function %.100q: %w", name, err)
	}
	in.locations[name] = l
	return l, nil
}

// encoded returns a location as a store keeps it. The error is ErrRecord.
func encoded(at *codec.LocationRecord) (loadedLocation, error) {
	record, id, err := codec.EncodeLocation(at)
	if err != nil {
		return loadedLocation{}, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return loadedLocation{id, record}, nil
}

// loadedBatch makes a batch from a record's rows, whose texts it shares.
type loadedBatch struct {
	in       *loading
	batch    schema.Batch
	fixed    [4]encoding.Vector // typeColumns
	time     encoding.Vector
	measures [len(measures)]encoding.Vector
	stacks   encoding.Vector
	dynamic  map[string]*encoding.Vector // traces, spans and labels, by column; rows behind their end are null

	names map[[2]string]string // column names, by family and label
	twice string               // a column that a row has twice

	key, last []byte        // labels of the current row, and of the previous row
	typ       *profile.Type // the previous row's; nil for the first row
}

func newLoadedBatch(in *loading) *loadedBatch {
	return &loadedBatch{
		in: in, batch: schema.Batch{Records: map[uuid.UUID][]byte{}}, dynamic: map[string]*encoding.Vector{}, names: map[[2]string]string{},
		stacks: encoding.Vector{Type: encoding.UUIDList, Offsets: []int32{0}},
	}
}

// add adds a row.
func (b *loadedBatch) add(r *rowReader, row int) error {
	for i, a := range r.types {
		b.fixed[i].Strings = append(b.fixed[i].Strings, a.Value(row))
	}
	b.time.Int64s = append(b.time.Int64s, r.time(row))
	for i, number := range r.measures {
		b.measures[i].Int64s = append(b.measures[i].Int64s, number(row))
	}
	if err := b.stack(r, row); err != nil {
		return err
	}
	if id, ok := r.traceOf(row); ok {
		v := b.at(profile.ColumnTraceID, encoding.UUID)
		v.UUIDs, v.Valid = append(v.UUIDs, id), append(v.Valid, true)
	}
	if id, ok := r.spanOf(row); ok {
		v := b.at(profile.ColumnSpanID, encoding.Uint64)
		v.Uint64s, v.Valid = append(v.Uint64s, id), append(v.Valid, true)
	}
	b.key = b.key[:0]
	r.labels.each(row, func(name string, values arrow.Array, at int) {
		value := values.(*array.String).Value(at)
		b.text(profile.ColumnLabels, name, value)
		b.key = append(append(append(append(b.key, name...), 0), value...), 0)
	})
	r.texts.each(row, func(name string, values arrow.Array, at int) {
		b.text(profile.ColumnPprofLabels, name, values.(*array.String).Value(at))
	})
	r.numbers.each(row, func(name string, values arrow.Array, at int) {
		v := b.at(b.name(profile.ColumnPprofNumLabels, name), encoding.Int64)
		v.Int64s, v.Valid = append(v.Int64s, values.(*array.Int64).Value(at)), append(v.Valid, true)
	})
	b.sawType(r.typeOf(row))
	b.batch.Rows++
	if b.twice != "" {
		return fmt.Errorf("%w: a row has %q twice", ErrRecord, b.twice)
	}
	return nil
}

// stack adds a row's stack: with its symbols if they are known, else the names of its functions.
func (b *loadedBatch) stack(r *rowReader, row int) error {
	if places, known := b.in.located(r, row); known {
		for _, at := range places {
			b.place(b.in.places[at].loadedLocation)
		}
	} else {
		from, to := r.stacks.ValueOffsets(row)
		for i := from; i < to; i++ {
			l, err := b.in.location(r.functions.Value(int(i)))
			if err != nil {
				return err
			}
			b.place(l)
		}
	}
	b.stacks.Offsets = append(b.stacks.Offsets, int32(len(b.stacks.UUIDs)))
	return nil
}

// place adds a location to the current stack.
func (b *loadedBatch) place(l loadedLocation) {
	b.batch.Records[l.id] = l.record
	b.stacks.UUIDs = append(b.stacks.UUIDs, l.id)
}

// text adds a label's text to the current row.
func (b *loadedBatch) text(family, name, value string) {
	v := b.at(b.name(family, name), encoding.String)
	v.Strings, v.Valid = append(v.Strings, value), append(v.Valid, true)
}

// name returns a label's column.
func (b *loadedBatch) name(family, label string) string {
	key := [2]string{family, label}
	if b.names[key] == "" {
		b.names[key] = family + "." + label
	}
	return b.names[key]
}

// at returns a column whose rows end before the current row.
func (b *loadedBatch) at(name string, typ encoding.Type) *encoding.Vector {
	v := b.dynamic[name]
	if v == nil {
		v = &encoding.Vector{Type: typ}
		b.dynamic[name] = v
	}
	if len(v.Valid) > b.batch.Rows {
		b.twice = name
		return &encoding.Vector{Type: typ}
	}
	pad(v, b.batch.Rows)
	return v
}

// pad makes a column's missing rows null, up to `rows` rows.
func pad(v *encoding.Vector, rows int) {
	more := rows - len(v.Valid)
	v.Valid = append(v.Valid, make([]bool, more)...)
	switch v.Type {
	case encoding.String:
		v.Strings = append(v.Strings, make([]string, more)...)
	case encoding.Int64:
		v.Int64s = append(v.Int64s, make([]int64, more)...)
	case encoding.Uint64:
		v.Uint64s = append(v.Uint64s, make([]uint64, more)...)
	case encoding.UUID:
		v.UUIDs = append(v.UUIDs, make([]uuid.UUID, more)...)
	}
}

// sawType notes a row's type for its labels.
func (b *loadedBatch) sawType(t profile.Type) {
	if b.typ != nil && t == *b.typ && bytes.Equal(b.key, b.last) {
		return
	}
	b.typ, b.last = &t, append(b.last[:0], b.key...)
	set := profileSet{string(b.key), t.Period, t.PeriodUnit}
	if slices.Contains(b.in.types[set], t) {
		return
	}
	t = profile.Type{Sample: strings.Clone(t.Sample), SampleUnit: strings.Clone(t.SampleUnit), Period: strings.Clone(t.Period), PeriodUnit: strings.Clone(t.PeriodUnit)}
	set.period, set.unit = t.Period, t.PeriodUnit
	b.in.types[set] = append(b.in.types[set], t)
}

// finish returns the batch.
func (b *loadedBatch) finish() schema.Batch {
	b.batch.Columns = map[string]encoding.Vector{profile.ColumnStacktrace: b.stacks}
	for i, name := range typeColumns {
		b.fixed[i].Type = encoding.String
		b.batch.Columns[name] = b.fixed[i]
	}
	b.time.Type = encoding.Int64
	b.batch.Columns[profile.ColumnTimestamp] = b.time
	for i, name := range measures {
		b.measures[i].Type = encoding.Int64
		b.batch.Columns[name] = b.measures[i]
	}
	for name, v := range b.dynamic {
		pad(v, b.batch.Rows)
		b.batch.Columns[name] = *v
	}
	return b.batch
}
