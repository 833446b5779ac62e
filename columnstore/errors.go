package columnstore

import (
	"errors"
	"fmt"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// Errors of the life of a store.
var (
	// ErrClosed is returned after the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrOptions is returned for an option whose value is out of range.
	ErrOptions = errors.New("invalid options")
	// ErrReadOnly is returned for a write to a store that was opened with Options.ReadOnly.
	ErrReadOnly = errors.New("store is open for reading only")
	// ErrTable is returned for a table that exists already or belongs to another store.
	ErrTable = errors.New("invalid table")
)

// Errors of a write. The text names the row, the column and the limit.
var (
	// ErrBatch is returned for rows that do not fit the table's schema.
	ErrBatch = schema.ErrBatch
	// ErrLimit is returned for rows that exceed a limit on sizes.
	ErrLimit = schema.ErrLimit
	// ErrFuture is returned for a row that is further ahead of the clock than
	// Options.FutureLimit.
	ErrFuture = catalog.ErrFuture
	// ErrPast is returned for a row that is further behind the clock than Options.PastLimit. Mostly its
	// time is not in nanoseconds.
	ErrPast = catalog.ErrPast
	// ErrMemory is returned if rows do not fit into Options.MemoryBudget, and neither eviction
	// nor files can make room. A later attempt can succeed: after older transactions and scans
	// end, or with rows of a later time bucket.
	ErrMemory = errors.New("out of the memory budget")
	// ErrTooOld is returned for a row of a range that retention, eviction or DropBefore dropped.
	ErrTooOld = catalog.ErrTooOld
	// ErrTxDone is returned when a transaction is used after its commit or abort.
	ErrTxDone = txn.ErrDone
)

// Errors of a read.
var (
	// ErrSnapshotClosed is returned when a snapshot is used after Snapshot.Close.
	ErrSnapshotClosed = txn.ErrSnapshotClosed
	// ErrSnapshotExpired is returned when a snapshot is used after the store took its memory back for the
	// memory budget. A new snapshot can be taken.
	ErrSnapshotExpired = txn.ErrSnapshotExpired
)

func tooOld(bucket, floor int64) error {
	return fmt.Errorf("%w: rows of %s, kept from %s", ErrTooOld, catalog.TimeText(bucket), catalog.TimeText(floor))
}
