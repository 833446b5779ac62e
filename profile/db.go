package profile

import (
	"encoding/json"
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
	opts.Limits = opts.Limits.withDefaults()
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

// Type is one thing that profiles measure.
type Type struct {
	Sample, SampleUnit string // "inuse_space", "bytes"
	Period, PeriodUnit string // "space", "bytes"; empty if the profile says none
}

// String returns the type as sample:unit:period:unit.
func (t Type) String() string {
	return fmt.Sprintf("%s:%s:%s:%s", t.Sample, t.SampleUnit, t.Period, t.PeriodUnit)
}

// Kind is what the profiles of one source measure, in the order in which they
// say it, and which of it to show first. Rows do not keep either.
type Kind struct {
	Types   []Type
	Default int // index in Types
}

// note returns the kind as a note of the table: rows keep neither the order of
// types nor types whose values are all zero.
func (k Kind) note() (string, error) {
	text, err := json.Marshal(k)
	return string(text), err
}

// Kinds returns the kinds of the profiles that a snapshot has, those without
// rows included, in the order of their first commit. Notes of the table that are
// no kinds are passed over.
func (db *DB) Kinds(snap *columnstore.Snapshot) ([]Kind, error) {
	notes, err := db.table.Notes(snap)
	if err != nil {
		return nil, err
	}
	kinds := make([]Kind, 0, len(notes))
	for _, text := range notes {
		var k Kind
		if json.Unmarshal([]byte(text), &k) == nil && k.Default >= 0 && k.Default < len(k.Types) {
			kinds = append(kinds, k)
		}
	}
	return kinds, nil
}
