package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/disk"
	"github.com/granarydb/granary/profile"
)

// profilesTable is the table of profiles in a directory.
const profilesTable = "profiles"

var errNoDir = cli.Usage(errors.New("--db has no name: is a variable of the shell empty?"))

// openDB opens the directory of --db for reading. It writes nothing there.
func openDB(ctx context.Context, opts columnstore.Options, source inputSource) (*loaded, error) {
	_, ok, err := disk.Identify(disk.System(source.db))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--db %s: there is no such directory; granary load makes one", source.db)
	case err != nil:
		return nil, source.explain(err)
	case !ok:
		return nil, fmt.Errorf("--db %s: there are no profiles in it; granary load fills a directory", source.db)
	}
	opts.Dir, opts.ReadOnly = source.db, true
	store, err := columnstore.Open(opts)
	if err != nil {
		return nil, source.explain(err)
	}
	l := &loaded{store: store, source: source}
	if err := l.openTable(ctx, opts.Manual); err != nil {
		_ = store.Close()
		return nil, source.explain(err)
	}
	return l, nil
}

// checkNew returns an error for a directory without a store that has other files.
func checkNew(dir string) error {
	if dir == "" {
		return errNoDir
	}
	if _, ok, err := disk.Identify(disk.System(dir)); err != nil || ok {
		return nil // opening it tells more
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if _, _, ours := disk.ParseName(e.Name()); !ours && e.Name() != disk.LockName {
			return cli.Usage(fmt.Errorf("--db %s: it has other files, such as %q: want a directory that granary load made, or a new one", dir, e.Name()))
		}
	}
	return err
}

// openTable opens the table of profiles, whatever the width of its buckets.
func (l *loaded) openTable(ctx context.Context, manual bool) (err error) {
	table := l.store.Table(profilesTable)
	if table == nil {
		return fmt.Errorf("the store has no table %q", profilesTable)
	}
	bucket := time.Duration(table.Schema().BucketWidth())
	if bucket == 0 {
		bucket = -1
	}
	if l.db, err = profile.Open(l.store, profile.Options{Bucket: bucket}); err == nil && manual {
		err = l.store.Maintain(ctx)
	}
	return err
}

// explain returns an error of the directory of --db as one that names it and what to do.
func (s *inputSource) explain(err error) error {
	switch {
	case err == nil || s.db == "":
		return err
	case errors.Is(err, disk.ErrLocked):
		return fmt.Errorf("--db %s: another process has it open: wait until it ends", s.db)
	}
	return fmt.Errorf("--db %s: %w", s.db, err)
}

// sizeOf returns the bytes of the files of a directory.
func sizeOf(dir string) (bytes int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return 0, err
		}
		bytes += info.Size()
	}
	return bytes, nil
}
