package columnstore

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
)

// A record has at most this many rows, and, so that wide tables do not make
// records of gigabytes, about this many rows times columns.
const (
	recordRows  = 32 << 10
	recordCells = 4 << 20
)

// ScanOptions says what a Scan returns. The zero value is everything.
type ScanOptions struct {
	// Columns names concrete columns, or families for all of their concrete
	// columns. nil means all columns, in schema order.
	Columns []string
	// Where chooses rows.
	Where Expr
	// Ordered returns rows in the order of the sorting key; without it they
	// come in any order, and cheaper.
	Ordered bool
	// Limit is the greatest number of rows to return; 0 means all. A negative
	// one is ErrQuery.
	Limit int
	// Memory allocates the records; nil means the Go allocator.
	Memory memory.Allocator
}

// Scan yields the chosen rows of a snapshot as Arrow records, all of one
// schema: strings and lists as dictionaries, each record with dictionaries of
// its own (package arrowconv, Dictionary form). A record has at most 32,768
// rows, fewer where there are more than 128 columns. The receiver of a record
// releases it.
//
// The sequence ends after the first error: ErrQuery, ErrSnapshotClosed, that of
// ctx or ErrSnapshotExpired, which are looked at before each granule, or arrowconv.ErrBuild for a record
// that Arrow cannot hold (2 GiB of plain strings). The snapshot may be closed
// while the scan runs. Without a merge it costs about 10 ns a row and column,
// columns that the row has no value in included: name those that you need.
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
	s := newScanner(t, columns, opts.Memory)
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
	most := max(1, min(recordRows, recordCells/max(1, len(s.columns))))
	for rest := *chosen; rest.rows > 0; {
		if gen := rest.part.Generation(); s.rows == most || s.gen != gen {
			if more, err := s.flush(yield); err != nil || !more {
				return false, err
			}
			s.gen = gen
		}
		var piece selection
		piece, rest = rest.cut(most - s.rows)
		if err := s.add(&piece); err != nil {
			return false, err
		}
	}
	return true, nil
}

// scanner collects rows of one generation into a record.
type scanner struct {
	table   *Table
	columns []schema.Concrete
	out     *arrowconv.Builder
	gen     *granule.Generation
	rows    int
	labels  map[uint32]Series // of gen
	buf     []uint64
}

func newScanner(t *Table, columns []schema.Concrete, mem memory.Allocator) *scanner {
	fields := make([]arrowconv.Field, len(columns))
	for i, c := range columns {
		def := t.schema.Columns()[c.Column]
		fields[i] = arrowconv.Field{
			Name: c.Name, Type: def.Type, Coded: def.Encoding.Coded(), Nullable: def.Nullable || def.Dynamic,
		}
	}
	return &scanner{table: t, columns: columns, out: arrowconv.NewBuilder(mem, fields), labels: map[uint32]Series{}}
}

// flush hands out the record so far; more is false if the receiver has enough.
func (s *scanner) flush(yield func(arrow.Record) bool) (more bool, err error) {
	clear(s.labels)
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

func (s *scanner) add(chosen *selection) error {
	s.rows += chosen.rows
	s.out.Rows(chosen.rows)
	for i, c := range s.columns {
		if s.table.schema.IsSeries(c.Column) {
			if err := s.addLabel(i, c.Name, chosen); err != nil {
				return err
			}
			continue
		}
		column := chosen.part.Find(c.Column, c.Name)
		if column == nil {
			s.out.Nulls(i, chosen.rows)
			continue
		}
		s.buf = chosen.words(s.buf[:0], column.Words())
		s.out.Words(i, column, s.buf, chosen.valid(column))
	}
	return nil
}

// addLabel derives a column of the series tuple from the series of the rows.
func (s *scanner) addLabel(field int, name string, chosen *selection) error {
	for spans := chosen.spans; len(spans) > 0; {
		rows, rest := sameSeries(spans)
		value, ok, err := s.label(spans[0].series, name)
		if err != nil {
			return err
		}
		if ok {
			s.out.Repeat(field, value, rows)
		} else {
			s.out.Nulls(field, rows)
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

func (s *scanner) label(code uint32, name string) (value string, ok bool, err error) {
	series, known := s.labels[code]
	if !known {
		if series, err = readSeries(s.table.schema, s.gen, code); err != nil {
			return "", false, err
		}
		s.labels[code] = series
	}
	value, ok = series.find(name)
	return value, ok, nil
}
