// Package archive keeps archives of source files that are pushed, each for a version of a program, and reads files from them.
//
//	A1  Nothing is unpacked to the file system. A name in an archive, or in a profile, is a key in a zip file that this package wrote,
//	    never a path; a version and a prefix are hashed before they are one.
//	A2  Only regular files of text with plain names are kept (listing.IsPlain), each name once. Links lead nowhere.
//	A3  Bytes, files and names of an archive are bounded while it is read, compressed or not; so are all of a folder: the oldest go.
//	A4  An archive is there whole or not at all. After a crash of the machine the newest ones can be missing: nothing waits for the disk.
package archive

import (
	"archive/zip"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/granarydb/granary/server/internal/listing"
)

// Bounds.
const (
	maxArchives = 200    // of a folder; the oldest go
	maxFiles    = 50_000 // of an archive
	maxEntries  = 200_000
	maxNames    = 8 << 20 // bytes of the names of an archive's files
	maxText     = 200     // bytes of a version, and of a prefix
)

// Errors of Add.
var (
	// ErrUnknown reports bytes that are no archive, or a version that is none.
	ErrUnknown = errors.New("want a tar, gzipped or not, or a zip")
	// ErrTooMuch reports an archive beyond a bound.
	ErrTooMuch = errors.New("the archive is too large")
)

// Archive is a kept archive.
type Archive struct {
	Version string    `json:"version"`
	Prefix  string    `json:"prefix"` // of the names of files in profiles; the rest of a name is one in the archive
	Pushed  time.Time `json:"pushed"`
	Files   int       `json:"files"`
	Skipped int       `json:"skipped"` // files that are no text, hidden, too large, or no regular files
	Bytes   int64     `json:"bytes"`   // of the kept file
}

// key tells archives apart.
func (a *Archive) key() [2]string { return [2]string{a.Version, a.Prefix} }

// Folder has the archives in a directory of its own. It is safe for concurrent use.
type Folder struct {
	dir   string
	bytes int64
	most  int // archives
	now   func() time.Time

	adding sync.Mutex // held by Add
	mu     sync.RWMutex
	all    []Archive // the oldest first
}

// Open returns the archives in a directory, which is made when the first one is added, within a number of bytes. It removes what is
// left of an Add that did not end. The error is of the disk. It costs a look at each archive.
func Open(dir string, bytes int64, now func() time.Time) (*Folder, error) {
	f := &Folder{dir: dir, bytes: bytes, most: maxArchives, now: now}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch filepath.Ext(e.Name()) {
		case newSuffix:
			if err := os.Remove(path); err != nil {
				return nil, err
			}
		case suffix:
			if a, err := look(path); err == nil && f.path(&a) == path { // a damaged one has no text
				f.all = append(f.all, a)
			}
		}
	}
	slices.SortFunc(f.all, func(a, b Archive) int { return a.Pushed.Compare(b.Pushed) })
	return f, nil
}

// look returns the archive in a file.
func look(path string) (a Archive, err error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return a, err
	}
	defer func() { _ = z.Close() }() // nothing was written
	info, err := os.Stat(path)
	if err != nil {
		return a, err
	}
	err = json.Unmarshal([]byte(z.Comment), &a)
	a.Bytes = info.Size()
	return a, err
}

// Suffixes of the names of files: of archives, and of files that are being written.
const (
	suffix    = ".zip"
	newSuffix = ".new"
)

// path returns the path of an archive's file.
func (f *Folder) path(a *Archive) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%q", a.key()))
	return filepath.Join(f.dir, hex.EncodeToString(h[:16])+suffix)
}

// List returns the archives, the newest first.
func (f *Folder) List() []Archive {
	f.mu.RLock()
	defer f.mu.RUnlock()
	all := slices.Clone(f.all)
	slices.Reverse(all)
	return all
}

// Add keeps the archive that in has: a tar, a gzipped tar or a zip. Its files are those of profiles of the version, whose names begin
// with the prefix. The first `strip` folders of each name are left out. It replaces the archive of the same version and prefix, and
// removes the oldest ones beyond the bounds. Nothing is kept after an error. Errors wrap ErrUnknown or ErrTooMuch, or are of in, of the
// disk, or of the context.
func (f *Folder) Add(ctx context.Context, version, prefix string, strip int, in io.Reader) (a Archive, err error) {
	f.adding.Lock()
	defer f.adding.Unlock()
	a = Archive{Version: version, Prefix: prefix, Pushed: f.now().UTC().Truncate(time.Millisecond)}
	if isText := len(version) <= maxText && len(prefix) <= maxText && utf8.ValidString(version+prefix); !isText || version == "" {
		return a, fmt.Errorf("%w: a version has 1 to %d bytes of UTF-8, and a prefix at most as many", ErrUnknown, maxText)
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return a, err
	}
	out, err := os.CreateTemp(f.dir, "*"+newSuffix)
	if err != nil {
		return a, err
	}
	defer func() {
		if gone := os.Remove(out.Name()); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	p := newPacker(ctx, out, strip, f.bytes)
	err = p.pack(in, f.dir)
	a.Files, a.Skipped = p.files, p.skipped
	if err == nil {
		err = p.end(&a)
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return a, err
	}
	info, err := os.Stat(out.Name())
	if err != nil {
		return a, err
	}
	a.Bytes = info.Size()
	return a, f.keep(out.Name(), a)
}

// keep gives a written archive its name, and removes the oldest ones.
func (f *Folder) keep(written string, a Archive) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := os.Rename(written, f.path(&a)); err != nil {
		return err
	}
	f.all = append(slices.DeleteFunc(f.all, func(o Archive) bool { return o.key() == a.key() }), a)
	total := int64(0)
	for i := range f.all {
		total += f.all[i].Bytes
	}
	for len(f.all) > 1 && (total > f.bytes || len(f.all) > f.most) {
		if err := os.Remove(f.path(&f.all[0])); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= f.all[0].Bytes
		f.all = f.all[1:]
	}
	return nil
}

// Remove removes the archive of a version and a prefix, and reports whether there was one. The error is of the disk.
func (f *Folder) Remove(version, prefix string) (found bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := Archive{Version: version, Prefix: prefix}
	i := slices.IndexFunc(f.all, func(o Archive) bool { return o.key() == a.key() })
	if i < 0 {
		return false, nil
	}
	if err := os.Remove(f.path(&a)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true, err
	}
	f.all = slices.Delete(f.all, i, i+1)
	return true, nil
}

// Read returns the bytes of a file that profiles of a version name: from the archive with the longest prefix of its name. It returns
// listing.ErrNoDir if there is no archive for it, and listing.ErrNoFile if that has not the file.
func (f *Folder) Read(file, version string) ([]byte, error) {
	f.mu.RLock()
	defer f.mu.RUnlock() // the file is not removed meanwhile
	var of *Archive
	inside := ""
	for i := range f.all {
		a := &f.all[i]
		if name, is := listing.Inside(file, a.Prefix); is && a.Version == version && (of == nil || cmp.Less(len(of.Prefix), len(a.Prefix))) {
			of, inside = a, name
		}
	}
	if of == nil {
		return nil, listing.ErrNoDir
	}
	z, err := zip.OpenReader(f.path(of))
	if err != nil {
		return nil, listing.ErrNoFile
	}
	defer func() { _ = z.Close() }()
	for _, e := range z.File {
		if e.Name == inside {
			return contents(e)
		}
	}
	return nil, listing.ErrNoFile
}

// contents returns the bytes of a file.
func contents(e *zip.File) ([]byte, error) {
	r, err := e.Open()
	if err != nil {
		return nil, listing.ErrNoFile
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(io.LimitReader(r, listing.MaxBytes+1))
	if err != nil {
		return nil, listing.ErrNoFile
	}
	return data, nil
}
