package files

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/granarydb/granary/internal/disk"
)

// backupKind is the kind of a file that marks a directory while a backup is written there. OpenDir
// refuses such a directory.
const backupKind = "backup"

// Backup copies the current manifest's files, and the log up to the ends of its segments, into an empty
// directory, which is created if it is missing. The copy is whole and durable when Backup returns nil.
// Files are links where disk.Copy can make them. The directory cannot be opened while a backup is
// written, or if the backup never ends. After an error the directory is empty again, as far as files can
// be removed.
//
// The manifest is that of the last WriteManifest or OpenDir. The segments must have its log, so none may
// be removed meanwhile. The errors are fs.ErrExist for a directory with files, disk.ErrLocked,
// disk.ErrDisk, *disk.DamagedError, ctx's error, and errors of reading.
func (d *Dir) Backup(ctx context.Context, m *Manifest, log []disk.Segment, to disk.FS) (err error) {
	lock, err := to.Lock(false)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, lock.Close()) }()
	there, err := to.List()
	if err != nil {
		return err
	}
	for _, name := range there {
		if name != disk.LockName {
			return fmt.Errorf("backup: %w: the directory has %s", fs.ErrExist, name)
		}
	}
	b := backup{dir: d, to: to}
	if err = b.write(ctx, m, log); err != nil {
		b.remove()
	}
	return err
}

// backup is a backup in progress.
type backup struct {
	dir   *Dir
	to    disk.FS
	names []string // created files, besides the mark
}

// mark returns the name of the file that is there until the backup is whole.
func (b *backup) mark() string { return disk.FileName(backupKind, 1) }

func (b *backup) write(ctx context.Context, m *Manifest, log []disk.Segment) error {
	w, err := disk.CreateFile(b.to, b.dir.store, backupKind, 1, VersionOf(backupKind))
	if err == nil {
		err = w.Finish(nil)
	}
	if err == nil {
		err = failed(b.to.SyncDir()) // before the directory can be opened
	}
	if err != nil {
		return err
	}
	for _, s := range log {
		if m != nil && s.Number < m.Segment {
			continue
		}
		err := b.add(ctx, disk.FileName(disk.LogKind, s.Number), func(string) error { return disk.CopySegment(b.dir.fs, b.to, s) })
		if err != nil {
			return err
		}
	}
	for _, name := range append(slices.Sorted(maps.Keys(m.Names())), b.dir.manifests...) {
		if err := b.add(ctx, name, func(name string) error { return disk.Copy(b.dir.fs, b.to, name, name) }); err != nil {
			return err
		}
	}
	if err := b.to.SyncDir(); err != nil {
		return failed(err)
	}
	if err := b.to.Remove(b.mark()); err != nil {
		return failed(err)
	}
	return failed(b.to.SyncDir())
}

// add creates a file.
func (b *backup) add(ctx context.Context, name string, write func(name string) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := write(name); err != nil {
		return err
	}
	b.names = append(b.names, name)
	return nil
}

// remove removes the created files, and then the mark, after the removal is durable. Otherwise the mark
// stays, and Open refuses the directory.
func (b *backup) remove() {
	for _, name := range b.names {
		if b.to.Remove(name) != nil {
			return
		}
	}
	if b.to.SyncDir() == nil {
		_ = b.to.Remove(b.mark())
	}
}
