package profile

import (
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/schema"
)

// Options configures a DB. The zero value is a good choice.
type Options struct {
	// Table is the name of the table. Empty means "profiles".
	Table string
	// Bucket is the length of a time bucket; 0 means DefaultBucket, negative
	// turns buckets off.
	Bucket time.Duration
	// KeepZeros makes rows of values that are 0 too.
	KeepZeros bool
	// Limits bounds the profiles that are inserted.
	Limits Limits
}

// DB is a table of profiles in a store. It is safe for concurrent use and lives
// as long as its store.
type DB struct {
	table *columnstore.Table
	store *columnstore.Store
	opts  Options

	workspaces sync.Pool // of *workspace
}

// Open returns a handle on the table of profiles, which it makes if it is not
// there yet. Handles on one table see the same profiles. A table of the name that
// has another schema, or another bucket, is columnstore.ErrTable.
func Open(store *columnstore.Store, opts Options) (*DB, error) {
	if opts.Table == "" {
		opts.Table = "profiles"
	}
	if opts.Bucket == 0 {
		opts.Bucket = DefaultBucket
	}
	opts.Limits = opts.Limits.WithDefaults()
	def := Schema(max(0, opts.Bucket))
	table := store.Table(opts.Table)
	if table == nil {
		var err error
		if table, err = store.CreateTable(opts.Table, def); err != nil {
			return nil, err
		}
	} else if want, err := schema.New(def); err != nil || !reflect.DeepEqual(want, table.Schema()) {
		return nil, fmt.Errorf("%w: %q is there and is no table of profiles with buckets of %v", columnstore.ErrTable, opts.Table, opts.Bucket)
	}
	return &DB{table: table, store: store, opts: opts}, nil
}

// Table returns the table that the profiles are in, for scans and inserts of
// Arrow records.
func (db *DB) Table() *columnstore.Table { return db.table }

// Store returns the store that the table is in.
func (db *DB) Store() *columnstore.Store { return db.store }

// InsertOptions adds to a profile the facts that it lacks.
type InsertOptions struct {
	// Labels are those of the whole profile: job, pod and the like. An empty
	// value is no label.
	Labels map[string]string
	// Time is used for a profile that has none. If it is zero too, the
	// profile's time is 0, which is how pprof says that there is none.
	Time time.Time
}
