package debugfiles

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/granarydb/granary/internal/debuginfo"
)

// Errors of Add and Fetch.
var (
	// ErrUnknown reports bytes that are not a binary with a build id or a symbol file.
	ErrUnknown = debuginfo.ErrBinary
	// ErrTooMuch reports a file that exceeds Options.KeepBytes, or a bound of the reader.
	ErrTooMuch = debuginfo.ErrTooManyBytes
)

// newSuffix ends the names of files that are being written.
const newSuffix = ".new"

// Kept is a file that was kept.
type Kept struct {
	BuildID string
	Kind    string // elf, debug or sym
	Bytes   int64
}

// Add keeps what in has: a binary, its debug information, or a Breakpad file. It replaces the file of that kind with the same
// build id, and removes the oldest files beyond Options.KeepBytes. Nothing is kept after an error. Errors wrap ErrUnknown or
// ErrTooMuch, or are of in and of the disk.
func (s *Finder) Add(in io.Reader) (k Kept, err error) { return s.add(in, s.opts.KeepBytes, "") }

// add is Add for at most `most` bytes. The file must have the build id `want`, unless that is empty.
func (s *Finder) add(in io.Reader, most int64, want string) (k Kept, err error) {
	if err := os.MkdirAll(s.opts.Keep, 0o700); err != nil {
		return k, err
	}
	out, err := os.CreateTemp(s.opts.Keep, "*"+newSuffix)
	if err != nil {
		return k, err
	}
	defer func() { err = errors.Join(err, removed(out.Name())) }()
	k.Bytes, err = io.Copy(out, io.LimitReader(in, most+1))
	if err = errors.Join(err, out.Close()); err != nil {
		return k, err
	}
	if k.Bytes > most {
		return k, fmt.Errorf("%w: more than %d bytes", ErrTooMuch, most)
	}
	id, err := debuginfo.Identify(out.Name())
	if err != nil {
		return k, err
	}
	if len(id.BuildIDs) == 0 {
		return k, fmt.Errorf("%w: it has no build id: link it with --build-id, or Go with -ldflags=-B=gobuildid", ErrUnknown)
	}
	if want != "" && !(indexed{Identity: id}).hasID(want) {
		return k, fmt.Errorf("%w: it has the build id %s, not %s", ErrUnknown, id.BuildIDs[0], want)
	}
	k.BuildID, k.Kind = id.BuildIDs[0], string(id.Kind)
	return k, s.keep(out.Name(), k)
}

// removed removes a file, unless it has another name now.
func removed(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// keep gives a written file its name.
func (s *Finder) keep(written string, k Kept) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := filepath.Join(s.opts.Keep, k.BuildID+"."+k.Kind)
	if err := os.Rename(written, path); err != nil {
		return err
	}
	s.pool.forget(path)
	delete(s.files, path)
	delete(s.failed, k.BuildID)
	err := s.dropOldest(path)
	s.scanned = time.Time{}
	s.scan()
	return err
}

// dropOldest removes the oldest kept files beyond the bound, but not `kept`. The caller holds mu.
func (s *Finder) dropOldest(kept string) error {
	entries, err := os.ReadDir(s.opts.Keep)
	if err != nil {
		return err
	}
	type file struct {
		path    string
		bytes   int64
		changed time.Time
	}
	var all []file
	total := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && filepath.Ext(e.Name()) != newSuffix {
			all = append(all, file{filepath.Join(s.opts.Keep, e.Name()), info.Size(), info.ModTime()})
			total += info.Size()
		}
	}
	slices.SortFunc(all, func(a, b file) int { return a.changed.Compare(b.changed) })
	for _, f := range all {
		if total <= s.opts.KeepBytes {
			break
		}
		if f.path == kept {
			continue
		}
		if err := os.Remove(f.path); err != nil {
			return err
		}
		s.pool.forget(f.path)
		total -= f.bytes
	}
	return nil
}
