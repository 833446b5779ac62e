package debugfiles

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/granarydb/granary/internal/debuginfo"
)

const (
	// scanEvery is the time between two looks at the directories.
	scanEvery = time.Minute
	// maxFiles bounds the files of the directories.
	maxFiles = 20_000
)

// scan looks for files that are new or changed in the directories, unless it did so just before. The caller holds mu.
func (s *Finder) scan() {
	now := s.opts.Now()
	if past := now.Sub(s.scanned); past >= 0 && past < scanEvery && !s.scanned.IsZero() {
		return
	}
	s.scanned = now
	dirs := slices.Clone(s.opts.Dirs)
	if s.opts.Keep != "" {
		dirs = append(dirs, s.opts.Keep)
	}
	found := map[string]indexed{}
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() && d.Type()&fs.ModeSymlink == 0 || strings.HasSuffix(path, newSuffix) {
				return nil //nolint:nilerr // a folder that cannot be read has no files
			}
			if len(found) >= maxFiles {
				return fs.SkipAll
			}
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				found[path] = s.look(path, info)
			}
			return nil
		})
	}
	for path := range s.files {
		if f, ok := found[path]; !ok || !f.changed.Equal(s.files[path].changed) || f.size != s.files[path].size {
			s.pool.forget(path)
		}
	}
	s.files = found
	s.index()
}

// look returns what a file is, as it was known if it did not change. A file of another kind has no build ids.
func (s *Finder) look(path string, info fs.FileInfo) indexed {
	f := s.files[path]
	if f.path != "" && f.changed.Equal(info.ModTime()) && f.size == info.Size() {
		return f
	}
	f = indexed{path: path, changed: info.ModTime(), size: info.Size()}
	if id, err := debuginfo.Identify(path); err == nil {
		f.Identity = id
	}
	return f
}

// index makes the lists by build id: debug files first, because binaries beside them are stripped. The caller holds mu.
func (s *Finder) index() {
	s.byID = map[string][]string{}
	kinds := []debuginfo.Kind{debuginfo.DebugFile, debuginfo.BinaryFile, debuginfo.BreakpadFile}
	paths := make([]string, 0, len(s.files))
	for path := range s.files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, kind := range kinds {
		for _, path := range paths {
			if f := s.files[path]; f.Kind == kind {
				for _, id := range f.BuildIDs {
					s.byID[id] = append(s.byID[id], path)
				}
			}
		}
	}
}
