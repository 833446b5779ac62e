package columnstore

import (
	"context"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/entries"
	"github.com/granarydb/granary/internal/files"
)

// directory is the part of a store with a directory that Close must close.
type directory struct {
	id      disk.StoreID
	lock    io.Closer
	read    []disk.Segment // of the log, if Options.ReadOnly is set
	closing sync.Once
	err     error // of closing
}

// openDir locks the directory, loads its files, replays its log, and begins to log. Without a directory
// it does nothing.
func (s *Store) openDir() (err error) {
	fs := s.opts.FS
	if fs == nil {
		return nil
	}
	if s.dir.lock, err = fs.Lock(s.opts.ReadOnly); err != nil {
		return err
	}
	if s.dir.id, err = disk.IdentifyOrNew(fs, s.opts.Rand, s.opts.ReadOnly); err != nil {
		return err
	}
	if s.opts.DiskBudget > 0 && !s.opts.ReadOnly {
		if s.flusher.space, err = disk.NewSpace(fs, s.opts.DiskBudget); err != nil {
			return err
		}
		fs, s.opts.FS = s.flusher.space, s.flusher.space
	}
	files, manifest, err := files.OpenDir(fs, s.dir.id)
	if err != nil {
		return err
	}
	s.flusher.dir = files
	r := &recovery{store: s}
	from := uint64(0)
	if manifest != nil {
		if err := r.load(files, manifest); err != nil {
			return fmt.Errorf("open files of commit %d: %w", manifest.Commit, err)
		}
		from = manifest.Segment
	}
	log, err := disk.ReadLog(fs, s.dir.id, from)
	if err != nil {
		return files.Blame(err)
	}
	defer log.Close()
	if err := r.repeatLog(entries.NewWalk(manifest, r), log); err != nil {
		return err
	}
	if name := files.Found(); manifest == nil && name != "" && len(log.Segments()) == 0 {
		return files.Blame(&disk.DamagedError{File: name, Reason: "no manifest names it, and there is no log"})
	}
	if s.opts.ReadOnly {
		s.flusher.manifest, s.dir.read = manifest, log.Segments()
		return nil
	}
	return s.beginLog(manifest, log)
}

// segments returns the segments in the log with their durable bytes. With Options.ReadOnly they are the
// segments that were read.
func (s *Store) segments() []disk.Segment {
	if s.log == nil {
		return s.dir.read
	}
	return s.log.Segments()
}

// beginLog continues a log, and removes leftovers of an earlier run.
func (s *Store) beginLog(manifest *files.Manifest, log *disk.Reader) (err error) {
	if s.log, err = disk.OpenLog(log, s.opts.logOptions()); err != nil {
		return err
	}
	fl := &s.flusher
	fl.manifest = manifest
	fl.bound.Store(s.opts.LogBytes)
	for _, segment := range s.log.Segments() {
		fl.logged.Add(segment.Size)
	}
	_ = fl.clean() // otherwise the flusher retries, and Stats has the error
	if !s.opts.Manual {
		fl.wake = make(chan struct{}, 1)
		fl.look(s.memory.isTight())
	}
	return nil
}

// closeDir flushes the rows that are only in the log, makes the log durable, and unlocks the directory.
// No commit appends to a closed store's log: commits check closed under the commit lock, and awaitCommit
// takes that lock once.
func (s *Store) closeDir() (err error) {
	s.awaitCommit()
	s.flusher.flushing.Lock()
	defer s.flusher.flushing.Unlock() // a waiting flush then finds the store closed
	if s.log != nil {
		_ = s.flusher.flush(s.filing) // after an error the log still has the rows
		err = s.log.Close()
	}
	if s.dir.lock != nil {
		_ = s.dir.lock.Close()
	}
	return err
}

// Backup writes a copy of the store's directory into an empty directory, such as System(dir), while the
// store goes on. The copy has all commits that returned before the call, and possibly later ones, as a
// restart would have them: a prefix of the commits. It is durable when Backup returns nil, and Open opens
// it.
//
// Files of rows and dictionaries never change, so they become hard links if both directories are on one
// file system. They then take no space, but damage to such a file is in both copies. The log is copied,
// about Options.LogBytes. Meanwhile no files are written, so the log grows, but no commit waits.
//
// The errors are ErrOptions for a store without a directory; ErrClosed; fs.ErrExist for a directory with
// files; ErrLocked; ErrDisk and ErrNotDurable; ctx's error; and errors of reading. After an error the
// other directory is empty again, or Open refuses it.
func (s *Store) Backup(ctx context.Context, to FS) error {
	if s.opts.FS == nil {
		return fmt.Errorf("%w: a store without a Dir has no backup", ErrOptions)
	}
	fl := &s.flusher
	fl.flushing.Lock() // so that no file or segment is removed
	defer fl.flushing.Unlock()
	if s.closed.Load() {
		return ErrClosed
	}
	if s.log != nil {
		if err := s.log.Sync(ctx, math.MaxUint64); err != nil {
			return fmt.Errorf("backup: %w", err)
		}
	}
	return fl.dir.Backup(ctx, fl.manifest, s.segments(), to)
}
