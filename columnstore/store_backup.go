package columnstore

import (
	"context"
	"fmt"
	"math"
)

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
