package query

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/uuid"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/query/order"
	"github.com/granarydb/granary/schema"
)

// Limits on a record. recordRows bounds the rows, and recordCells the rows times columns, because records
// of wide tables would take gigabytes. A record ends with the first piece of pieceRows rows that brings
// its strings and lists to recordBytes, because Arrow's offsets reach only 2^31. A decoded piece stays in
// the processor's caches.
const (
	recordRows  = 32 << 10
	recordCells = 4 << 20
	recordBytes = 32 << 20
	pieceRows   = 4 << 10
)

// ScanOptions are the options of a Scan. The zero value returns all rows and columns.
type ScanOptions struct {
	// Columns names concrete columns. A family stands for all its concrete columns. nil means all
	// columns, in schema order.
	Columns []string
	// Where selects the rows.
	Where filter.Expr
	// Buckets, if not nil, selects the rows of the units with these ids (Table.Seal). The id 0 selects
	// all rows that are in no unit. An id that the snapshot lacks is ErrUnit. Families then have the
	// columns of these rows.
	Buckets []uint64
	// Ordered returns rows by time bucket (Options.BucketRows), and within a bucket by sorting key.
	// Without it rows come in any order, at less cost.
	Ordered bool
	// OrderBy, if not empty, returns the first Limit rows by its first column, then by the second, and so
	// on. Rows that are equal in all columns come as with Ordered. All rows are chosen before the first
	// record. The records have the same columns as without it.
	OrderBy []order.By
	// Limit bounds the number of rows. 0 means no limit. A negative limit is ErrQuery. With OrderBy it
	// must be 1 to 65,536, because the first rows are kept in memory with their values in the order's
	// columns. Other limits are ErrQuery.
	Limit int
	// MaxBytes, if above 0, bounds the bytes that OrderBy allocates: about 100 for each row, and the
	// values in the order columns and sometimes of the sorting key. Beyond it the error is
	// ErrQueryMemory.
	MaxBytes int64
	// Memory allocates the records. nil means the Go allocator. The scan reuses the memory of released
	// records until it ends.
	Memory memory.Allocator
	// Form is the layout of repeated values in the records. An unknown form is ErrQuery.
	Form arrowconv.Form
	// OwnDictionaries gives each record its own dictionary of the lists in its rows. Scans with a
	// condition or a limit always do so. Otherwise the records of a full scan share a dictionary per
	// generation, if it takes at most 128 MB. That costs less than half, and an IPC stream has the
	// dictionary once. The shared dictionary has all lists in the generation, including lists of rows
	// outside the snapshot. Engines that convert each record's dictionary, as DuckDB does, are faster
	// with own dictionaries. Strings and lists of strings always have a dictionary per record.
	OwnDictionaries bool
	// Timestamps names the columns whose values are Unix nanoseconds. In every form they become Arrow
	// timestamps in nanoseconds without a zone, as package export writes times. Other Int64 columns are
	// int64. A name that is no Int64 column is ErrQuery.
	Timestamps []string
	// Elements, if not nil, converts id lists to lists of strings: it appends the names of an element to
	// dst, and a list has the names of all its elements. record is the data stored beside the element, or
	// nil; Elements must not keep or change it. The iterating goroutine calls it once for each distinct
	// element of a generation.
	Elements func(dst []string, id uuid.UUID, record []byte) []string
}

// Scan yields the selected rows as records until yield returns false. See Table.Scan of
// package columnstore.
func Scan(ctx context.Context, r *filter.Read, opts ScanOptions, yield func(arrow.Record) bool) error {
	r, columns, err := opts.resolve(r)
	if err != nil {
		return err
	}
	if opts.Limit < 0 {
		return fmt.Errorf("%w: limit %d", filter.ErrQuery, opts.Limit)
	}
	s, wide := newScanner(r.Schema, columns, opts), slices.ContainsFunc(columns, func(c schema.Concrete) bool { return r.IsWide(c.Column) })
	defer s.out.Release()
	if len(opts.OrderBy) > 0 {
		return s.scanFirst(ctx, r, &opts, wide, yield)
	}
	left := opts.Limit
	for chosen, err := range r.Chosen(ctx, opts.Where, opts.Ordered, wide) {
		if err != nil {
			return err
		}
		if opts.Limit > 0 {
			chosen, _ = chosen.Split(left)
			left -= chosen.Rows
		}
		if more, err := s.addPieces(&chosen, yield); err != nil || !more {
			return err
		}
		if opts.Limit > 0 && left == 0 {
			break
		}
	}
	_, err = s.flush(yield)
	return err
}

// ofUnits returns a read of only the units with the ids; nil means all rows.
func ofUnits(r *filter.Read, ids []uint64) (*filter.Read, error) {
	if ids == nil {
		return r, nil
	}
	state := r.State
	if state == nil { // the table is newer than the snapshot
		state = catalog.NewTableState(r.Schema)
	}
	only, err := state.OnlyUnits(ids)
	if err != nil {
		return nil, err
	}
	return &filter.Read{Env: r.Env, State: only, Use: r.Use}, nil
}

// scanFirst is Scan in the order of opts.OrderBy.
func (s *scanner) scanFirst(ctx context.Context, r *filter.Read, opts *ScanOptions, wide bool, yield func(arrow.Record) bool) error {
	rows, err := order.FirstRows(ctx, r, opts.Where, wide, opts.OrderBy, opts.Limit, newQueryMemory(ctx, opts.MaxBytes).take)
	if err != nil {
		return err
	}
	s.mixed = true
	for chosen := range rows {
		if more, err := s.addPieces(&chosen, yield); err != nil || !more {
			return err
		}
	}
	_, err = s.flush(yield)
	return err
}

// addPieces adds a selection's rows in pieces, and yields full records. more is false if the receiver
// stopped.
func (s *scanner) addPieces(chosen *filter.Selection, yield func(arrow.Record) bool) (more bool, err error) {
	most := max(1, min(recordRows, recordCells/max(1, len(s.others)+len(s.labels))))
	for rest := *chosen; rest.Rows > 0; {
		gen := rest.Part.Generation()
		if s.rows == most || s.gen != gen && !s.mixed || s.out.Size() >= recordBytes {
			if more, err := s.flush(yield); err != nil || !more {
				return false, err
			}
		}
		if s.gen != gen {
			s.gen = gen
			clear(s.values)
		}
		var piece filter.Selection
		piece, rest = rest.Split(min(most-s.rows, pieceRows))
		if err := s.add(&piece); err != nil {
			return false, err
		}
	}
	return true, nil
}

// scanner collects rows into a record. The rows belong to one generation unless mixed is true.
type scanner struct {
	schema *schema.Schema
	others []placed // columns outside the series tuple
	labels []placed // columns of the series tuple
	out    *arrowconv.RecordBuilder
	gen    *granule.Generation // of the last rows
	mixed  bool
	rows   int
	values map[uint32][]label // by series code of gen; each has a value for each of labels

	header   *encoding.Words // ordinals shared by columns of the current piece
	ordinals []uint64
	buf      []uint64
}

// placed is a column and its index in the record.
type placed struct {
	schema.Concrete
	field int
}

// label is the value of a series in a column.
type label struct {
	value string
	ok    bool
}

func newScanner(sch *schema.Schema, columns []schema.Concrete, opts ScanOptions) *scanner {
	s := &scanner{schema: sch, values: map[uint32][]label{}}
	for i, c := range columns {
		if sch.IsSeries(c.Column) {
			s.labels = append(s.labels, placed{c, i})
		} else {
			s.others = append(s.others, placed{c, i})
		}
	}
	s.out = arrowconv.NewRecordBuilder(opts.Memory, opts.Form, fieldsOf(sch, columns, &opts))
	return s
}

// flush yields the current record if it has rows. more is false if the receiver stopped.
func (s *scanner) flush(yield func(arrow.Record) bool) (more bool, err error) {
	clear(s.values)
	if s.rows == 0 {
		return true, nil
	}
	s.rows = 0
	rec, err := s.out.Record()
	if err != nil {
		return false, err
	}
	return yield(rec), nil
}

// add adds a piece's rows.
func (s *scanner) add(chosen *filter.Selection) error {
	s.rows += chosen.Rows
	s.out.Rows(chosen.Rows)
	s.header = nil
	for _, c := range s.others {
		column := chosen.Part.Find(c.Column, c.Name)
		if column == nil {
			s.out.Nulls(c.field, chosen.Rows)
		} else if word, ok := column.Words().Constant(); ok && !column.Nulls() {
			s.out.Constant(c.field, column, word, chosen.Rows)
		} else {
			s.read(chosen, column.Words())
			s.out.Words(c.field, column, s.buf, chosen.Valid(column))
		}
	}
	return s.addLabels(chosen)
}

// read decodes a column's words for a piece's rows. Columns of the header share their ordinals, which are
// decoded once.
func (s *scanner) read(chosen *filter.Selection, words *encoding.Words) {
	table, ordinals := words.Lookup()
	if table == nil {
		s.buf = chosen.Words(s.buf[:0], words)
		return
	}
	if s.header != ordinals {
		s.header, s.ordinals = ordinals, chosen.Words(s.ordinals[:0], ordinals)
	}
	s.buf = append(s.buf[:0], s.ordinals...)
	filter.LookUp(s.buf, table)
}

// addLabels derives the columns of the series tuple from the rows' series.
func (s *scanner) addLabels(chosen *filter.Selection) error {
	if len(s.labels) == 0 {
		return nil
	}
	for spans := chosen.Spans; len(spans) > 0; {
		rows, rest := filter.SameSeries(spans)
		values, err := s.labelsOf(spans[0].Series)
		if err != nil {
			return err
		}
		for i, l := range values {
			if l.ok {
				s.out.Repeat(s.labels[i].field, l.value, rows)
			} else {
				s.out.Nulls(s.labels[i].field, rows)
			}
		}
		spans = rest
	}
	return nil
}

// labelsOf returns a series' values in the label columns. It caches them.
func (s *scanner) labelsOf(code uint32) ([]label, error) {
	values, known := s.values[code]
	if known {
		return values, nil
	}
	series, err := s.schema.ReadTuple(s.gen.Series.Value(code))
	if err != nil {
		return nil, err
	}
	values = make([]label, len(s.labels))
	for i, c := range s.labels {
		values[i].value, values[i].ok = Series(series).Find(c.Name)
	}
	s.values[code] = values
	return values, nil
}

// fieldsOf returns the record fields of concrete columns.
func fieldsOf(s *schema.Schema, columns []schema.Concrete, opts *ScanOptions) []arrowconv.Field {
	everything := opts.Limit == 0 && opts.Where.Always() && opts.Buckets == nil
	fields := make([]arrowconv.Field, len(columns))
	for i, c := range columns {
		def := s.Columns()[c.Column]
		fields[i] = arrowconv.Field{
			Name: c.Name, Type: def.Type, Coded: def.Encoding.Coded(), Nullable: def.Nullable || def.Dynamic,
			Runs: comesInRuns(s, c.Column), Names: opts.Elements, Time: slices.Contains(opts.Timestamps, c.Name),
			Shared: everything && !opts.OwnDictionaries, Many: everything,
		}
	}
	return fields
}

// resolve returns the read of the options' buckets and their columns, after it checked the form and the
// timestamps.
func (o *ScanOptions) resolve(r *filter.Read) (*filter.Read, []schema.Concrete, error) {
	r, err := ofUnits(r, o.Buckets)
	if err != nil {
		return nil, nil, err
	}
	columns, err := r.Concrete(o.Columns)
	if err != nil {
		return nil, nil, err
	}
	if !o.Form.Known() {
		return nil, nil, fmt.Errorf("%w: %v", filter.ErrQuery, o.Form)
	}
	for _, name := range o.Timestamps {
		if i, ok := r.Schema.Resolve(name); !ok || r.Schema.Columns()[i].Type != encoding.Int64 {
			return nil, nil, fmt.Errorf("%w: timestamps: %q is no column of type %v", filter.ErrQuery, name, encoding.Int64)
		}
	}
	return r, columns, nil
}

// comesInRuns reports whether a column is run-end encoded in the Native form.
func comesInRuns(s *schema.Schema, column int) bool {
	def := s.Columns()[column]
	switch {
	case s.IsSeries(column):
		return true
	case def.Type == encoding.UUIDList || slices.Contains(s.Header(), column):
		return false
	}
	return def.Encoding == encoding.RLE || def.Encoding == encoding.DictionaryRLE
}

// RecordSchema returns the schema of a scan's records. See Table.RecordSchema of package columnstore.
func RecordSchema(r *filter.Read, opts ScanOptions) (*arrow.Schema, error) {
	r, columns, err := opts.resolve(r)
	if err != nil {
		return nil, err
	}
	return arrowconv.NewSchema(opts.Form, fieldsOf(r.Schema, columns, &opts)), nil
}
