package states

import (
	"context"

	"github.com/granarydb/granary/internal/disk"
)

// interruptedFS is a directory in which no file is opened and no byte read after an interrupt. A history file is read
// block by block, so what opens or asks it ends.
type interruptedFS struct {
	disk.FS
	ctx context.Context
}

// Open is of FS.
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

// ReadAt is of File.
func (f interruptedFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, off)
}
