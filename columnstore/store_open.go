package columnstore

import (
	"math"

	"github.com/granarydb/granary/catalog"
	"github.com/granarydb/granary/txn"
)

// Open starts an empty store. Close must be called to end its goroutine. The error is
// ErrOptions.
func Open(opts Options) (*Store, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{opts: opts, roots: txn.New(&catalog.Database{Newest: math.MinInt64}), stop: make(chan struct{})}
	s.memory.budget = opts.MemoryBudget
	s.tables.byName = map[string]*Table{}
	s.tables.histories = map[string]*History{}
	s.queue.init()
	if err := s.openDir(); err != nil {
		_ = s.closeDir() // nothing was logged
		return nil, err
	}
	if !opts.Manual {
		s.maintainer.Go(s.maintain)
	}
	return s, nil
}

// Close ends maintenance, and waits for a rewrite in progress. Inserts and new snapshots then
// return ErrClosed. Open snapshots stay readable. It is idempotent.
func (s *Store) Close() {
	if s.closed.CompareAndSwap(false, true) {
		close(s.stop)
	}
	s.maintainer.Wait()
	s.dir.closing.Do(func() { s.dir.err = s.closeDir() })
}
