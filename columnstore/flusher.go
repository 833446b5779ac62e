package columnstore

import (
	"context"
	"errors"
	"fmt"
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
// All files of a manifest belong to one root, and so to one commit. Recovery reads the files and replays
// the later commits of the log. Files of different commits would need a log position for each bucket and
// each history, and a transaction over several tables could come back in part. A run ends early if its
// root expires or many files wait for a sync. It then keeps its bucket files in partial, and the next run
// uses a file again unless its bucket got rows since.
//
// A flush is due when the log since the manifest exceeds bound, or a quarter of bound while memory is
// short, because rows in files can leave memory without being lost. The bound is Options.LogBytes, or the
// bytes of the last flush if that is more, because a bucket that still gets rows is written again as a
// whole each time. A smaller bound would write the same rows many times. With this bound, each row is
// written about twice.
//
// Queries and eviction see new files only after the manifest is durable (flush.publish), because rows
// that were unloaded earlier would depend on a file that a failed run discards.
type flusher struct {
	store    *Store
	dir      *files.Dir
	manifest *files.Manifest // the durable manifest; nil if there is none
	flushing sync.Mutex      // held by the flush that runs, which owns the two above
	partial  cold.Partial    // bucket files of a run that ended early
	begun    uint64          // segment that a failed run began; 0 if none
	logged   atomic.Int64    // bytes logged since the manifest
	erased   atomic.Int64    // deletions of rows since the manifest
	bound    atomic.Int64
	unclean  atomic.Bool           // clean failed, and is due again
	failing  atomic.Pointer[error] // of the last flush or cleaning, for Stats
	wake     chan struct{}         // holds a token if there is something to do
	space    *disk.Space           // of the directory; nil without a DiskBudget
	stuck    atomic.Int64          // size of the directory when too few ranges could be dropped; else 0

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

// run is the flusher's goroutine.
func (fl *flusher) run() {
	var again <-chan time.Time // never
	for {
		select {
		case <-fl.store.stop:
			return
		case <-fl.wake:
		case <-again:
		}
		again = nil
		if fl.flushIfDue(fl.store.filing) != nil || fl.stuck.Load() > 0 {
			again = time.After(retryFlush)
		}
	}
}

// mostFlushes bounds the runs of one flush: a run can end early because its root expired or was given
// back before all files were written. Each run goes on with the files of the last one. The final run is
// not in steps, because buckets that get rows all the time would keep the flush from its end.
const mostFlushes = 16

// flushIfDue flushes if the log exceeds its bound, makes space on the disk, and retries a failed clean.
// It does nothing during another flush.
func (fl *flusher) flushIfDue(ctx context.Context) (err error) {
	if fl.store.log == nil || !fl.isDue(fl.store.memory.isTight()) && !fl.unclean.Load() && fl.space.Over(crowdedAt) <= 0 || !fl.flushing.TryLock() {
		return nil
	}
	defer fl.flushing.Unlock()
	if fl.store.closed.Load() {
		return ErrClosed // Close flushes, and then another process can have the directory
	}
	return fl.keepWithin(ctx, nil)
}

// lock waits for flusher.flushing and locks it. It returns false if the store is closed.
func (fl *flusher) lock() bool {
	for !fl.flushing.TryLock() {
		if fl.store.closed.Load() || fl.store.opts.simulated { // a simulated flusher would never go on
			return false
		}
		time.Sleep(time.Millisecond)
	}
	if fl.store.closed.Load() {
		fl.flushing.Unlock()
		return false
	}
	return true
}

// flushWhole flushes, and begins again if a run ends early. The caller holds flusher.flushing.
func (fl *flusher) flushWhole(ctx context.Context) (err error) {
	for run := range mostFlushes {
		if fl.store.closed.Load() {
			return ErrClosed // Close flushes, and then another process can have the directory
		}
		if err = fl.flushInSteps(ctx, run < mostFlushes-1); !errors.Is(err, ErrSnapshotExpired) && !errors.Is(err, cold.ErrPause) {
			break
		}
	}
	return err
}

// isDue reports whether the log exceeds its bound. The bound is a quarter if memory is short, because
// files make room.
func (fl *flusher) isDue(tight bool) bool {
	bound := fl.bound.Load()
	if tight {
		bound /= 4
	}
	return fl.logged.Load() > bound || fl.erased.Load() > 0 // deleted rows are still in files
}

// begin returns the segment from which on the log has all entries that are not in the next root. It
// begins a new segment, so that no segment is kept for entries that files have, and damage to them costs
// nothing. A run after a failed one uses that run's segment again, because repeated failures would
// otherwise make many segments. Close begins one all the same.
//
// Files of a run that ended early become durable first, while no root is held.
func (fl *flusher) begin() (err error) {
	if fl.partial != nil {
		if err := fl.dir.Sync(); err != nil {
			fl.discard()
			return err
		}
	}
	if fl.begun == 0 || fl.store.closed.Load() {
		if fl.begun, err = fl.store.log.Rotate(); err != nil {
			return err
		}
	}
	fl.store.opts.Yield("file/segment")
	fl.store.awaitCommit() // its entry can be before the segment, and its rows are not in the root yet
	return nil
}

// clean removes files and log segments that neither the manifest nor a read needs. After an error it is
// due again: the leftovers take space and do no harm. The caller holds flusher.flushing, or no other
// goroutine runs yet.
func (fl *flusher) clean() error {
	fl.discard()
	err := fl.dir.Clean(fl.manifest, fl.obsolete.Needed(fl.store.roots.Root().State, func(before txn.Version) bool {
		_, _, read := fl.store.roots.PinnedBefore(before)
		return read
	}))
	if err == nil && fl.manifest != nil {
		err = fl.store.log.RemoveBelow(fl.manifest.Segment)
	}
	fl.unclean.Store(err != nil)
	fl.failing.Store(&err)
	return err
}

// discard removes the files of a run that failed.
func (fl *flusher) discard() {
	fl.partial = nil
	fl.dir.Discard()
}

// fileForRoom writes rows that only the log has into files, so that they can be unloaded. It reports
// whether it wrote any, and the error of the disk.
func (fl *flusher) fileForRoom() (done bool, err error) {
	waits := !fl.flushing.TryLock()
	if waits && !fl.lock() {
		return false, nil
	}
	defer fl.flushing.Unlock()
	switch {
	case fl.store.closed.Load():
		return false, nil
	case fl.logged.Load() == 0:
		return waits, nil // the flush that it waited for wrote them
	}
	if err := fl.flushWhole(fl.store.filing); err != nil {
		return false, fmt.Errorf("write files: %w", err)
	}
	return true, nil
}
