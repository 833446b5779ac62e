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

// flusher writes committed rows into files when the log has grown by its bound, because the log can begin
// anew then. Its goroutine and Close run it.
//
// All files of a manifest are of one root, so of one commit. Recovery reads the files and replays the later
// commits of the log. Files of different commits would need a log position for each bucket and each history,
// and a transaction over several tables could come back in part. A run that ends early, because its root expired
// or many files wait for a sync, keeps its bucket files in partial: the next run takes a bucket's file over
// unless the bucket has got rows since, so that the work of a run is not lost.
//
// A flush is due when the log since the manifest exceeds bound, or a quarter of bound while memory is short,
// because rows in files can leave memory without being lost. The bound is Options.LogBytes, or the bytes of the last flush if
// they are more: a bucket that still gets rows is written again as a whole each time, and a smaller bound would
// write the same rows many times. With it, each row is filed about twice.
//
// Queries and eviction see new files only after the manifest is durable (flush.publish). Rows that
// were unloaded earlier would depend on a file that a failed run discards.
type flusher struct {
	dir      *files.Dir
	manifest *files.Manifest // the durable manifest; nil if there is none
	flushing sync.Mutex      // held by the flush that runs, which owns the two above
	partial  cold.Partial    // files of buckets of a run whose root expired
	begun    uint64          // segment that a run began which failed; 0 if none did
	logged   atomic.Int64    // bytes of entries since the manifest
	bound    atomic.Int64
	unclean  atomic.Bool           // clean failed, and is due again
	failing  atomic.Pointer[error] // of the last try to file or to clean, for Stats
	wake     chan struct{}         // holds a token if there is something to do
	space    *disk.Space           // of the directory; nil without a DiskBudget
	stuck    atomic.Int64          // bytes of the directory when too few ranges could be dropped; else 0

	obsolete cold.Obsolete
}

// retryFlush is how long the flusher waits after an error.
const retryFlush = time.Second

// look wakes the flusher if there is something to do.
func (fl *flusher) look(tight bool) {
	if fl.wake == nil || !fl.isDue(tight) && !fl.unclean.Load() && !fl.isCrowded() {
		return
	}
	select {
	case fl.wake <- struct{}{}:
	default: // it has a token already
	}
}

// runFlusher is the flusher's goroutine.
func (s *Store) runFlusher() {
	var again <-chan time.Time // never
	for {
		select {
		case <-s.stop:
			return
		case <-s.flusher.wake:
		case <-again:
		}
		again = nil
		if s.flushIfDue(context.Background()) != nil || s.flusher.stuck.Load() > 0 {
			again = time.After(retryFlush)
		}
	}
}

// mostFlushes is how often the flusher begins again at once, because its root expired or was given back before
// all files were written. Each run goes on with the files of the one before. The last is not in steps,
// so that buckets that get rows all the time do not keep the flusher from its end.
const mostFlushes = 16

// flushIfDue flushes if the log exceeds its bound, makes space on the disk, and cleans if that failed. It does
// nothing during another flush.
func (s *Store) flushIfDue(ctx context.Context) (err error) {
	fl := &s.flusher
	if s.log == nil || !fl.isDue(s.isTight()) && !fl.unclean.Load() && fl.space.Over(crowdedAt) <= 0 || !fl.flushing.TryLock() {
		return nil
	}
	defer fl.flushing.Unlock()
	if s.closed.Load() {
		return ErrClosed // Close files, and then another process can have the directory
	}
	return s.keepWithin(ctx, nil)
}

// lockFlush waits for flusher.flushing and takes it. It returns false if the store is closed.
func (s *Store) lockFlush() bool {
	for !s.flusher.flushing.TryLock() {
		if s.closed.Load() || s.opts.Manual { // a simulated flusher would never go on
			return false
		}
		time.Sleep(time.Millisecond)
	}
	if s.closed.Load() {
		s.flusher.flushing.Unlock()
		return false
	}
	return true
}

// flushWhole flushes, again if its root expires. The caller holds flusher.flushing.
func (s *Store) flushWhole(ctx context.Context) (err error) {
	for run := range mostFlushes {
		if s.closed.Load() {
			return ErrClosed // Close files, and then another process can have the directory
		}
		if err = s.flushInSteps(ctx, run < mostFlushes-1); !errors.Is(err, ErrSnapshotExpired) && !errors.Is(err, cold.ErrPause) {
			break
		}
	}
	return err
}

// isDue reports whether the log exceeds its bound: a quarter of it if memory is short, which files make
// room in.
func (fl *flusher) isDue(tight bool) bool {
	bound := fl.bound.Load()
	if tight {
		bound /= 4
	}
	return fl.logged.Load() > bound
}

// begin returns the segment of the log that has, with those above, all entries that are not of the
// root that is taken next. It begins one, so that no entry that is filed is needed any more, and
// damage to it costs nothing. A run goes on with the segment of one that failed, so that failures
// make no segments; Close begins one all the same.
//
// Files of a run that ended amid them become durable first, while no root is held.
func (fl *flusher) begin(s *Store) (err error) {
	if fl.partial != nil {
		if err := fl.dir.Sync(); err != nil {
			fl.discard()
			return err
		}
	}
	if fl.begun == 0 || s.closed.Load() {
		if fl.begun, err = s.log.Rotate(); err != nil {
			return err
		}
	}
	s.opts.Yield("file/segment")
	s.awaitCommit() // its entry can be below the segment, and it is not of the root yet
	return nil
}

// clean removes files and log segments that neither the manifest nor a read needs. After an error it is due again:
// the rest takes space, and harms nothing. The caller holds flusher.flushing, or is alone.
func (fl *flusher) clean(s *Store) error {
	fl.discard()
	err := fl.dir.Clean(fl.manifest, fl.obsolete.Needed(s.roots.Root().State, func(before txn.Version) bool {
		_, _, read := s.roots.PinnedBefore(before)
		return read
	}))
	if err == nil && fl.manifest != nil {
		err = s.log.RemoveBelow(fl.manifest.Segment)
	}
	fl.unclean.Store(err != nil)
	fl.failing.Store(&err)
	return err
}
