package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"

	"github.com/gofrs/flock"
)

// LockName is System's lock file. It stays when the lock is released.
const LockName = "lock"

// MarkPrefix is what the names of files begin with that say what a directory is a copy of. A store does not read them.
const MarkPrefix = "mirror."

// system is a directory of the operating system.
type system struct {
	dir    string
	locked atomic.Pointer[heldLock] // nil until it is locked for one owner
}

// System returns a directory of the operating system. It touches nothing until a method is called. Only the
// owner can access the files and the directory (0600, 0700). The lock does not work on network file systems
// that have none.
func System(dir string) FS { return &system{dir: dir} }

// systemFile is an os.File with the methods that File needs besides.
type systemFile struct{ *os.File }

func (s *system) path(name string) string { return filepath.Join(s.dir, name) }

// Create implements FS.
func (s *system) Create(name string) (File, error) {
	return s.open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

// Open implements FS.
func (s *system) Open(name string) (File, error) { return s.open(name, os.O_RDONLY) }

func (s *system) open(name string, flag int) (File, error) {
	if flag&os.O_CREATE != 0 {
		if err := s.here(); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(s.path(name), flag, 0o600)
	if err != nil {
		return nil, err
	}
	return systemFile{f}, nil
}

// Remove implements FS.
func (s *system) Remove(name string) error { return os.Remove(s.path(name)) }

// Trim implements FS.
func (s *system) Trim(name string, size int64) error {
	info, err := os.Stat(s.path(name))
	if err != nil || info.Size() <= size {
		return err
	}
	return os.Truncate(s.path(name), size)
}

// List implements FS. Directories are not listed.
func (s *system) List() (names []string, err error) {
	entries, err := os.ReadDir(s.dir)
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// SyncDir implements FS.
func (s *system) SyncDir() error { return syncDir(s.dir) }

// Lock implements FS.
func (s *system) Lock(shared bool) (io.Closer, error) {
	if shared {
		return s.lockShared()
	}
	if err := s.make(); err != nil {
		return nil, err
	}
	lock := flock.New(s.path(LockName))
	closer, err := locked(lock, lock.TryLock)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(lock.Path())
	if err != nil {
		return nil, errors.Join(err, closer.Close())
	}
	s.locked.Store(&heldLock{lock, info})
	return closer, nil
}

// heldLock is a lock with the file that was locked.
type heldLock struct {
	*flock.Flock
	file os.FileInfo
}

// here returns an error if the directory that was locked is no longer at its name, or the lock file is not in it: it was
// removed or replaced, and another process can have what is there now.
func (s *system) here() error {
	lock := s.locked.Load()
	if lock == nil {
		return nil
	}
	at, err := os.Stat(lock.Path())
	if lock.Locked() && (err != nil || !os.SameFile(lock.file, at)) {
		return fmt.Errorf("%s: the file that was locked is gone: the directory was removed or replaced below this process", lock.Path())
	}
	return nil
}

// lockShared locks the directory for a reader. A copy of a directory can lack the lock file: it is made,
// because a later writer needs it to notice the reader. On a read-only file system no writer can come, and
// there is nothing to lock.
func (s *system) lockShared() (io.Closer, error) {
	lock := flock.New(s.path(LockName), flock.SetFlag(os.O_RDONLY))
	closer, err := locked(lock, lock.TryRLock)
	if !errors.Is(err, fs.ErrNotExist) {
		return closer, err
	}
	lock = flock.New(s.path(LockName), flock.SetFlag(os.O_RDONLY|os.O_CREATE), flock.SetPermissions(0o600))
	closer, err = locked(lock, lock.TryRLock)
	if errors.Is(err, syscall.EROFS) {
		return noLock{}, nil
	}
	return closer, err
}

// noLock is the lock for a directory on a read-only file system.
type noLock struct{}

// Close implements io.Closer.
func (noLock) Close() error { return nil }

// make makes the directory and missing parents durably, if it does not exist.
func (s *system) make() error { return makeDir(s.dir) }

// makeDir is system.make of a directory. A parent is durable before the directory is made in it.
func makeDir(dir string) error {
	parent := filepath.Dir(dir)
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) && parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	return syncDir(parent)
}

func locked(lock *flock.Flock, try func() (bool, error)) (io.Closer, error) {
	switch ok, err := try(); {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fmt.Errorf("%s: %w", filepath.Dir(lock.Path()), ErrLocked)
	}
	return lock, nil
}

// syncDir does nothing on Windows, which has no such call: NTFS journals names.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Free implements FS.
func (s *system) Free() (int64, error) { return free(s.dir) }

// Size implements File.
func (f systemFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Reserve implements File.
func (f systemFile) Reserve(size int64) error {
	if err := allocate(f.File, size); err != nil {
		return &fs.PathError{Op: fmt.Sprintf("reserve %d bytes for", size), Path: f.Name(), Err: err}
	}
	return f.Truncate(size)
}
