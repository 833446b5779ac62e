package crashfs

import (
	"io"
	"io/fs"
	"maps"
	"slices"
)

// file is an open file.
type file struct {
	fs       *FS
	name     string
	inode    *inode
	writable bool
	closed   bool
}

// begin locks the FS and returns the call's error if it must fail.
func (f *file) begin(op Op, writes bool) error {
	f.fs.mu.Lock()
	if f.closed || writes && !f.writable {
		return &fs.PathError{Op: op.String(), Path: f.name, Err: fs.ErrClosed}
	}
	return f.fs.call(op, f.name)
}

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(b []byte, offset int64) (int, error) {
	err := f.begin(ReadAt, false)
	defer f.fs.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n := f.inode.live.read(b, offset)
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements io.WriterAt.
func (f *file) WriteAt(b []byte, offset int64) (int, error) {
	err := f.begin(WriteAt, true)
	defer f.fs.mu.Unlock()
	if err != nil && f.writable && !f.closed && len(b) > 0 {
		b = b[:f.fs.random.IntN(len(b))]
	} else if err != nil {
		return 0, err
	}
	end := offset + int64(len(b))
	if end-f.inode.live.size > f.fs.free() {
		return 0, errNoSpace(WriteAt, f.name)
	}
	f.inode.resize(max(end, f.inode.live.size), f.fs.opts.Sector)
	f.inode.live.write(b, offset)
	f.inode.soil(offset, end, f.fs.opts.Sector)
	return len(b), err
}

// soil makes sectors dirty.
func (n *inode) soil(offset, end, sector int64) {
	for at := offset / sector; at*sector < end; at++ {
		n.dirty[at] = true
	}
}

// resize sets the size. New bytes are zero, even if the disk has others.
func (n *inode) resize(size, sector int64) {
	n.soil(n.live.size, min(size, n.stable.size), sector)
	n.live.resize(size)
}

// Size implements disk.File.
func (f *file) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return f.inode.live.size, nil
}

// Reserve implements disk.File.
func (f *file) Reserve(size int64) error {
	err := f.begin(Reserve, true)
	defer f.fs.mu.Unlock()
	if err != nil {
		return err
	}
	if size-f.inode.live.size > f.fs.free() {
		return errNoSpace(Reserve, f.name)
	}
	f.inode.resize(size, f.fs.opts.Sector)
	return nil
}

// Sync implements disk.File.
func (f *file) Sync() error {
	err := f.begin(Sync, true)
	defer f.fs.mu.Unlock()
	if err != nil && (f.closed || !f.writable) {
		return err
	}
	n, keeps := f.inode, func() bool { return err == nil || f.fs.random.IntN(2) == 0 }
	if keeps() {
		n.stable.resize(n.live.size)
	}
	for _, sector := range slices.Sorted(maps.Keys(n.dirty)) {
		lo := sector * f.fs.opts.Sector
		if lo < min(n.live.size, n.stable.size) && keeps() {
			n.stable.copy(&n.live, lo, lo+f.fs.opts.Sector)
		}
	}
	clear(n.dirty)
	return err
}

// Close implements io.Closer.
func (f *file) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed {
		return &fs.PathError{Op: "close", Path: f.name, Err: fs.ErrClosed}
	}
	f.closed = true
	return nil
}
