package columnstore

import (
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/txn"
)

// account tracks the heap bytes that the store holds or is about to allocate (C9).
//
// The store counts its own bytes, because the runtime's figures include the host's heap and lag behind by
// a garbage collection. It counts before it allocates: an insert, a rewrite or a file reserves the bytes
// that it may need (account.reserve), builds, and releases the reservation when the result is counted. Both
// are counted for a moment, because a sum that is too high costs only an early eviction.
//
// Each number is kept where its bytes change hands, so that no change misses it. Rows are counted in the
// root, which changes together with them. Bytes that only snapshots hold are counted by the publisher,
// which knows the open snapshots. The cache counts itself. Everything else is counted here. The
// method used adds the numbers without a lock.
//
// A reservation that does not fit makes room, the cheapest first. The cache goes first, because its
// contents can be read again. Rows that files have are unloaded next. Rows that only the log has are
// written into files. Only then does data get lost: the oldest states, and without a directory the oldest
// rows. One goroutine at a time makes room, because two would evict twice for one shortage. The
// reservation of a waiting goroutine does not count meanwhile, so that nothing is evicted for an insert
// that may fit without it.
type account struct {
	store     *Store
	budget    atomic.Int64 // 0: no limit
	log       atomic.Int64 // upper bound of the log's queue of entries that are not durable, and filing
	filing    atomic.Int64 // part of log: room for the piece that a flush is writing, which nothing else takes
	dicts     atomic.Int64 // dictionaries of all generations
	histories atomic.Int64 // interval histories, as of the last transaction on each
	pending   atomic.Int64 // reservations: open transactions, and inserts and rewrites in progress
	making    sync.Mutex   // held by the one goroutine that makes room
	stalled   txn.Version  // newest root whose reads did not end in time; guarded by making
}

// victim is what makeRoom can evict: a time range together with all earlier ranges of its table, a bucket
// to unload, or the states in a history that ended before an instant.
type victim struct {
	table  *Table
	state  *catalog.TableState
	start  int64
	pinned int64 // bytes that eviction would not free, because staying snapshots hold them

	key  string        // of the bucket to unload, which begins at start
	cold *catalog.Cold // its place in files after the unload; nil for a time range

	history *History // nil: a time range
	before  int64
}

// bytes returns the bytes of the range's rows. kept counts the rows that roots up to version newest hold
// too.
func (v victim) bytes(newest txn.Version) (bytes, kept int64) {
	from, to := v.state.RangeBounds(v.start)
	if v.cold != nil {
		from, to = v.state.Schema.BucketBounds(v.start)
	}
	return v.state.BytesBetween(from, to, newest)
}

// incoming describes the bytes for which room is made: rows in a time range of a table, or the store's
// own work if table is nil.
type incoming struct {
	table   *Table
	start   int64
	later   bool     // the caller can retry later
	history *History // the history whose commit makes room
	urgent  bool     // states of the newest bucket can go too
	sparing bool     // no states can go
}
