package profile

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/granarydb/granary/columnstore"
	codec "github.com/granarydb/granary/profile/pprof"
	"github.com/granarydb/granary/schema"
)

// Options configures a DB. The zero value is a good default.
type Options struct {
	// Table is the name of the table. Empty means "profiles".
	Table string
	// Bucket is the width of a time bucket. 0 means DefaultBucket; a negative width turns
	// buckets off.
	Bucket time.Duration
	// KeepZeros also stores values that are 0.
	KeepZeros bool
	// Limits bounds the profiles that are inserted.
	Limits Limits
}

// DB is a table of profiles in a store. It is safe for concurrent use and lives as long as its
// store.
type DB struct {
	table *columnstore.Table
	store *columnstore.Store
	opts  Options

	workspaces sync.Pool                  // of *workspace
	lists      atomic.Pointer[tableLists] // of the last question about types
}

// Open returns a handle on the table of profiles, and creates the table if it does not exist.
// Handles on one table share its profiles. If the table exists with another schema or bucket
// width, the error is columnstore.ErrTable, and names the first difference. Further columns behind
// those of Schema are none if rows need not have them, as a later release may add: profiles of this
// handle lack them. A table of fewer columns is refused.
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
	} else if want, err := schema.New(def); err != nil || !isExtended(table.Schema(), def) {
		return nil, fmt.Errorf("%w: %q exists and is not a table of profiles with buckets of %v: %s", columnstore.ErrTable, opts.Table, opts.Bucket, difference(table.Schema(), want))
	}
	return &DB{table: table, store: store, opts: opts}, nil
}

// Table returns the table of the profiles, for scans and inserts of Arrow records. Inserts into
// it take any time in ColumnTimestamp, in Unix nanoseconds; only profiles are checked.
func (db *DB) Table() *columnstore.Table { return db.table }

// Store returns the store of the table.
func (db *DB) Store() *columnstore.Store { return db.store }

// InsertOptions supplies facts that a profile lacks.
type InsertOptions struct {
	// Labels are the labels of the whole profile, such as job and pod. An empty value is no label.
	Labels map[string]string
	// Origin is the name of the file, or the URL, that the profile comes from, if it is known.
	// Some profiles of Go have the same types, which only a name tells apart. If the types are
	// those of Go's block and mutex profiles, and the last element of Origin or else the one
	// before it has the word block or mutex, as in mutex-1.pb.gz, the word becomes the label
	// NameLabel; and so does allocs, if the types are those of Go's heap and allocs profiles. A
	// NameLabel in Labels precedes it.
	Origin string
	// Time is used for a profile without a time. Set it to time.Now() where profiles without one are recent. One before
	// 1980 needs a store whose Options.PastLimit allows it. If Time is the zero value, a profile without a time is ErrProfile.
	Time time.Time
	// SampleTimes, if not nil, has a time for each sample, in Unix nanoseconds, for its rows instead of that of the profile.
	// All must be within columnstore.Codes.Range of the time of the profile. DB.Profiles counts each as a profile.
	SampleTimes []int64
	// AllFrames keeps the frames that the patterns drop_frames and keep_frames of the profile tell
	// to drop. By default they are dropped for good, as DB.InsertEncoded describes.
	AllFrames bool
	// Deltas, if not nil, inserts the values that count from the start of a process as
	// differences to the profile before it of the same labels. nil inserts them as they are.
	Deltas *Deltas
}

// Deltas turns cumulative profiles into differences.
type Deltas = codec.Deltas

// DeltaOptions are the options of NewDeltas.
type DeltaOptions = codec.DeltaOptions

// NewDeltas returns a Deltas without series. The profiles of a series must be inserted in the
// order of their times: one that is not later than the one before is ErrProfile.
func NewDeltas(opts DeltaOptions) *Deltas { return codec.NewDeltas(opts) }
