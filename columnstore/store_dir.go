package columnstore

import (
	"io"
	"sync"

	"github.com/granarydb/granary/catalog"
	"github.com/granarydb/granary/disk"
	"github.com/granarydb/granary/txn"
)

// directory is what a store with a directory must close.
type directory struct {
	lock    io.Closer
	closing sync.Once
	err     error // of closing
}

// openDir locks the directory, repeats its log, and begins to log. It does nothing without a
// directory.
func (s *Store) openDir() (err error) {
	fs := s.opts.fs
	if fs == nil {
		return nil
	}
	if s.dir.lock, err = fs.Lock(false); err != nil {
		return err
	}
	log, err := disk.ReadLog(fs, s.opts.store, 0)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := s.recoverLog(log); err != nil {
		return err
	}
	s.log, err = disk.OpenLog(log, s.opts.log)
	return err
}

// closeDir makes the log durable and gives the directory back. Nobody appends to the log behind
// a closed store: commits look under the commit lock, which closeDir takes once.
func (s *Store) closeDir() (err error) {
	s.roots.Rewrite(func(*txn.Root[*catalog.Database]) (next txn.Next[*catalog.Database], ok bool) { return next, false })
	if s.log != nil {
		err = s.log.Close()
	}
	if s.dir.lock != nil {
		_ = s.dir.lock.Close()
	}
	return err
}
