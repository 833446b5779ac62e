package columnstore

import (
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/txn"
)

// account tracks the heap bytes that the store holds or is about to allocate. The bytes of
// rows are in the root, and the bytes that only snapshots hold are in the publisher.
type account struct {
	budget    int64        // 0: none
	log       int64        // the most that the log keeps, of entries that are not durable
	dicts     atomic.Int64 // dictionaries of the generations that tables have
	histories atomic.Int64 // interval histories, as of the last transaction on each
	pending   atomic.Int64 // open transactions, and inserts and rewrites in progress
	making    sync.Mutex   // held by the one goroutine that makes room
	stalled   txn.Version  // newest root of reads that did not end in time; making guards it
}

// victim is a time range that can be evicted together with all earlier ranges of its table, a bucket
// that can be unloaded, or the states of a history that ended before an instant.
type victim struct {
	table  *Table
	state  *catalog.TableState
	start  int64
	pinned int64 // bytes that eviction would not free, because staying snapshots hold them

	key  string        // of the bucket that begins at start, which is unloaded
	cold *catalog.Cold // what it is then; nil if a time range is evicted

	history *History // nil: a time range
	before  int64
}

// bytes returns the bytes of the range's rows. kept is the part that roots up to version newest hold too.
func (v victim) bytes(newest txn.Version) (bytes, kept int64) {
	from, to := v.state.RangeBounds(v.start)
	if v.cold != nil {
		from, to = v.state.Schema.BucketBounds(v.start)
	}
	return v.state.BytesBetween(from, to, newest)
}

// incoming is the destination of the bytes for which room is made: rows of a time range of a
// table, or the store's own work if table is nil.
type incoming struct {
	table   *Table
	start   int64
	later   bool     // the work can be put off
	history *History // at whose commit room is made
	urgent  bool     // states of the newest bucket can go
	sparing bool     // no states can go
}
