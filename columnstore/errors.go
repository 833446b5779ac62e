package columnstore

import (
	"errors"

	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// Errors of a store's life.
var (
	// ErrClosed says that the store is closed.
	ErrClosed = errors.New("store is closed")
	// ErrOptions says that an option has a value out of its range.
	ErrOptions = errors.New("invalid options")
	// ErrTable says that a table exists already, or belongs to another store.
	ErrTable = errors.New("invalid table")
)

// Errors of a write. The row, the column and the limit are in the text.
var (
	// ErrBatch says that rows do not fit the schema of the table.
	ErrBatch = schema.ErrBatch
	// ErrLimit says that rows are beyond a limit on sizes.
	ErrLimit = schema.ErrLimit
	// ErrFuture says that a row is further ahead of the clock than
	// Options.FutureLimit.
	ErrFuture = errors.New("time is in the future")
	// ErrMemory says that rows do not fit into Options.MemoryBudget, and nothing
	// that may be evicted would make room. It can pass: when older transactions
	// and scans end, or rows of a later time bucket come.
	ErrMemory = errors.New("out of the memory budget")
	// ErrTooOld says that a row is of a time bucket that was dropped, by retention
	// or by eviction.
	ErrTooOld = errors.New("time is older than what is kept")
	// ErrTxDone says that the transaction was committed or aborted before.
	ErrTxDone = txn.ErrDone
)

// Errors of a read.
var (
	// ErrSnapshotClosed says that the snapshot was closed before the call.
	ErrSnapshotClosed = txn.ErrSnapshotClosed
	// ErrSnapshotExpired says that the memory budget wanted back what the snapshot
	// held; a new one can be taken.
	ErrSnapshotExpired = txn.ErrSnapshotExpired
	// ErrQuery says that a query names an unknown column or compares a column
	// with a value of another type.
	ErrQuery = errors.New("invalid query")
	// ErrQueryMemory says that the answer needs more memory than the query may take.
	ErrQueryMemory = errors.New("query needs more memory than it may take")
)
