package mirror

import (
	"cmp"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/internal/disk"
)

// Options configure an FS. The zero value is a good choice.
type Options struct {
	// Every is the least time between the starts of two segments. Commits wait for the next one, and an hour has that many
	// requests fewer. At least 0. 0 writes a segment as soon as the one before is written.
	Every time.Duration
	// Manual starts no goroutine: FS.Tidy does its work.
	Manual bool
	// Log takes a record when the object store is away, and when it is back. nil discards them.
	Log *slog.Logger
	// Beside are files that FS.Keep makes durable, and Open makes again. The zero value has none.
	Beside Beside

	pause    time.Duration // the first one between two attempts; 0 is leastPause
	patience time.Duration // 0 is patience
	mergeAt  int           // 0 is mergeAt

	lookEvery time.Duration // 0 is lookEvery
}

// Beside are files beside those of the store.
type Beside struct {
	Dir   string   // of the operating system
	Names []string // of files and folders in it
}

// FS is a directory that an object store has too. It is the FS of one store of columnstore, which must have columnstore.SyncEach.
// All methods are safe for concurrent use.
type FS struct {
	disk.FS // the directory
	objects Objects
	opts    Options
	epoch   uint64
	writer  string
	lock    io.Closer

	ending  context.Context // ends the attempts
	end     context.CancelFunc
	tidying context.Context // ends the goroutine
	endTidy context.CancelFunc

	appending sync.Mutex // held while a segment is written; guards the next two
	next      uint64     // sequence of the next segment
	begun     time.Time  // when the last one began

	keeping sync.Mutex            // held by Keep; guards the next one
	beside  map[string]besideFile // by name
	numbers atomic.Uint64         // of their objects

	mu      sync.Mutex
	logs    map[string]*logFile // files of the log with segments
	held    map[string]string   // by file: its object, if it was written as a whole
	shared  map[string]bool     // objects of earlier epochs that are of this one too
	dead    []uint64            // segments of files that are gone, or joined
	newest  uint64              // the last segment that was written
	jobs    []job
	added   uint64 // jobs so far
	proven  uint64 // of them, the jobs that were added before a segment that is there
	figures Stats
	waiting time.Time // since when a segment is on its way; zero if none is
	err     error     // of the last attempt
	fenced  error     // once another FS has the objects

	wake    chan struct{} // has one message when there are jobs
	ended   sync.Once
	running sync.WaitGroup
}

// logFile is what the object store has of a file of the log, beside the segments that are joined.
type logFile struct {
	segments []uint64 // ascending
	end      int64    // of its durable bytes
	isQueued bool     // to be joined
}

// Errors of an FS.
var (
	// ErrFenced is returned by each sync, and by FS.Refusal, once another FS was opened with the objects. The bytes are not durable.
	ErrFenced = errors.New("another process has taken over the copy of this directory in the object store")
	// ErrStale is returned by Open for a directory with files that another directory has followed, or that never was the copy.
	ErrStale = errors.New("the object store has a newer directory than this one")
	// ErrCopy is returned by Open for objects that are no whole copy of a directory.
	ErrCopy = errors.New("damaged copy of a directory in the object store")
)

const (
	// patience is how long a segment may be on its way until FS.Refusal refuses others. It is above the time of a slow request.
	patience = 5 * time.Second
	// segmentTime and fileTime bound an attempt to write one. A segment is at most the queue of a log, 16 MiB.
	segmentTime = 15 * time.Second
	fileTime    = 10 * time.Minute
	// leastPause and greatestPause bound the time between two attempts.
	leastPause    = 50 * time.Millisecond
	greatestPause = 2 * time.Second
)

func newFS(under disk.FS, objects Objects, opts Options) *FS {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	opts.pause, opts.patience, opts.mergeAt = cmp.Or(opts.pause, leastPause), cmp.Or(opts.patience, patience), cmp.Or(opts.mergeAt, mergeAt)
	opts.lookEvery = cmp.Or(opts.lookEvery, lookEvery)
	m := &FS{
		FS: under, objects: objects, opts: opts, writer: uuid.NewString(),
		logs: map[string]*logFile{}, held: map[string]string{}, beside: map[string]besideFile{}, wake: make(chan struct{}, 1),
	}
	m.ending, m.end = context.WithCancel(context.Background())
	m.tidying, m.endTidy = context.WithCancel(m.ending)
	return m
}

// Under returns the directory.
func (m *FS) Under() disk.FS { return m.FS }

// Lock implements disk.FS. Open has locked the directory already.
func (m *FS) Lock(bool) (io.Closer, error) { return m.lock, nil }

// Create implements disk.FS.
func (m *FS) Create(name string) (disk.File, error) {
	f, err := m.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return &file{File: f, fs: m, name: name, isLog: isLog(name)}, nil
}

// Remove implements disk.FS. The objects of the file are removed later, in the order of the calls.
func (m *FS) Remove(name string) error {
	err := m.FS.Remove(name)
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.addLocked(job{remove: name, object: cmp.Or(m.held[name], fileName(m.epoch, name))})
		delete(m.held, name)
	}
	return err
}

// isLog reports whether a file grows, as those of the log do. Others are written once.
func isLog(name string) bool {
	kind, _, ok := disk.ParseName(name)
	return ok && kind == disk.LogKind
}

// isOurs reports whether a file is of the store, and so in the object store.
func isOurs(name string) bool {
	_, _, ok := disk.ParseName(name)
	return ok
}

// file is a new file.
type file struct {
	disk.File
	fs    *FS
	name  string
	isLog bool

	mu    sync.Mutex
	dirty []span // written since the last sync, in the order of the writes
}

// WriteAt implements disk.File.
func (f *file) WriteAt(b []byte, offset int64) (int, error) {
	n, err := f.File.WriteAt(b, offset)
	if n > 0 {
		f.mu.Lock()
		defer f.mu.Unlock()
		if last := len(f.dirty) - 1; last >= 0 && f.dirty[last].end() == offset {
			f.dirty[last].Length += int64(n)
		} else {
			f.dirty = append(f.dirty, span{offset, int64(n)})
		}
	}
	return n, err
}

// Sync implements disk.File: first in the directory, so that this has all that the object store has. A file without new bytes is
// reserved space, which a copy does without.
func (f *file) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.File.Sync(); err != nil || len(f.dirty) == 0 {
		return err
	}
	put := f.putWhole
	if f.isLog {
		put = f.putSegment
	}
	if err := put(); err != nil {
		return err
	}
	f.dirty = nil
	return nil
}

// putSegment writes the dirty bytes into the journal.
func (f *file) putSegment() error {
	s := &segment{head: segmentHead{File: f.name, Ranges: f.dirty}}
	for _, r := range f.dirty {
		at := len(s.bytes)
		s.bytes = append(s.bytes, make([]byte, r.Length)...)
		if _, err := f.ReadAt(s.bytes[at:], r.Offset); err != nil {
			return err
		}
	}
	return f.fs.append(s)
}

// putWhole writes the file.
func (f *file) putWhole() error {
	size, err := f.Size()
	if err != nil {
		return err
	}
	f.fs.mu.Lock()
	before := f.fs.held[f.name]
	f.fs.mu.Unlock()
	if before == "" {
		return f.fs.keep(f.name, f.File, size, "")
	}
	// It has changed, so its object has no sum, and is replaced.
	object := fileName(f.fs.epoch, f.name)
	if err := f.fs.put(f.fs.ending, object, f.File, size); err != nil {
		return err
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.fs.held[f.name] = object; before != object {
		f.fs.addLocked(job{remove: f.name, object: before})
	}
	return nil
}

// keep writes the first bytes of a file that does not change, unless an object has them.
func (m *FS) keep(name string, from io.ReaderAt, size int64, have string) error {
	crc := crc32.New(castagnoli)
	if _, err := io.CopyBuffer(crc, io.NewSectionReader(from, 0, size), make([]byte, 256<<10)); err != nil {
		return errLocal{err}
	}
	object := have
	if _, _, sum, ok := cutFile(have); !ok || sum != sumOf(size, crc.Sum32()) {
		object = fileName(m.epoch, name) + sumMark + sumOf(size, crc.Sum32())
		if err := m.put(m.ending, object, from, size); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held[name] = object
	return nil
}

// put writes the first bytes of a file as they are.
func (m *FS) put(ctx context.Context, object string, from io.ReaderAt, size int64) error {
	return m.try(ctx, object, fileTime, func(ctx context.Context) error {
		local := &localReader{Reader: io.NewSectionReader(from, 0, size)}
		err := m.objects.Put(ctx, object, local)
		if local.err != nil {
			return errLocal{local.err}
		}
		return err
	})
}

// errLocal is an error of the directory, with which another attempt is in vain.
type errLocal struct{ error }

// localReader keeps the error of a read.
type localReader struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (r *localReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// Finish ends the work of the goroutine, and the attempts of syncs after grace: a store that closes then does not wait for an object
// store that is away. It waits for a segment of the goroutine, up to grace, but not for syncs, and does not unlock the directory, which
// the store does. It is idempotent.
func (m *FS) Finish(grace time.Duration) {
	m.ended.Do(func() {
		time.AfterFunc(grace, m.end)
		m.endTidy()
		m.running.Wait()
	})
}

// names returns the files of the store in the directory, in order.
func (m *FS) names() (names []string, err error) {
	all, err := m.List()
	for _, name := range all {
		if isOurs(name) {
			names = append(names, name)
		}
	}
	return names, err
}

// isMark reports whether a file in the directory is one of this package. epoch is 0 for markRestoring.
func isMark(name string) (epoch uint64, ok bool) {
	text, ok := strings.CutPrefix(name, disk.MarkPrefix)
	if !ok {
		return 0, false
	}
	epoch, _, _ = cutNumber(text, "")
	return epoch, true
}
