package columnstore

import (
	"context"
	"fmt"
	"math"
)

// Backup writes a copy of the store's directory into an empty one, such as System(dir), while the
// store goes on. The copy has all commits that returned before the call and maybe later ones: the first
// ones, whole, as a restart would have them. It is durable when Backup returns nil, and Open opens it.
//
// Files of rows and dictionaries, which never change, become links if both directories are on one file
// system; then they take no space, and damage of the disk can be in both. The log is copied, about
// Options.LogBytes. Meanwhile no files are written, so the log grows, and no commit waits.
//
// The errors are ErrOptions for a store without a directory; ErrClosed; fs.ErrExist for a directory with
// files; ErrLocked; ErrDisk and ErrNotDurable; the error of ctx; and those of reading. After
// an error the other directory is empty again, or Open refuses it.
func (s *Store) Backup(ctx context.Context, to FS) error {
	if s.opts.FS == nil {
		return fmt.Errorf("%w: a store without a Dir has no backup", ErrOptions)
	}
	fl := &s.flusher
	fl.flushing.Lock() // nobody removes a file or a segment
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
