package states

import (
	"context"

	"github.com/granarydb/granary/internal/disk"
)

// interruptedFS is a directory in which, after an interrupt, no file can be opened and no byte read. A
// history file is read block by block, therefore an open or a query of it then ends.
type interruptedFS struct {
	disk.FS
	ctx context.Context
}

// Open implements FS.
func (fs interruptedFS) Open(name string) (disk.File, error) {
	if err := fs.ctx.Err(); err != nil {
		return nil, err
	}
	f, err := fs.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return interruptedFile{f, fs.ctx}, nil
}

type interruptedFile struct {
	disk.File
	ctx context.Context
}

// ReadAt implements File.
func (f interruptedFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, off)
}
