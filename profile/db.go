package profile

import (
	"cmp"
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
	// Table is the table's name. Empty means DefaultTable.
	Table string
	// Tenant owns the table: it has a table of its own, whose name in the store is TenantName. Empty means Anonymous.
	Tenant string
	// Bucket is a time bucket's width. 0 means DefaultBucket. A negative width turns buckets off.
	Bucket time.Duration
	// KeepZeros also stores values that are 0.
	KeepZeros bool
	// Limits bounds the profiles that are inserted.
	Limits Limits
	// Without names profile labels that do not tell sources apart, such as a file's name, if there is a
	// file for each time. It only matters to gauge means (Query.SumGauges).
	Without []string
	// Names, if not nil, returns the frames at an address, innermost first: Function, as the compiler named it, File and Line.
	// It is asked for locations of profiles that have an address alone. A profile that is inserted is stored with the
	// frames, and a profile stored without gets them in answers. Scans and exports of rows have addresses still. It
	// is safe for concurrent use, and each call delays an insert or an answer.
	Names func(Address) []Frame
}

// DefaultTable is the name of a table of profiles.
const DefaultTable = "profiles"

// DB is a profile table in a store. It is safe for concurrent use and lives as long as its store.
type DB struct {
	table *columnstore.Table
	store *columnstore.Store
	opts  Options

	workspaces sync.Pool                  // of *workspace
	lists      atomic.Pointer[tableLists] // from the last query about types
	mended     atomic.Int64
	namer      codec.Namer // nil without Options.Names
}

// As returns the options for the table as it is in a store: with the width of its buckets, if it exists.
func (o Options) As(store *columnstore.Store) Options {
	if t := store.Table(TenantName(o.Tenant, cmp.Or(o.Table, DefaultTable))); t != nil {
		o.Bucket = cmp.Or(time.Duration(t.Schema().BucketWidth()), -1)
	}
	return o
}

// Open returns a handle on the profile table, and creates the table if it does not exist. Handles on one
// table share its profiles. If the table exists with another schema or bucket width, the error is
// columnstore.ErrTable and names the first difference. Additional columns at the end are no difference if
// they are optional, because a later release may add them; this handle inserts no values there. A table
// with fewer columns is refused. ErrTenant reports an invalid Options.Tenant.
func Open(store *columnstore.Store, opts Options) (*DB, error) {
	opts.Table, opts.Tenant = cmp.Or(opts.Table, DefaultTable), cmp.Or(opts.Tenant, Anonymous)
	if err := cmp.Or(CheckTenant(opts.Tenant), CheckOwnName(opts.Table)); err != nil {
		return nil, err
	}
	opts.Table = TenantName(opts.Tenant, opts.Table)
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
	return &DB{table: table, store: store, opts: opts, namer: opts.namer()}, nil
}

// Table returns the table of the profiles, for scans and inserts of Arrow records. Such inserts accept
// any time in ColumnTimestamp, in Unix nanoseconds, because only profiles are checked.
func (db *DB) Table() *columnstore.Table { return db.table }

// Store returns the table's store.
func (db *DB) Store() *columnstore.Store { return db.store }

// Mended returns how many strings of inserted profiles were not UTF-8, or too long for a value of a label, since the DB
// was opened. The strings are stored with U+FFFD in place of the wrong bytes.
func (db *DB) Mended() int64 { return db.mended.Load() }

// InsertOptions supplies facts that a profile lacks.
type InsertOptions struct {
	// Labels are the whole profile's labels, such as job and pod. A label with an empty value is ignored.
	Labels map[string]string
	// Origin is the profile's file name or URL, if known. Some profiles of Go have the same types, and
	// only a name tells them apart. If the types are the same as in Go's block and mutex profiles, and
	// the last element of Origin, or else the element before it, has the word block or mutex, as in
	// mutex-1.pb.gz, the word becomes the label NameLabel. The same holds for allocs, if the types are
	// the same as in Go's heap and allocs profiles. A NameLabel in Labels takes precedence.
	Origin string
	// Time is used for a profile without a time. Set it to time.Now() where such profiles are recent. A
	// time before 1980 needs a store whose Options.PastLimit allows it. If Time is zero, a profile
	// without a time is ErrProfile.
	Time time.Time
	// Retime has Time also replace a time before 1980, such as the time in microseconds of older SDKs.
	Retime bool
	// SampleTimes, if not nil, has a time for each sample, in Unix nanoseconds, which its rows get
	// instead of the profile's time. All must be within columnstore.Codes.Range of the profile's time.
	// DB.Profiles counts each time as a profile.
	SampleTimes []int64
	// AllFrames keeps the frames that the profile's patterns drop_frames and keep_frames tell to drop. By
	// default they are dropped for good (DB.InsertEncoded).
	AllFrames bool
	// Deltas, if not nil, converts values that count from the start of a process to differences from the
	// previous profile with the same labels, apart from Options.Without. nil inserts them as they are.
	Deltas *Deltas
	// Sender, if not empty, tells sources apart whose labels are equal. It is not stored.
	Sender string
	// FirstWhole keeps the values since the start of the process in the first profile of a source, and in one
	// after a restart or a gap. Otherwise Deltas makes them 0, because they are older than what is asked.
	FirstWhole bool
	// Subtracted, if not nil, is set to what Deltas did. Call its Drop if the transaction of the caller does
	// not commit, because the next profile would otherwise be subtracted from one that is not stored. Of
	// several profiles in a transaction, drop the last first.
	Subtracted *Subtraction
}

// Deltas turns cumulative profiles into differences.
type Deltas = codec.Deltas

// DeltaOptions are the options of NewDeltas.
type DeltaOptions = codec.DeltaOptions

// Subtraction is what a Deltas did with a profile.
type Subtraction = codec.Subtraction

// Counting is how a Deltas counted a profile.
type Counting = codec.Counting

// The ways of counting, as in package profile/pprof.
const (
	CountedAsSent  = codec.CountedAsSent
	CountedGrowth  = codec.CountedGrowth
	CountedFirst   = codec.CountedFirst
	CountedRestart = codec.CountedRestart
	CountedGap     = codec.CountedGap
	CountedLate    = codec.CountedLate
)

// NewDeltas returns a Deltas without sources.
func NewDeltas(opts DeltaOptions) *Deltas { return codec.NewDeltas(opts) }

// OpenDeltas is NewDeltas with the sources of a file, which a program with a directory of profiles keeps beside them,
// so that no difference is lost while it restarts. The file is not part of the store. Call Deltas.Close at the end.
func OpenDeltas(path string, opts DeltaOptions) (*Deltas, error) { return codec.OpenDeltas(path, opts) }
