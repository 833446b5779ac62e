package dictionaries

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"weak"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
)

// Read returns a generation for queries: the hot object, or a copy from files. It returns the errors of
// Owner.Read, and files.ErrFile if no file has the generation.
func (s *Generations) Read(number int64) (*DurableGeneration, error) {
	for {
		s.mu.Lock()
		g := s.hot[number]
		dicts, ok := s.files[number]
		s.mu.Unlock()
		if g != nil {
			return g, nil
		}
		if !ok {
			return nil, fmt.Errorf("%w: no file has the dictionaries %d", files.ErrFile, number)
		}
		g, err := s.owner.Cached(number, func() (*DurableGeneration, error) { return s.read(dicts) })
		switch {
		case err == nil && g.entries.Load() >= dicts.Entries:
			return g, nil
		case err == nil:
			s.owner.Forget(number) // files were added since
			continue
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		if now := s.Files(number); slices.Equal(now.Files, dicts.Files) { // otherwise a flush replaced the files; try again
			return nil, &disk.DamagedError{File: disk.FileName(files.DictsKind, dicts.Files[0]), Reason: err.Error()}
		}
	}
}

// read reads dictionaries from their files, unless an earlier reader still holds them.
func (s *Generations) read(dicts files.GenerationFiles) (*DurableGeneration, error) {
	g := &DurableGeneration{Number: dicts.Number}
	s.mu.Lock()
	recent := s.recent[dicts.Number]
	s.mu.Unlock()
	if g.Generation = recent.at.Value(); g.Generation != nil && recent.entries >= dicts.Entries {
		g.setFiled(recent.entries)
		return g, nil
	}
	g.Generation = s.owner.New()
	if err := s.owner.Read(dicts, g.Generation); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.recent[dicts.Number] = recentlyRead{weak.Make(g.Generation), dicts.Entries}
	s.mu.Unlock()
	g.setFiled(dicts.Entries)
	return g, nil
}

// Files returns a generation's files: none if it is only in memory.
func (s *Generations) Files(number int64) files.GenerationFiles {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[number]
}

// SetFiles records the files in a new manifest. Files of dropped generations stay as they are, because
// reads of older roots can need them.
func (s *Generations) SetFiles(all []files.GenerationFiles) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, dicts := range all {
		if dicts.Number >= s.first {
			s.files[dicts.Number] = dicts
		}
	}
}

// SetFiled records that files have g up to at, if g is still hot. A nil g is ignored.
func (s *Generations) SetFiled(g *DurableGeneration, at granule.Watermark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g != nil && s.hot[g.Number] == g {
		g.filed.Store(&at)
	}
}
