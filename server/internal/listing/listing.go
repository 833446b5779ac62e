// Package listing reads parts of source files, whose names come from profiles, from the directories and the git repositories that a
// server maps them to.
//
//	L1  No byte of a file outside of a mapped directory is read: neither ".." nor an absolute name, a symbolic link or a version
//	    leads out of it. Of a repository only the files of the mapped revision are read, from its objects.
//	L2  Only regular files with text are read, and none whose name, or a folder's, begins with a dot. Bytes and lines are bounded.
//	L3  A repository is read by the command git, which asks no other server, and runs nothing that the repository configures.
package listing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Dir maps the names of source files that begin with a prefix to a directory, or to a revision of a git repository. The part of a
// name behind the prefix is the path in the directory, or the repository. {version} in the directory, or in the revision, stands for
// the value of the profiles' label version.
type Dir struct {
	Prefix string // such as /build/shop/ or example.com/shop; empty for all
	Dir    string // such as /srv/src/shop/{version}; with a revision that of a repository, bare or with a working tree
	// Revision is a commit, a tag or a branch, such as v{version}. Empty means the files of the directory.
	Revision string
}

// versionPart stands for the version of the profiles in a directory.
const versionPart = "{version}"

// Bounds of what is read.
const (
	maxName = 1000
	// MaxBytes bounds the bytes of a file.
	MaxBytes = 8 << 20
	// MaxLines bounds the lines of a part.
	MaxLines = 2000
	maxLine  = 500 // bytes of a line; the rest is cut
)

// Errors say why there is no text.
var (
	ErrNoDir   = errors.New("no directory of sources is mapped to this file, and no archive of its version was pushed")
	ErrVersion = errors.New("the directory or the revision of its sources has a version, and the profiles have none, or several: choose one by its label version")
	ErrNoFile  = errors.New("the file is not among the sources")
	ErrNoText  = errors.New("the file is no text")
	ErrLarge   = fmt.Errorf("the file has more than %d bytes", MaxBytes)
)

// Dirs are mapped directories. They are immutable, and safe for concurrent use.
type Dirs struct{ all []Dir }

// New returns Dirs. It returns an error for a directory that is none, a repository without the revision, or without a command git,
// and for a repeated prefix. A directory or a revision with a version is looked up when it is read.
func New(all []Dir) (*Dirs, error) {
	d := &Dirs{slices.Clone(all)}
	slices.SortStableFunc(d.all, func(a, b Dir) int { return cmp.Compare(len(b.Prefix), len(a.Prefix)) }) // the longest first
	for i, m := range d.all {
		if slices.ContainsFunc(d.all[:i], func(other Dir) bool { return other.Prefix == m.Prefix }) {
			return nil, fmt.Errorf("sources: the prefix %q is mapped twice", m.Prefix)
		}
		if err := m.check(); err != nil {
			return nil, fmt.Errorf("sources of %q: %w", m.Prefix, err)
		}
	}
	return d, nil
}

// check returns an error for a directory that is none, or that is no repository with the revision.
func (m *Dir) check() error {
	if m.Revision != "" {
		return m.checkGit()
	}
	root, _ := m.split("")
	info, err := os.Stat(root)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no directory", root)
	}
	return err
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
func (d *Dirs) Part(ctx context.Context, file, version string, first, last int) ([]string, error) {
	for i := range d.all {
		if name, is := Inside(file, d.all[i].Prefix); is {
			data, err := d.all[i].read(ctx, name, version)
			if err != nil {
				return nil, err
			}
			return Lines(data, first, last)
		}
	}
	return nil, ErrNoDir
}

// Inside returns the part of a file's name behind a prefix, and whether it begins with it.
func Inside(file, prefix string) (name string, is bool) {
	file, prefix = strings.ReplaceAll(file, `\`, "/"), strings.TrimSuffix(strings.ReplaceAll(prefix, `\`, "/"), "/")
	rest, is := strings.CutPrefix(file, prefix)
	if !is || prefix == "" {
		return file, is
	}
	return strings.CutPrefix(rest, "/")
}

// IsPlain reports whether a path, or a version in one, can only lead downwards to files that are not hidden.
func IsPlain(name string) bool {
	if name == "" || len(name) > maxName || strings.ContainsAny(name, "\x00\\:") || !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name {
		return false
	}
	return !slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return part[0] == '.' })
}

// read returns the bytes of a file in the directory, or in the repository.
func (m *Dir) read(ctx context.Context, name, version string) ([]byte, error) {
	if !IsPlain(name) {
		return nil, ErrNoFile
	}
	if m.Revision != "" {
		return m.readGit(ctx, name, version)
	}
	if strings.Contains(m.Dir, versionPart) && (strings.Contains(version, "/") || !IsPlain(version)) {
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
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, ErrNoFile
	}
	return data, nil
}

// IsText reports whether the bytes of a file are text.
func IsText(data []byte) bool { return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 }

// Lines returns the lines of a file from first to last, at most MaxLines. Long lines are cut.
func Lines(data []byte, first, last int) (out []string, err error) {
	switch {
	case len(data) > MaxBytes:
		return nil, ErrLarge
	case !IsText(data):
		return nil, ErrNoText
	}
	last = min(last, first+MaxLines-1)
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
