package columnstore

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/uuid"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
)

// A record has at most this many rows, and, so that wide tables do not make
// records of gigabytes, about this many rows times columns. It ends with the first piece
// of so many rows that brings what its strings and lists take to some bytes: the offsets
// of Arrow go up to 2^31. What a piece is read into stays in the processor's caches.
const (
	recordRows  = 32 << 10
	recordCells = 4 << 20
	recordBytes = 32 << 20
	pieceRows   = 4 << 10
)

// ScanOptions says what a Scan returns. The zero value is everything.
type ScanOptions struct {
	// Columns names concrete columns, or families for all of their concrete
	// columns. nil means all columns, in schema order.
	Columns []string
	// Where chooses rows.
	Where Expr
	// Ordered returns rows by time bucket (Options.BucketRows), those of one in the order of
	// the sorting key; without it they come in any order, and cheaper.
	Ordered bool
	// Limit is the greatest number of rows to return; 0 means all. A negative
	// one is ErrQuery.
	Limit int
	// Memory allocates the records; nil means the Go allocator. Until the scan ends it
	// keeps what released records give back, for the records that follow.
	Memory memory.Allocator
	// Form is how values that repeat lie in the records. An unknown one is ErrQuery.
	Form Form
	// OwnDictionaries gives each record a dictionary of lists with what its rows have, as
	// all scans with a condition or a limit do. Without it, the records of a scan of
	// everything share one dictionary for each generation, if that takes at most 128 MB:
	// less than half the cost, and an IPC stream has it once. It has all lists of the generation,
	// also those of rows that the snapshot has not. Engines that convert the dictionary of
	// each record, as DuckDB does, are better off with their own. Lists of strings, and
	// strings, have dictionaries of the record in any case.
	OwnDictionaries bool
	// Elements, if not nil, makes lists of ids lists of strings: of the names that it
	// appends to dst for each element, end to end. It is given what is kept beside the
	// element, nil if nothing is, which it must not keep or change. It is called by the
	// goroutine that iterates, once for each distinct element of a generation.
	Elements func(dst []string, id uuid.UUID, record []byte) []string
}

// Scan yields the chosen rows of a snapshot as Arrow records, all of one schema
// (ScanOptions.Form). A record has at most 32,768 rows, fewer where there are more than
// 128 columns, and about 32 MB of strings and lists. The receiver of a record releases
// it, best before it goes on to the next: its memory is used again, and a string that
// Arrow returned of it (array.String.Value, ValueStr) is in that memory. Clone what is to
// outlive the record.
//
// The sequence ends after the first error: ErrQuery, ErrSnapshotClosed, that of
// ctx or ErrSnapshotExpired, which are looked at before each granule, or
// arrowconv.ErrBuild for a record that Arrow cannot hold (2 GiB of names in 4,096 rows).
// The snapshot may be closed while the scan runs.
//
// It costs about 1 ns a row and column that is flat, hardly anything for one in runs, and
// about 100 ns for each distinct list of 20 elements, again in each record unless they share
// a dictionary (go test -bench Scan): name the columns that you need. Ordered adds what merging takes.
func (t *Table) Scan(ctx context.Context, snap *Snapshot, opts ScanOptions) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		if err := t.scan(ctx, snap, opts, func(rec arrow.Record) bool { return yield(rec, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

func (t *Table) scan(ctx context.Context, snap *Snapshot, opts ScanOptions, yield func(arrow.Record) bool) error {
	state, use, err := snap.read(t)
	if err != nil {
		return err
	}
	defer use.Done()
	columns, err := t.concrete(state, opts.Columns)
	if err != nil {
		return err
	}
	if opts.Limit < 0 {
		return fmt.Errorf("%w: limit %d", ErrQuery, opts.Limit)
	}
	if !opts.Form.Known() {
		return fmt.Errorf("%w: %v", ErrQuery, opts.Form)
	}
	s := newScanner(t, columns, opts)
	defer s.out.Release()
	left := opts.Limit
	for chosen, err := range t.chosen(ctx, use, opts.Where, opts.Ordered) {
		if err != nil {
			return err
		}
		if opts.Limit > 0 {
			chosen, _ = chosen.cut(left)
			left -= chosen.rows
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

// addPieces adds the rows of a selection, at most a record's worth at a time,
// and hands out the records that are full.
func (s *scanner) addPieces(chosen *selection, yield func(arrow.Record) bool) (more bool, err error) {
	most := max(1, min(recordRows, recordCells/max(1, len(s.others)+len(s.labels))))
	for rest := *chosen; rest.rows > 0; {
		if gen := rest.part.Generation(); s.rows == most || s.gen != gen || s.out.Size() >= recordBytes {
			if more, err := s.flush(yield); err != nil || !more {
				return false, err
			}
			s.gen = gen
		}
		var piece selection
		piece, rest = rest.cut(min(most-s.rows, pieceRows))
		if err := s.add(&piece); err != nil {
			return false, err
		}
	}
	return true, nil
}

// scanner collects rows of one generation into a record.
type scanner struct {
	table  *Table
	others []placed // columns that are not of series
	labels []placed // of series
	out    *arrowconv.Builder
	gen    *granule.Generation
	rows   int
	values map[uint32][]label // of gen: by series, a value for each of labels

	header   *encoding.Words // ordinals that columns of the piece at hand share
	ordinals []uint64
	buf      []uint64
}

// always says whether the condition holds whatever a row is.
func (e Expr) always() bool {
	return e.op == opTrue || e.op == opAnd && !slices.ContainsFunc(e.args, func(arg Expr) bool { return !arg.always() })
}

// placed is a column and its place in the record.
type placed struct {
	schema.Concrete
	field int
}

// label is what a series has in a column.
type label struct {
	value string
	ok    bool
}

func newScanner(t *Table, columns []schema.Concrete, opts ScanOptions) *scanner {
	s := &scanner{table: t, values: map[uint32][]label{}}
	for i, c := range columns {
		if t.schema.IsSeries(c.Column) {
			s.labels = append(s.labels, placed{c, i})
		} else {
			s.others = append(s.others, placed{c, i})
		}
	}
	s.out = arrowconv.NewBuilder(opts.Memory, opts.Form, t.fields(columns, &opts))
	return s
}

// flush hands out the record so far; more is false if the receiver has enough.
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

// add adds the rows of a piece.
func (s *scanner) add(chosen *selection) error {
	s.rows += chosen.rows
	s.out.Rows(chosen.rows)
	s.header = nil
	for _, c := range s.others {
		column := chosen.part.Find(c.Column, c.Name)
		if column == nil {
			s.out.Nulls(c.field, chosen.rows)
		} else if word, ok := column.Words().Constant(); ok && !column.Nulls() {
			s.out.Constant(c.field, column, word, chosen.rows)
		} else {
			s.read(chosen, column.Words())
			s.out.Words(c.field, column, s.buf, chosen.valid(column))
		}
	}
	return s.addLabels(chosen)
}

// read reads the words of a column of the rows of a piece. Columns of the header share
// their ordinals, which are read once.
func (s *scanner) read(chosen *selection, words *encoding.Words) {
	table, ordinals := words.Lookup()
	if table == nil {
		s.buf = chosen.words(s.buf[:0], words)
		return
	}
	if s.header != ordinals {
		s.header, s.ordinals = ordinals, chosen.words(s.ordinals[:0], ordinals)
	}
	s.buf = append(s.buf[:0], s.ordinals...)
	lookUp(s.buf, table)
}

// addLabels derives the columns of the series tuple from the series of the rows.
func (s *scanner) addLabels(chosen *selection) error {
	if len(s.labels) == 0 {
		return nil
	}
	for spans := chosen.spans; len(spans) > 0; {
		rows, rest := sameSeries(spans)
		values, err := s.labelsOf(spans[0].series)
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

// sameSeries returns the number of rows of the first spans that are of one series, and
// the spans behind them.
func sameSeries(spans []span) (rows int, rest []span) {
	rest = spans
	for len(rest) > 0 && rest[0].series == spans[0].series {
		rows += int(rest[0].hi - rest[0].lo)
		rest = rest[1:]
	}
	return rows, rest
}

// labelsOf returns what a series has in each of the columns of labels.
func (s *scanner) labelsOf(code uint32) ([]label, error) {
	values, known := s.values[code]
	if known {
		return values, nil
	}
	series, err := readSeries(s.table.schema, s.gen, code)
	if err != nil {
		return nil, err
	}
	values = make([]label, len(s.labels))
	for i, c := range s.labels {
		values[i].value, values[i].ok = series.find(c.Name)
	}
	s.values[code] = values
	return values, nil
}
