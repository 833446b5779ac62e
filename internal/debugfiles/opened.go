package debugfiles

import (
	"fmt"
	"sync"

	"github.com/granarydb/granary/internal/debuginfo"
)

// opened is an open file. It is closed when it is no longer used and not in the set.
type opened struct {
	once sync.Once
	file *debuginfo.File // nil if it could not be opened
	err  error

	// Under Set.mu:
	users int
	bytes int64
	turn  int64 // of the last use
	gone  bool  // not in the set any more
}

func (o *opened) close() error {
	if o.gone = true; o.users > 0 || o.file == nil {
		return nil
	}
	return o.file.Close()
}

// ask asks a file, which it opens if it is not open.
func (s *Set) ask(path string, at debuginfo.Place) []debuginfo.Frame {
	s.mu.Lock()
	o := s.open[path]
	if o == nil {
		o = &opened{}
		s.open[path] = o
	}
	o.users++
	s.turn++
	o.turn = s.turn
	s.mu.Unlock()

	o.once.Do(func() { o.file, o.err = debuginfo.Open(path, debuginfo.Limits{Bytes: s.opts.Bytes}) })
	var frames []debuginfo.Frame
	bytes, problem := int64(0), o.err
	if o.file != nil {
		frames = o.file.Frames(at)
		bytes, problem = o.file.Bytes(), o.file.Problem()
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if problem != nil && s.problem == nil {
		s.problem = pathError(path, problem)
	}
	o.bytes = bytes
	if o.users--; o.gone && o.users == 0 && o.file != nil {
		s.note(o.file.Close())
	}
	s.shrink(path)
	return frames
}

// maxOpen bounds the open files, each of which has a descriptor.
const maxOpen = 64

// shrink closes files that were not used for longest, until the others and `kept` fit (F1). The caller holds mu.
func (s *Set) shrink(kept string) {
	for {
		total, oldest := int64(0), ""
		for path, o := range s.open {
			total += o.bytes
			if path != kept && (oldest == "" || o.turn < s.open[oldest].turn) {
				oldest = path
			}
		}
		if oldest == "" || total <= s.opts.Bytes && len(s.open) <= maxOpen {
			return
		}
		o := s.open[oldest]
		delete(s.open, oldest)
		s.note(o.close())
	}
}

// forget closes the file at a path, because another one is there now. The caller holds mu.
func (s *Set) forget(path string) {
	if o := s.open[path]; o != nil {
		delete(s.open, path)
		s.note(o.close())
	}
}

// note keeps the first problem. The caller holds mu.
func (s *Set) note(err error) {
	if err != nil && s.problem == nil {
		s.problem = err
	}
}

// Problem returns the first reason for which a file, or a part of one, could not be read, or nil.
func (s *Set) Problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problem
}

func pathError(path string, err error) error { return fmt.Errorf("%s: %w", path, err) }
