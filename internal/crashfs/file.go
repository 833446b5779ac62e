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

// begin locks the FS and returns the error with which a call fails.
func (f *file) begin(op Op, writes bool) error {
	f.fs.mu.Lock()
	if f.closed || writes && !f.writable {
		return &fs.PathError{Op: op.String(), Path: f.name, Err: fs.ErrClosed}
	}
	return f.fs.call(op, f.name)
}

// ReadAt is of io.ReaderAt.
func (f *file) ReadAt(b []byte, offset int64) (int, error) {
	err := f.begin(ReadAt, false)
	defer f.fs.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n := 0
	if live := f.inode.live; offset < int64(len(live)) {
		n = copy(b, live[offset:])
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt is of io.WriterAt.
func (f *file) WriteAt(b []byte, offset int64) (int, error) {
	err := f.begin(WriteAt, true)
	defer f.fs.mu.Unlock()
	if err != nil && f.writable && !f.closed && len(b) > 0 {
		b = b[:f.fs.random.IntN(len(b))]
	} else if err != nil {
		return 0, err
	}
	end := offset + int64(len(b))
	if end-int64(len(f.inode.live)) > f.fs.free() {
		return 0, errNoSpace(WriteAt, f.name)
	}
	f.resize(max(end, int64(len(f.inode.live))))
	copy(f.inode.live[offset:], b)
	f.soil(offset, end)
	return len(b), err
}

// soil makes sectors dirty.
func (f *file) soil(offset, end int64) {
	for at := offset / f.fs.opts.Sector; at*f.fs.opts.Sector < end; at++ {
		f.inode.dirty[at] = true
	}
}

// resize sets the size. New bytes are zero, also where the disk has others.
func (f *file) resize(size int64) {
	n, old := f.inode, int64(len(f.inode.live))
	if size <= old {
		n.live = n.live[:size:size]
		return
	}
	n.live = append(n.live, make([]byte, size-old)...)
	f.soil(old, min(size, int64(len(n.stable))))
}

// Size is of disk.File.
func (f *file) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return int64(len(f.inode.live)), nil
}

// Reserve is of disk.File.
func (f *file) Reserve(size int64) error {
	err := f.begin(Reserve, true)
	defer f.fs.mu.Unlock()
	if err != nil {
		return err
	}
	if size-int64(len(f.inode.live)) > f.fs.free() {
		return errNoSpace(Reserve, f.name)
	}
	f.resize(size)
	return nil
}

// Sync is of disk.File.
func (f *file) Sync() error {
	err := f.begin(Sync, true)
	defer f.fs.mu.Unlock()
	if err != nil && (f.closed || !f.writable) {
		return err
	}
	n, keeps := f.inode, func() bool { return err == nil || f.fs.random.IntN(2) == 0 }
	if keeps() {
		n.stable = append(n.stable, make([]byte, max(0, len(n.live)-len(n.stable)))...)[:len(n.live)]
	}
	for _, sector := range slices.Sorted(maps.Keys(n.dirty)) {
		lo := sector * f.fs.opts.Sector
		if end := int64(min(len(n.live), len(n.stable))); lo < end && keeps() {
			copy(n.stable[lo:min(lo+f.fs.opts.Sector, end)], n.live[lo:])
		}
	}
	clear(n.dirty)
	return err
}

// Close is of io.Closer.
func (f *file) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed {
		return &fs.PathError{Op: "close", Path: f.name, Err: fs.ErrClosed}
	}
	f.closed = true
	return nil
}
