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

// Query answers SQL over a snapshot's tables. Arguments bind to ? or $1, $2, ... in it. If there are
// several statements, the last gives the answer and takes the arguments.
//
// The snapshot must be open until Query returns. The returned rows do not need it: they are in DuckDB's
// memory, which their Close frees. ctx ends the query, and the rows. Without ORDER BY the order of rows is
// undefined.
//
// It costs about 1 ms, plus a columnstore.Table.Scan of the needed columns for each mention of a table.
// DuckDB evaluates the SQL's conditions row by row. Table.Where is cheaper where it can express them.
//
// Errors wrap ErrSQL; columnstore.ErrQueryMemory for Options.MemoryLimit; ErrTable; ErrClosed; a scan's
// error, such as columnstore.ErrSnapshotClosed; or ctx's.
func (db *DB) Query(ctx context.Context, snap *columnstore.Snapshot, tables []Table, query string, args ...any) (*Rows, error) {
	if strings.IndexByte(query, 0) >= 0 { // because C would end the text there
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
		return conn.Close() // also drops the transaction and the views
	})}
	if rows.Rows, err = q.run(conn, query, args); err != nil {
		return nil, errors.Join(err, rows.end())
	}
	return rows, nil
}

// Rows is a query's answer, as in database/sql. It must be closed, and is not safe for concurrent use.
type Rows struct {
	*sql.Rows
	end func() error
}

// Close frees DuckDB's memory for the query. It may be called more than once.
func (r *Rows) Close() error { return errors.Join(r.Rows.Close(), r.end()) }

// running is a query in progress.
type running struct {
	ctx    context.Context
	snap   *columnstore.Snapshot
	memory memory.Allocator
	tables map[string]*Table // by name in SQL

	failed struct {
		sync.Mutex
		err error
	}
}

// add adds a table to the query.
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

// run creates the tables, then executes the SQL. The transaction is never committed.
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

// fail keeps a scan's first error, because DuckDB passes on only its text.
func (q *running) fail(err error) {
	q.failed.Lock()
	defer q.failed.Unlock()
	if q.failed.err == nil {
		q.failed.err = err
	}
}

// explain returns the caller's error for DuckDB's error.
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
