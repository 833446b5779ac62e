package arrowconv

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// ErrRecord reports a record that is malformed or does not fit a schema. The wrapping error names the column
// and the cause. If the cause is a limit of package schema, or the limit on a record's memory, it also wraps
// schema.ErrLimit.
var ErrRecord = errors.New("invalid record")

// Limits on the memory that a record takes beyond its own bytes.
const (
	// maxSpread bounds the memory of the rows beyond the number of runs, in all run-end encoded columns in
	// a record, because the ends of two runs can claim any number of rows.
	maxSpread = 512 << 20
	// maxShared bounds the bytes of strings and lists that rows share in dictionaries and runs, counted
	// for each row, because the consumer of the batch reads them row by row, and copies lists that are
	// new to a table. It has room for half a million stacks of 60 locations, or 20,000 of the deepest.
	maxShared = schema.MaxExpanded
)

// Batch copies a record into a batch for a table with the given schema. Columns may come in any order,
// and may be missing. A column fits if it has
//
//	Int64     int8 to int64, uint8 to uint32, timestamp in nanoseconds
//	Uint64    uint8 to uint64
//	Float64   float32, float64
//	Bool      bool
//	String    utf8, large_utf8, binary or large_binary (of valid UTF-8)
//	UUID      fixed_size_binary[16], binary or large_binary (of 16 bytes each)
//	UUIDList  list or large_list of UUIDs, none of them null; their field has any name
//
// Strings, UUIDs, lists and the elements of lists can also be dictionaries with any integer type as
// index. All columns can be run-end encoded, with int16, int32 or int64 as run ends, but not inside a
// dictionary, a list or other runs.
//
// The whole record is checked first, whatever its origin (A3), and the batch keeps nothing of it (A4). Errors
// wrap ErrRecord. Nulls and missing columns are accepted here, because schema.Check decides which rows a
// table takes. Rows with the same dictionary entry or run share its string or list. A column becomes a vector
// of length 1 if it is run-end encoded with a single run, or if it has numbers or a dictionary and all rows
// have the same value, or null.
//
// It costs about 1 to 50 ns per row and column, least for bools and most for lists (go test -bench Batch).
// All runs of a run-end encoded column are checked, even in a slice.
func Batch(s *schema.Schema, rec arrow.Record) (schema.Batch, error) {
	return new(Importer).Batch(s, rec)
}

// Importer reuses memory for the batches of records, because most bytes of a record of profiles are id lists,
// which are not needed after an insert. The zero value is ready. It is not safe for concurrent use.
type Importer struct {
	columns map[string]encoding.Vector
	lists   [][]uuid.UUID
	ids     []uuid.UUID // ids of the lists
	ends    []int       // ends of the lists of one column
	inputs  []recordColumn
}

// mostReused bounds the ids and lists whose memory an Importer keeps: 1 MB, the stacks of 2,000 samples.
const mostReused = 1 << 16

// mostColumns bounds the columns for which an Importer keeps a map.
const mostColumns = 256

// Batch is the function Batch with memory of m. The batch is valid until the next call.
func (m *Importer) Batch(s *schema.Schema, rec arrow.Record) (schema.Batch, error) {
	rows, fields, err := checkShape(rec)
	if err != nil {
		return schema.Batch{}, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	m.reuse(len(fields))
	batch := schema.Batch{Rows: rows, Columns: m.columns}
	in := reader{schema: s, rows: rows, memory: m}
	inputs := slices.Grow(m.inputs[:0], len(fields))[:len(fields)]
	m.inputs = inputs
	defer clear(inputs) // inputs refer to the record
	for i, f := range fields {
		if len(f.Name) > schema.MaxName {
			return schema.Batch{}, fmt.Errorf("%w: column %d: %w: name of %d bytes, at most %d",
				ErrRecord, i, schema.ErrLimit, len(f.Name), schema.MaxName)
		}
		if _, twice := batch.Columns[f.Name]; twice {
			return schema.Batch{}, fmt.Errorf("%w: column %q is there twice", ErrRecord, f.Name)
		}
		if inputs[i], err = in.open(f.Name, rec.Column(i)); err != nil {
			return schema.Batch{}, fmt.Errorf("%w: column %q: %w", ErrRecord, f.Name, err)
		}
		batch.Columns[inputs[i].name] = encoding.Vector{}
	}
	for i := range inputs {
		v, err := in.read(&inputs[i])
		if err != nil {
			return schema.Batch{}, fmt.Errorf("%w: column %q: %w", ErrRecord, inputs[i].name, err)
		}
		batch.Columns[inputs[i].name] = v
	}
	return batch, nil
}

// reuse prepares the memory for a record with `columns` columns.
func (m *Importer) reuse(columns int) {
	if cap(m.ids)+cap(m.lists)+cap(m.ends) > mostReused {
		m.lists, m.ids, m.ends = nil, nil, nil
	}
	m.lists, m.ids = m.lists[:0], m.ids[:0]
	if len(m.columns) > mostColumns || m.columns == nil { // a map does not shrink
		m.columns = make(map[string]encoding.Vector, columns)
	}
	clear(m.columns)
}

// room returns empty slices with room for `lists` lists and `ids` ids.
func (m *Importer) room(lists, ids int) ([][]uuid.UUID, []uuid.UUID) {
	if lists > cap(m.lists)-len(m.lists) {
		m.lists = make([][]uuid.UUID, 0, lists)
	}
	if ids > cap(m.ids)-len(m.ids) {
		m.ids = make([]uuid.UUID, 0, ids)
	}
	l, i := len(m.lists), len(m.ids)
	m.lists, m.ids = m.lists[:l+lists], m.ids[:i+ids]
	return m.lists[l:], m.ids[i : i : i+ids]
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

// reader reads a record's columns. It opens all columns before it reads the first, because that bounds
// their memory.
type reader struct {
	schema *schema.Schema
	memory *Importer
	rows   int
	spread int64 // bytes, see maxSpread
	shared int64 // bytes, see maxShared
}

// recordColumn is a column of the record.
type recordColumn struct {
	name string
	typ  encoding.Type
	data arrow.ArrayData
	runs runs // if it is run-end encoded
}

// open checks a column's type, length and runs.
func (r *reader) open(name string, column arrow.Array) (recordColumn, error) {
	i, ok := r.schema.Resolve(name)
	switch {
	case !ok:
		return recordColumn{}, errors.New("not in the schema")
	case column == nil || typeID(column.Data()) < 0:
		return recordColumn{}, errNoData
	case column.Data().Len() != r.rows:
		return recordColumn{}, fmt.Errorf("%d rows, the record has %d", column.Data().Len(), r.rows)
	}
	in := recordColumn{name: strings.Clone(name), typ: r.schema.Columns()[i].Type, data: column.Data()}
	if typeID(in.data) != arrow.RUN_END_ENCODED {
		return in, nil
	}
	var err error
	if in.runs, err = newRuns(in.typ, in.data); err != nil {
		return recordColumn{}, err
	}
	if n := len(in.runs.ends); n > 1 {
		r.spread += int64(r.rows-n) * int64(rowBytes(in.typ))
	}
	if r.spread > maxSpread {
		return recordColumn{}, fmt.Errorf("%w: rows without a run of their own take %d bytes, at most %d",
			schema.ErrLimit, r.spread, maxSpread)
	}
	return in, nil
}

// read returns a column's values.
func (r *reader) read(in *recordColumn) (encoding.Vector, error) {
	id, n := typeID(in.data), len(in.runs.ends)
	if id != arrow.RUN_END_ENCODED {
		rows := r.rows
		if rows > 1 && isConstant(in.data) {
			rows = 1 // all rows have the same value
		}
		v, err := r.memory.newVector(in.typ, in.data, 0, rows)
		if err != nil || id != arrow.DICTIONARY {
			return v, err
		}
		return v, r.share(&v)
	}
	if n == 0 {
		return encoding.Vector{Type: in.typ}, nil
	}
	v, err := r.memory.newVector(in.typ, in.runs.values, in.runs.first, in.runs.first+n)
	if err != nil {
		return encoding.Vector{}, fmt.Errorf("values of runs: %w", err)
	}
	if n > 1 { // otherwise all rows have the same value
		v = in.runs.spread(&v)
	}
	return v, r.share(&v)
}

// share counts the strings and lists in a column whose rows may share them.
func (r *reader) share(v *encoding.Vector) error {
	for _, text := range v.Strings {
		r.shared += int64(len(text))
	}
	for _, list := range v.UUIDLists {
		r.shared += int64(len(list)) * uuidLen
	}
	if r.shared > maxShared {
		return fmt.Errorf("%w: strings and lists that rows share have %d bytes, counted for each row, at most %d",
			schema.ErrLimit, r.shared, maxShared)
	}
	return nil
}
