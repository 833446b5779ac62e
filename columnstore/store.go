package columnstore

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/internal/cache"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/cold"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/txn"
)

// Store is a database in memory, or in a directory. All methods are safe for concurrent use.
//
// Lock order: creating -> tables -> commit (package txn) -> a table's generations, and memory.making ->
// tables. The queue's lock is a leaf. No yield point, callback to the host or channel send
// happens under a lock.
type Store struct {
	opts       Options
	roots      *txn.Publisher[*catalog.Database]
	closed     atomic.Bool
	memory     account
	cache      *cache.Cache[cold.Key]
	counters   counters
	log        *disk.Log // nil without a directory
	dir        directory
	retention  atomic.Int64 // nanoseconds; 0: no bound
	clock      clock        // for retention
	flusher    flusher
	maintainer maintainer

	running   sync.WaitGroup // counts the maintainer and the flusher, which Open starts
	stop      chan struct{}
	filing    context.Context // of flushes; done when Close may not write files any more
	endFiling context.CancelFunc

	creating sync.Mutex // held while a table or a history is created

	tables struct {
		sync.Mutex
		byName    map[string]*Table
		histories map[string]*History
	}
}

// writable returns ErrClosed or ErrReadOnly if nothing can be written, else nil.
func (s *Store) writable() error {
	switch {
	case s.closed.Load():
		return ErrClosed
	case s.opts.ReadOnly:
		return ErrReadOnly
	}
	return nil
}

func (s *Store) timeLimits() catalog.TimeLimits {
	return catalog.LimitTimes(s.opts.Now().UnixNano(), s.opts.FutureLimit, s.opts.PastLimit)
}
