package columnstore

import (
	"context"
	"math"
	"time"

	"github.com/granarydb/granary/internal/cache"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/cold"
	"github.com/granarydb/granary/txn"
)

// Open starts an empty store, or opens the store in Options.Dir. Close must be called to end its
// goroutines. The errors are ErrOptions, and with a directory ErrLocked; ErrFormat; a *DamagedError,
// which names the file; or another error of the disk.
//
// Open reads the manifest, the histories, and the series and places in each rows file. It replays the
// log, about 70 ns a row. Rows and dictionaries in files are read on demand: if such a file is damaged,
// reads and inserts that need it return the *DamagedError, and others succeed.
func Open(opts Options) (*Store, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{opts: opts, roots: txn.New(&catalog.Database{Newest: math.MinInt64}), stop: make(chan struct{})}
	s.clock.now = opts.Now
	s.clock.settled()
	s.filing, s.endFiling = context.WithCancel(context.Background())
	s.memory.store, s.flusher.store, s.maintainer.store = s, s, s
	if opts.FS != nil && !opts.ReadOnly {
		s.memory.log.Store(opts.queueBytes)
	}
	s.memory.bound(opts.MemoryBudget)
	s.retention.Store(int64(opts.Retention))
	s.tables.byName = map[string]*Table{}
	s.tables.histories = map[string]*History{}
	s.maintainer.queue.init()
	s.cache = cache.New[cold.Key](s.memory.hasRoom)
	if err := s.openDir(); err != nil {
		_ = s.closeDir() // nothing was logged
		return nil, err
	}
	if !opts.Manual {
		s.running.Go(s.maintainer.run)
	}
	if s.flusher.wake != nil {
		s.running.Go(s.flusher.run)
	}
	return s, nil
}

// Close ends maintenance, and waits for a rewrite in progress. Inserts and new snapshots then return
// ErrClosed. Open snapshots stay readable, with a directory until another store opens it. Close is
// idempotent.
//
// With a directory, everything committed is durable when Close returns nil. Close writes rows that are
// only in the log into files, so that the next Open is fast, for at most Options.CloseWithin. The error ErrNotDurable means that the disk
// fails, and commits that were not durable yet are lost.
func (s *Store) Close() error {
	s.dir.closing.Do(func() {
		s.closed.Store(true)
		close(s.stop)
		if s.opts.CloseWithin > 0 {
			defer time.AfterFunc(s.opts.CloseWithin, s.endFiling).Stop()
		}
		s.running.Wait()
		s.dir.err = s.closeDir()
		s.endFiling()
	})
	return s.dir.err
}
