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
	opts     Options
	roots    *txn.Publisher[*catalog.Database]
	closed   atomic.Bool
	memory   account
	cache    *cache.Cache[cold.Key]
	queue    dueQueue
	counters counters
	log      *disk.Log // nil without a directory
	dir      directory
	flusher  flusher

	running sync.WaitGroup // counts the maintainer and the flusher, which Open starts
	stop    chan struct{}

	creating sync.Mutex // held while a table or a history is created

	tables struct {
		sync.Mutex
		byName    map[string]*Table
		histories map[string]*History
	}
}

// Begin starts a transaction. It costs one allocation and holds nothing before the first
// Insert. After that, Commit or Abort must end it: until then its rows count in the memory
// budget.
func (s *Store) Begin() *Tx {
	tx := &Tx{store: s}
	s.roots.Start(&tx.ticket)
	return tx
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

// Snapshot returns the state after the newest commit. The caller must close it, because it keeps its
// state alive. It costs a few atomic operations and one allocation. The error is ErrClosed.
func (s *Store) Snapshot() (*Snapshot, error) {
	if s.closed.Load() {
		return nil, ErrClosed
	}
	snap := &Snapshot{store: s}
	snap.state.Take(s.roots)
	return snap, nil
}

// View calls f with a snapshot and closes it afterwards. The errors come from ctx, Snapshot and f.
func (s *Store) View(ctx context.Context, f func(*Snapshot) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	snap, err := s.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	return f(snap)
}

func (s *Store) timeLimits() catalog.TimeLimits {
	return catalog.LimitTimes(s.opts.Now().UnixNano(), s.opts.FutureLimit, s.opts.PastLimit)
}
