package columnstore

import (
	"sync"
	"sync/atomic"

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
