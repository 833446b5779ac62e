//go:build cgo

package duckdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow/go/v14/arrow/memory"
	driver "github.com/duckdb/duckdb-go/v2"

	"github.com/granarydb/granary/columnstore"
)

// Query answers SQL over tables of a snapshot. Arguments stand for ? or $1, $2, ... in it.
// Of several statements the answer is that of the last, which the arguments are for.
//
// The snapshot must be open until Query returns; the rows that it returns need it no more:
// they are in DuckDB's memory, and their Close gives it back. ctx ends the query, and the
// rows. Rows come in no order that the SQL does not ask for.
//
// It costs about 1 ms, and what columnstore.Table.Scan does of the columns that the query
// needs, for each place that it names a table in. Conditions of the SQL are looked at by
// DuckDB, row by row: Table.Where is cheaper where it can say the same.
//
// Errors wrap ErrSQL; columnstore.ErrQueryMemory for Options.MemoryLimit; ErrTable;
// ErrClosed; what a scan ended with, columnstore.ErrSnapshotClosed and the like; or are
// that of ctx.
func (db *DB) Query(ctx context.Context, snap *columnstore.Snapshot, tables []Table, query string, args ...any) (*Rows, error) {
	if strings.IndexByte(query, 0) >= 0 { // where it would end for C
		return nil, fmt.Errorf("%w: there is a zero byte in it", ErrSQL)
	}
	q := &running{ctx: ctx, snap: snap, memory: db.memory, tables: map[string]*Table{}}
	for i := range tables {
		if err := q.add(&tables[i]); err != nil {
			return nil, err
		}
	}
	conn, err := db.sql.Conn(ctx)
	if err != nil {
		if db.closed.Load() {
			err = ErrClosed
		}
		return nil, err
	}
	id, err := driver.ConnId(conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	db.running.Store(id, q)
	rows := &Rows{end: sync.OnceValue(func() error {
		db.running.Delete(id)
		return conn.Close() // and with it the transaction and the views
	})}
	if rows.Rows, err = q.run(conn, query, args); err != nil {
		return nil, errors.Join(err, rows.end())
	}
	return rows, nil
}

// Rows is the answer of a query, as database/sql has it. It must be closed, and belongs to
// one goroutine.
type Rows struct {
	*sql.Rows
	end func() error
}

// Close gives back what DuckDB holds for the query. It may be called more than once.
func (r *Rows) Close() error { return errors.Join(r.Rows.Close(), r.end()) }

// running is a query under way.
type running struct {
	ctx    context.Context
	snap   *columnstore.Snapshot
	memory memory.Allocator
	tables map[string]*Table // by the name in SQL

	failed struct {
		sync.Mutex
		err error
	}
}

// add takes a table into the query.
func (q *running) add(t *Table) error {
	name := t.name()
	if t.Table == nil {
		return fmt.Errorf("%w: %q is of no table of the store", ErrTable, name)
	}
	for other := range q.tables {
		if fold(name) == fold(other) {
			return fmt.Errorf("%w: %q is there twice, capitals make no difference in SQL", ErrTable, name)
		}
	}
	q.tables[name] = t
	return nil
}

// run makes the tables, then executes the SQL. The transaction is never committed.
func (q *running) run(conn *sql.Conn, query string, args []any) (*sql.Rows, error) {
	if _, err := conn.ExecContext(q.ctx, "BEGIN"); err != nil {
		return nil, q.explain(err)
	}
	for name, t := range q.tables {
		if _, err := conn.ExecContext(q.ctx, t.view()); err != nil {
			return nil, fmt.Errorf("table %q: %w", name, q.explain(err))
		}
	}
	rows, err := conn.QueryContext(q.ctx, query, args...)
	if err != nil {
		return nil, q.explain(err)
	}
	return rows, nil
}

// fail keeps the first error of a scan: DuckDB hands on texts only.
func (q *running) fail(err error) {
	q.failed.Lock()
	defer q.failed.Unlock()
	if q.failed.err == nil {
		q.failed.err = err
	}
}

// explain returns what an error of DuckDB is for the caller.
func (q *running) explain(err error) error {
	q.failed.Lock()
	defer q.failed.Unlock()
	told, _ := errors.AsType[*driver.Error](err)
	switch {
	case q.ctx.Err() != nil:
		return q.ctx.Err()
	case q.failed.err != nil:
		return q.failed.err
	case told != nil && told.Type == driver.ErrorTypeOutOfMemory:
		return fmt.Errorf("%w: %w", columnstore.ErrQueryMemory, err)
	default:
		return fmt.Errorf("%w: %w", ErrSQL, err)
	}
}
