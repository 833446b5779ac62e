package crashfs

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"

	"github.com/granarydb/granary/internal/disk"
)

// Options configure an FS.
type Options struct {
	// Seed seeds all random decisions.
	Seed uint64
	// Sector is the number of bytes that a disk writes at once. 0 means 512.
	Sector int64
	// Keep is the chance that an unsynced sector, size or name survives a crash, from 0 to 1. In between,
	// sectors tear too.
	Keep float64
	// Space bounds the bytes of all files together. More is ENOSPC. 0 means no limit.
	Space int64
}

// FS is a file system. It is safe for concurrent use.
type FS struct {
	mu     sync.Mutex
	opts   Options
	random *rand.Rand
	live   map[string]*inode // by name, as programs see them
	stable map[string]*inode // as of the last SyncDir
	calls  int
	faults []*Fault
	owners int // of the lock: -1 is exclusive
}

// inode is a file's bytes.
type inode struct {
	live, stable content
	dirty        map[int64]bool // numbers of sectors that a crash can lose
}

// New returns an empty FS.
func New(o Options) *FS {
	if o.Sector == 0 {
		o.Sector = 512
	}
	return &FS{opts: o, random: rand.New(rand.NewPCG(o.Seed, 0)), live: map[string]*inode{}, stable: map[string]*inode{}}
}

// Crash returns the files as they are after a crash of the machine, now. The FS itself goes on, and shares
// only its options with the new FS, which has no faults.
func (f *FS) Crash() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.opts
	o.Seed = f.random.Uint64()
	after := New(o)
	names := slices.AppendSeq(slices.Collect(maps.Keys(f.live)), maps.Keys(f.stable))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		n := f.stable[name]
		if n != f.live[name] && f.keeps() {
			n = f.live[name]
		}
		if n != nil {
			after.put(name, f.crashed(n))
		}
	}
	return after
}

// keeps rolls the dice.
func (f *FS) keeps() bool { return f.random.Float64() < f.opts.Keep }

// crashed returns a file's bytes after a crash.
func (f *FS) crashed(n *inode) content {
	c := n.stable.clone()
	if n.live.size != c.size && f.keeps() {
		c.resize(n.live.size)
	}
	for _, sector := range slices.Sorted(maps.Keys(n.dirty)) {
		lo := sector * f.opts.Sector
		hi := lo + f.opts.Sector
		switch {
		case f.keeps():
		case f.opts.Keep == 0 || f.random.IntN(4) > 0:
			continue
		case f.random.IntN(2) == 0:
			lo += f.random.Int64N(f.opts.Sector)
		default:
			hi -= f.random.Int64N(f.opts.Sector)
		}
		c.copy(&n.live, lo, hi)
	}
	return c
}

// Put makes a durable file. The FS owns the bytes.
func (f *FS) Put(name string, b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(name, content{data: b, size: int64(len(b))})
}

func (f *FS) put(name string, c content) {
	n := &inode{live: c, stable: c.clone(), dirty: map[int64]bool{}}
	f.live[name], f.stable[name] = n, n
}

// Get returns a file's bytes as programs see them, nil if there is none.
func (f *FS) Get(name string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.live[name]
	if n == nil {
		return nil
	}
	b := make([]byte, n.live.size)
	n.live.read(b, 0)
	return b
}

// Flip changes a bit in a file, durably: bit 0 is the lowest in the first byte.
func (f *FS) Flip(name string, bit int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.live[name]
	b := []byte{0}
	n.live.read(b, bit/8)
	b[0] ^= 1 << (bit % 8)
	n.live.write(b, bit/8)
	n.stable.copy(&n.live, bit/8, bit/8+1)
}

// Create implements disk.FS.
func (f *FS) Create(name string) (disk.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call(Create, name); err != nil {
		return nil, err
	}
	if f.live[name] != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	n := &inode{dirty: map[int64]bool{}}
	f.live[name] = n
	return &file{fs: f, name: name, inode: n, writable: true}, nil
}

// Open implements disk.FS.
func (f *FS) Open(name string) (disk.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call(Open, name); err != nil {
		return nil, err
	}
	n := f.live[name]
	if n == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{fs: f, name: name, inode: n}, nil
}

// Remove implements disk.FS.
func (f *FS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call(Remove, name); err != nil {
		return err
	}
	if f.live[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	delete(f.live, name)
	return nil
}

// Trim implements disk.FS.
func (f *FS) Trim(name string, size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call(Trim, name); err != nil {
		return err
	}
	n := f.live[name]
	if n == nil {
		return &fs.PathError{Op: "trim", Path: name, Err: fs.ErrNotExist}
	}
	n.resize(min(size, n.live.size), f.opts.Sector)
	return nil
}

// List implements disk.FS.
func (f *FS) List() ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.live)), f.call(List, "")
}

// SyncDir implements disk.FS.
func (f *FS) SyncDir() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call(SyncDir, ""); err != nil {
		return err
	}
	f.stable = maps.Clone(f.live)
	return nil
}

// Free implements disk.FS.
func (f *FS) Free() (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.free(), f.call(Free, "")
}

// free returns the remaining bytes.
func (f *FS) free() int64 {
	if f.opts.Space == 0 {
		return 1 << 60
	}
	left := f.opts.Space
	for _, n := range f.live {
		left -= n.live.size
	}
	return left
}

// SetSpace sets Options.Space.
func (f *FS) SetSpace(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opts.Space = bytes
}

// Lock implements disk.FS. Locks do not survive a crash.
func (f *FS) Lock(shared bool) (io.Closer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call(Lock, ""); err != nil {
		return nil, err
	}
	if f.owners < 0 || f.owners > 0 && !shared {
		return nil, fmt.Errorf("crashfs: %w", disk.ErrLocked)
	}
	if !shared {
		f.owners = -1
		return &held{fs: f, owners: -1}, nil
	}
	f.owners++
	return &held{fs: f, owners: 1}, nil
}

// held is a lock.
type held struct {
	fs     *FS
	owners int // 0 after Close
}

// Close releases the lock.
func (h *held) Close() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	h.fs.owners -= h.owners
	h.owners = 0
	return nil
}

// errNoSpace is the error for a full disk.
func errNoSpace(op Op, name string) error {
	return &fs.PathError{Op: op.String(), Path: name, Err: syscall.ENOSPC}
}
