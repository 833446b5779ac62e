//go:build cgo

package duckdb

import (
	"context"

	"github.com/apache/arrow/go/v14/arrow"

	"github.com/granarydb/granary/columnstore"
)

// binding is one mention of a table in a query.
type binding struct {
	query   *running
	table   *Table
	columns []column
}

// scan reads some of a table's columns for one mention in a query. DuckDB's threads take its records; close
// ends it.
type scan struct {
	binding *binding
	records chan arrow.Record
	cancel  context.CancelFunc
	err     error // set before records is closed
}

// newScan starts to read columns, named as in the store.
//
// The scan has its own goroutine, because C callbacks are bound to their thread, and cannot resume an
// iterator begun on another.
func newScan(b *binding, columns []string) *scan {
	s := &scan{binding: b, records: make(chan arrow.Record, 1)}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(b.query.ctx)
	go s.run(ctx, columnstore.ScanOptions{Columns: columns, Where: b.table.Where, Memory: b.query.memory, Elements: b.table.Elements})
	return s
}

// run sends the records until there are no more, or ctx ends.
func (s *scan) run(ctx context.Context, opts columnstore.ScanOptions) {
	defer close(s.records)
	for rec, err := range s.binding.table.Table.Scan(ctx, s.binding.query.snap, opts) {
		if err != nil {
			s.err = err
			return
		}
		select {
		case s.records <- rec:
		case <-ctx.Done():
			rec.Release()
			s.err = ctx.Err()
			return
		}
	}
}

// next returns the next record, which the caller releases, or nil at the end. It is safe for
// concurrent use.
func (s *scan) next() (arrow.Record, error) {
	if rec, ok := <-s.records; ok {
		return rec, nil
	}
	return nil, s.err
}

// close ends the scan and waits for it.
func (s *scan) close() {
	s.cancel()
	for rec := range s.records {
		rec.Release()
	}
}
