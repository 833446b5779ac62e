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
	// ErrOptions means that an option is out of its range.
	ErrOptions = errors.New("invalid options")
	// ErrClosed means that the DB is closed.
	ErrClosed = errors.New("duckdb is closed")
	// ErrTable means that a query's tables are invalid: a name is repeated, or a table is missing.
	ErrTable = errors.New("invalid table")
	// ErrSQL means that DuckDB refused a statement or failed at it. The text is DuckDB's. The error
	// wraps the driver's *duckdb.Error, whose Type is the kind of the error.
	ErrSQL = errors.New("sql")
)

// Options configures a DB. The zero value suits SQL that is trusted with the machine's memory.
type Options struct {
	// MemoryLimit bounds DuckDB's bytes for all queries together: for sorts, joins and groups, and for
	// the rows in answers. Beyond it a query fails with columnstore.ErrQueryMemory; nothing is written
	// to disk. It does not count input records: up to two for each scan, and one for each of its
	// threads. 0 means DuckDB's default, 80 % of the machine's memory. Other values are at least 1 MiB.
	MemoryLimit int64
	// Threads is the number of DuckDB's threads, for all queries together. 0 means one for
	// each processor. Negative values are ErrOptions.
	Threads int
	// Files lets SQL read and write files, attach databases and load extensions, also from the
	// network. Without it SQL reaches only the tables of its query, and cannot change that.
	Files bool
	// Memory allocates the records of scans; nil means the Go allocator.
	Memory memory.Allocator
}

// DB is a DuckDB in memory without tables of its own. All methods are safe for concurrent use,
// and queries run concurrently.
type DB struct {
	sql    *sql.DB
	memory memory.Allocator
	closed atomic.Bool

	running sync.Map // connection id (uint64) -> *running
}

// Open starts a DuckDB, in about 10 ms, which must be closed. The error wraps ErrOptions for
// an option out of range.
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
	db.sql.SetMaxIdleConns(-1) // because a connection has one query's views and transaction
	_, err = db.sql.Exec(opts.settings())
	if err == nil {
		err = db.register()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start duckdb: %w", err), db.sql.Close())
	}
	return db, nil
}

// dsn returns the options as a DuckDB data source name.
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

// settings returns the SQL for settings that only a running DuckDB accepts, and only in this order.
func (o *Options) settings() string {
	settings := "SET temp_directory = ''; SET GLOBAL TimeZone = 'UTC';"
	if !o.Files {
		settings += `SET autoinstall_known_extensions = false; SET autoload_known_extensions = false;
			SET enable_external_access = false; SET lock_configuration = true`
	}
	return settings
}

// Close ends DuckDB. New queries get ErrClosed. Open rows stay readable, and their memory is
// freed when they are closed. Close may be called more than once.
func (db *DB) Close() error {
	db.closed.Store(true)
	return db.sql.Close()
}
