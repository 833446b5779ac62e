package columnstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/granarydb/granary/internal/cold"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/txn"
)

// keeper files what is committed when the log has grown by its bound, so that the log can begin
// anew. One goroutine does so, and Close.
//
// The bound is Options.LogBytes, or as much as was filed last, if that is more: a bucket that still
// gets rows is written again as a whole each time, so each row is filed about twice.
type keeper struct {
	dir      *files.Dir
	manifest *files.Manifest // the one that counts; nil if there is none
	filing   sync.Mutex      // held by who files, and owns the two above
	partial  cold.Partial    // files of buckets of a run whose root expired
	begun    uint64          // segment that a run began which failed; 0 if none did
	logged   atomic.Int64    // bytes of entries since the manifest
	bound    atomic.Int64
	unclean  atomic.Bool           // clean failed, and is due again
	failing  atomic.Pointer[error] // of the last try to file or to clean, for Stats
	wake     chan struct{}         // holds a token if there is something to do
	space    *disk.Space           // of the directory; nil without a DiskBudget
	stuck    atomic.Int64          // bytes of the directory when too few ranges could be dropped; else 0

	leaving cold.Leaving
}

// retryFiling is how long the keeper waits after an error.
const retryFiling = time.Second

// look wakes the keeper if there is something to do.
func (k *keeper) look(tight bool) {
	if k.wake == nil || !k.isDue(tight) && !k.unclean.Load() && !k.isCrowded() {
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
		if s.fileIfDue(context.Background()) != nil || s.keeper.stuck.Load() > 0 {
			again = time.After(retryFiling)
		}
	}
}

// mostFilings is how often the keeper files at once while its root expires, or is given back, before
// all files are written. Each run goes on with the files of the one before. The last is not in steps,
// so that buckets that get rows all the time do not keep the keeper from its end.
const mostFilings = 16

// fileIfDue files if the log exceeds its bound, makes space on the disk, and cleans if that failed. It does
// nothing while another call files.
func (s *Store) fileIfDue(ctx context.Context) (err error) {
	k := &s.keeper
	if s.log == nil || !k.isDue(s.isTight()) && !k.unclean.Load() && k.space.Over(crowdedAt) <= 0 || !k.filing.TryLock() {
		return nil
	}
	defer k.filing.Unlock()
	if s.closed.Load() {
		return ErrClosed // Close files, and then another process can have the directory
	}
	return s.keepWithin(ctx, nil)
}

// lockFiling waits for keeper.filing and takes it. It returns false if the store is closed.
func (s *Store) lockFiling() bool {
	for !s.keeper.filing.TryLock() {
		if s.closed.Load() || s.opts.Manual { // a simulated keeper would never go on
			return false
		}
		time.Sleep(time.Millisecond)
	}
	if s.closed.Load() {
		s.keeper.filing.Unlock()
		return false
	}
	return true
}

// fileWhole files, again if its root expires. The caller holds keeper.filing.
func (s *Store) fileWhole(ctx context.Context) (err error) {
	for run := range mostFilings {
		if s.closed.Load() {
			return ErrClosed // Close files, and then another process can have the directory
		}
		if err = s.fileInSteps(ctx, run < mostFilings-1); !errors.Is(err, ErrSnapshotExpired) && !errors.Is(err, cold.ErrPause) {
			break
		}
	}
	return err
}

// isDue reports whether the log exceeds its bound: a quarter of it if memory is short, which files make
// room in.
func (k *keeper) isDue(tight bool) bool {
	bound := k.bound.Load()
	if tight {
		bound /= 4
	}
	return k.logged.Load() > bound
}

// begin returns the segment of the log that has, with those above, all entries that are not of the
// root that is taken next. It begins one, so that no entry that is filed is needed any more, and
// damage to it costs nothing. A run goes on with the segment of one that failed, so that failures
// make no segments; Close begins one all the same.
//
// Files of a run that ended amid them become durable first, while no root is held.
func (k *keeper) begin(s *Store) (err error) {
	if k.partial != nil {
		if err := k.dir.Sync(); err != nil {
			k.discard()
			return err
		}
	}
	if k.begun == 0 || s.closed.Load() {
		if k.begun, err = s.log.Rotate(); err != nil {
			return err
		}
	}
	s.opts.Yield("file/segment")
	s.awaitCommit() // its entry can be below the segment, and it is not of the root yet
	return nil
}

// clean removes what the manifest does not need. After an error it is due again: what is left takes
// space, and harms nothing. The caller holds keeper.filing, or is alone.
func (k *keeper) clean(s *Store) error {
	k.discard()
	err := k.dir.Clean(k.manifest, k.leaving.Needed(s.roots.Root().State, func(before txn.Version) bool {
		_, _, read := s.roots.HeldBefore(before)
		return read
	}))
	if err == nil && k.manifest != nil {
		err = s.log.RemoveBelow(k.manifest.Segment)
	}
	k.unclean.Store(err != nil)
	k.failing.Store(&err)
	return err
}
