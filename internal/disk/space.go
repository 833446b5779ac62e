package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
)

// Space is an FS that counts the bytes of a store's files, including reserved bytes. It refuses nothing; its
// users call Full before they begin a file that can wait. It is safe for concurrent use.
type Space struct {
	FS
	most atomic.Int64 // bytes

	mu    sync.Mutex
	sizes map[string]int64 // by name
	used  atomic.Int64     // their sum
}

// NewSpace returns an FS with room for `most` bytes of files. It asks the size of each file in dir. Only
// the Space may change the directory from now on, because it counts its own calls.
func NewSpace(dir FS, most int64) (*Space, error) {
	sizes, err := Sizes(dir)
	s := &Space{FS: dir, sizes: sizes}
	s.most.Store(most)
	for _, size := range sizes {
		s.used.Add(size)
	}
	return s, err
}

// Sizes returns the size in bytes of each file in a store, by name. It omits other files, and files that are
// removed during the call. It opens each file. The errors come from the FS.
func Sizes(dir FS) (map[string]int64, error) {
	names, err := dir.List()
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for _, name := range names {
		if _, _, ours := ParseName(name); !ours {
			continue
		}
		f, err := dir.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		sizes[name], err = f.Size()
		_ = f.Close()
		if err != nil {
			return nil, err
		}
	}
	return sizes, nil
}

// Under returns the directory.
func (s *Space) Under() FS { return s.FS }

// Used returns the bytes of all files. It takes no lock. A nil Space has none.
func (s *Space) Used() int64 {
	if s == nil {
		return 0
	}
	return s.used.Load()
}

// Most returns the bound, 0 for a nil Space.
func (s *Space) Most() int64 {
	if s == nil {
		return 0
	}
	return s.most.Load()
}

// SetMost replaces the bound. It removes nothing by itself.
func (s *Space) SetMost(bytes int64) { s.most.Store(bytes) }

// Over returns the bytes by which the files exceed of32/32 of the bound, negative if they leave room. It is 0
// for a nil Space, which has no bound.
func (s *Space) Over(of32 int64) int64 {
	if s == nil {
		return 0
	}
	return s.Used() - s.Most()/32*of32
}

// Full returns ErrDisk, with the used bytes, if they exceed of32/32 of the bound, otherwise nil. A nil Space
// is never full.
func (s *Space) Full(of32 int64) error {
	if s.Over(of32) <= 0 {
		return nil
	}
	return fmt.Errorf("%w: files and log have %d bytes of a disk budget of %d, a part of which is for work that makes room", ErrDisk, s.Used(), s.Most())
}

// Bytes returns the bytes of the files for which chosen is true. It calls chosen under a lock.
func (s *Space) Bytes(chosen func(name string) bool) (bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, size := range s.sizes {
		if chosen(name) {
			bytes += size
		}
	}
	return bytes
}

// Create implements FS.
func (s *Space) Create(name string) (File, error) {
	f, err := s.FS.Create(name)
	if err != nil {
		return nil, err
	}
	s.set(name, 0)
	return &spaceFile{f, s, name}, nil
}

// Remove implements FS.
func (s *Space) Remove(name string) error {
	err := s.FS.Remove(name)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.used.Add(-s.sizes[name])
		delete(s.sizes, name)
	}
	return err
}

// Trim implements FS.
func (s *Space) Trim(name string, size int64) error {
	err := s.FS.Trim(name, size)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		size = min(size, s.sizes[name])
		s.used.Add(size - s.sizes[name])
		s.sizes[name] = size
	}
	return err
}

func (s *Space) set(name string, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used.Add(size - s.sizes[name])
	s.sizes[name] = size
}

// spaceFile is a new file of a Space.
type spaceFile struct {
	File
	space *Space
	name  string
}

// WriteAt implements File.
func (f *spaceFile) WriteAt(b []byte, offset int64) (int, error) {
	n, err := f.File.WriteAt(b, offset)
	f.measure()
	return n, err
}

// Reserve implements File.
func (f *spaceFile) Reserve(size int64) error {
	err := f.File.Reserve(size)
	f.measure()
	return err
}

// measure records the file's size. Asking after each write is cheap, because a write has hundreds of KiB.
func (f *spaceFile) measure() {
	if size, err := f.Size(); err == nil {
		f.space.set(f.name, size)
	}
}
