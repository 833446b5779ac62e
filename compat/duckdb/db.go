//go:build cgo

package duckdb

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v14/arrow/memory"
	driver "github.com/duckdb/duckdb-go/v2"
)

var (
	// ErrOptions says that an option has a value out of its range.
	ErrOptions = errors.New("invalid options")
	// ErrClosed says that the DB is closed.
	ErrClosed = errors.New("duckdb is closed")
	// ErrTable says that the tables of a query cannot be: a name is there twice, or a
	// table is missing.
	ErrTable = errors.New("invalid table")
	// ErrSQL says that DuckDB refused a statement or failed at it. The text is DuckDB's;
	// the error wraps a *duckdb.Error of the driver, whose Type says of what kind it is.
	ErrSQL = errors.New("sql")
)

// Options configures a DB. The zero value is a good choice for SQL that one trusts with
// the memory of the machine.
type Options struct {
	// MemoryLimit is the number of bytes that DuckDB may take for all queries together:
	// for what it sorts, joins and groups, and for the rows of answers. Beyond it a query
	// fails with columnstore.ErrQueryMemory; nothing is written to disk. It does not count
	// records on their way in: up to two for each scan, and one for each of its threads.
	// 0 means what DuckDB takes by default, 80 % of the machine's memory; at least 1 MiB.
	MemoryLimit int64
	// Threads is the number of threads that DuckDB executes with, for all queries
	// together. 0 means one for each processor; at least 0.
	Threads int
	// Files lets SQL read and write files, attach databases and load extensions, also
	// from the network. Without it SQL reaches only the tables of its query, and cannot
	// change that.
	Files bool
	// Memory allocates the records of scans; nil means the Go allocator.
	Memory memory.Allocator
}

// DB is a DuckDB in memory without tables of its own. All methods are safe for concurrent
// use; queries run beside each other.
type DB struct {
	sql    *sql.DB
	memory memory.Allocator
	closed atomic.Bool

	running sync.Map // connection id (uint64) -> *running
}

// Open starts a DuckDB, in about 10 ms. Close must be called to end it. The error wraps
// ErrOptions for an option out of range.
func Open(opts Options) (*DB, error) {
	dsn, err := opts.dsn()
	if err != nil {
		return nil, err
	}
	connector, err := driver.NewConnector(dsn, nil)
	if err != nil {
		return nil, fmt.Errorf("start duckdb: %w", err)
	}
	db := &DB{sql: sql.OpenDB(connector), memory: opts.Memory}
	db.sql.SetMaxIdleConns(-1) // a connection has the views and the transaction of one query
	_, err = db.sql.Exec(opts.settings())
	if err == nil {
		err = db.register()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start duckdb: %w", err), db.sql.Close())
	}
	return db, nil
}

// dsn returns the options in the words of DuckDB.
func (o *Options) dsn() (string, error) {
	switch {
	case o.MemoryLimit != 0 && o.MemoryLimit < 1<<20:
		return "", fmt.Errorf("%w: MemoryLimit %d, want 0 or at least 1 MiB", ErrOptions, o.MemoryLimit)
	case o.Threads < 0:
		return "", fmt.Errorf("%w: Threads %d, want 0 or more", ErrOptions, o.Threads)
	}
	set := url.Values{}
	if o.MemoryLimit > 0 {
		set.Set("memory_limit", strconv.FormatInt(o.MemoryLimit, 10)+"B")
	}
	if o.Threads > 0 {
		set.Set("threads", strconv.Itoa(o.Threads))
	}
	return "?" + set.Encode(), nil
}

// settings returns the SQL for what can be set only when DuckDB runs, and in this order.
func (o *Options) settings() string {
	settings := "SET temp_directory = ''; SET GLOBAL TimeZone = 'UTC';"
	if !o.Files {
		settings += `SET autoinstall_known_extensions = false; SET autoload_known_extensions = false;
			SET enable_external_access = false; SET lock_configuration = true`
	}
	return settings
}

// Close ends DuckDB. New queries get ErrClosed; rows that are open stay readable, and the
// memory is given back when they are closed. It may be called more than once.
func (db *DB) Close() error {
	db.closed.Store(true)
	return db.sql.Close()
}
