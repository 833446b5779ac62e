// Package listing reads parts of source files, whose names come from profiles, from the directories that a server maps them to.
//
//	L1  No byte of a file outside of a mapped directory is read: neither ".." nor an absolute name, a symbolic link or a version
//	    leads out of it.
//	L2  Only regular files with text are read, and none whose name, or a folder's, begins with a dot. Bytes and lines are bounded.
package listing

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Dir maps the names of source files that begin with a prefix to a directory. The part of a name behind the prefix is the path
// in the directory. Its part {version}, if there is one, stands for the value of the profiles' label version.
type Dir struct {
	Prefix string // such as /build/shop/ or example.com/shop; empty for all
	Dir    string // such as /srv/src/shop/{version}
}

// versionPart stands for the version of the profiles in a directory.
const versionPart = "{version}"

// Bounds of what is read.
const (
	maxName  = 1000
	maxBytes = 8 << 20 // of a file
	// MaxLines bounds the lines of a part.
	MaxLines = 2000
	maxLine  = 500 // bytes of a line; the rest is cut
)

// Errors say why there is no text.
var (
	ErrNoDir   = errors.New("no directory of sources is mapped to this file")
	ErrVersion = errors.New("the directory of its sources has a version, and the profiles have none, or several: choose one by its label version")
	ErrNoFile  = errors.New("the file is not among the sources")
	ErrNoText  = errors.New("the file is no text")
	ErrLarge   = fmt.Errorf("the file has more than %d bytes", maxBytes)
)

// Dirs are mapped directories. They are immutable, and safe for concurrent use.
type Dirs struct{ all []Dir }

// New returns Dirs. It returns an error for a directory that is none, and for a repeated prefix. A directory with a version is
// looked up when it is read.
func New(all []Dir) (*Dirs, error) {
	d := &Dirs{slices.Clone(all)}
	slices.SortStableFunc(d.all, func(a, b Dir) int { return cmp.Compare(len(b.Prefix), len(a.Prefix)) }) // the longest first
	for i, m := range d.all {
		if slices.ContainsFunc(d.all[:i], func(other Dir) bool { return other.Prefix == m.Prefix }) {
			return nil, fmt.Errorf("sources: the prefix %q is mapped twice", m.Prefix)
		}
		root, _ := m.split("")
		info, err := os.Stat(root)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no directory", root)
		}
		if err != nil {
			return nil, fmt.Errorf("sources of %q: %w", m.Prefix, err)
		}
	}
	return d, nil
}

// split returns the part of the directory before {version}, and the part from it on, of a version.
func (m *Dir) split(version string) (root, inside string) {
	root, rest, has := strings.Cut(m.Dir, versionPart)
	if !has {
		return m.Dir, "."
	}
	at := strings.LastIndexAny(root, `/\`) + 1
	return cmp.Or(root[:at], "."), root[at:] + version + rest
}

// Part returns the lines of a file from first to last, which count from 1. It returns fewer if the file is shorter, and at most
// MaxLines. version is that of the profiles, or "".
func (d *Dirs) Part(file, version string, first, last int) ([]string, error) {
	name := strings.ReplaceAll(file, `\`, "/")
	for i := range d.all {
		if inside, is := d.all[i].inside(name); is {
			return d.all[i].part(inside, version, first, min(last, first+MaxLines-1))
		}
	}
	return nil, ErrNoDir
}

// inside returns the path of a file in the directory, and whether the directory is mapped to it.
func (m *Dir) inside(name string) (string, bool) {
	prefix := strings.TrimSuffix(m.Prefix, "/")
	rest, is := strings.CutPrefix(name, prefix)
	if !is || prefix == "" {
		return name, is
	}
	return strings.CutPrefix(rest, "/")
}

// isPlain reports whether a path, or a version in one, can only lead downwards to files that are not hidden.
func isPlain(name string) bool {
	if name == "" || len(name) > maxName || strings.ContainsAny(name, "\x00\\:") || !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name {
		return false
	}
	return !slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return part[0] == '.' })
}

// part reads a part of a file in the directory.
func (m *Dir) part(name, version string, first, last int) ([]string, error) {
	if !isPlain(name) {
		return nil, ErrNoFile
	}
	if strings.Contains(m.Dir, versionPart) && (strings.Contains(version, "/") || !isPlain(version)) {
		return nil, ErrVersion
	}
	at, inside := m.split(version)
	root, err := os.OpenRoot(at)
	if err != nil {
		return nil, ErrNoFile
	}
	defer func() { _ = root.Close() }() // nothing was written
	full := path.Join(filepath.ToSlash(inside), name)
	info, err := root.Stat(full)
	if err != nil || !info.Mode().IsRegular() {
		return nil, ErrNoFile // also for one that is outside: a reader learns nothing of it
	}
	f, err := root.OpenFile(full, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it can be a pipe by now
	if err != nil {
		return nil, ErrNoFile
	}
	defer func() { _ = f.Close() }()
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, ErrNoFile
	}
	return partOf(f, first, last)
}

// partOf reads lines of a text.
func partOf(f fs.File, first, last int) ([]string, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	switch {
	case err != nil:
		return nil, ErrNoFile
	case len(data) > maxBytes:
		return nil, ErrLarge
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return nil, ErrNoText
	}
	var out []string
	n := 0
	for line := range bytes.Lines(data) {
		if n++; n > last {
			break
		}
		if n >= first {
			line = bytes.TrimRight(line, "\r\n")
			out = append(out, strings.ToValidUTF8(string(line[:min(len(line), maxLine)]), ""))
		}
	}
	return out, nil
}
