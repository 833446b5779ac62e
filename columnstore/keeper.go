package columnstore

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/granarydb/granary/catalog/filed"
)

// keeper files what is committed when the log has grown by its bound, so that the log can begin
// anew. One goroutine does so, and Close.
//
// The bound is Options.LogBytes, or as much as was filed last, if that is more: a bucket that still
// gets rows is written again as a whole each time, so each row is filed about twice.
type keeper struct {
	dir      *filed.Dir
	manifest *filed.Manifest // the one that counts; nil if there is none
	busy     atomic.Bool     // somebody files, and owns the two above
	logged   atomic.Int64    // bytes of entries since the manifest
	bound    atomic.Int64
	failing  atomic.Pointer[error] // of the last try to file, for Stats
	wake     chan struct{}         // holds a token if the log exceeds its bound
}

// retryFiling is how long the keeper waits after an error.
const retryFiling = time.Second

// look wakes the keeper if the log exceeds its bound.
func (k *keeper) look() {
	if k.wake == nil || k.logged.Load() <= k.bound.Load() {
		return
	}
	select {
	case k.wake <- struct{}{}:
	default: // it has a token already
	}
}

// keep is the keeper's goroutine.
func (s *Store) keep() {
	var again <-chan time.Time // never
	for {
		select {
		case <-s.stop:
			return
		case <-s.keeper.wake:
		case <-again:
		}
		again = nil
		if s.fileIfDue(context.Background()) != nil {
			again = time.After(retryFiling)
		}
	}
}

// fileIfDue files if the log exceeds its bound.
func (s *Store) fileIfDue(ctx context.Context) error {
	if s.log == nil || s.keeper.logged.Load() <= s.keeper.bound.Load() {
		return nil
	}
	return s.file(ctx)
}
