package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
)

// Copy gives a finished file a name in another directory, or a second name in its own. Two System
// directories on one file system share the file by a hard link. Otherwise the bytes are copied. They are
// durable when Copy returns, and the name after SyncDir. After an error the new name does not exist. The
// error is fs.ErrExist if the name is taken.
func Copy(from, to FS, name, as string) error {
	source, fromSystem := lowest(from).(*system)
	target, toSystem := to.(*system)
	if fromSystem && toSystem {
		err := os.Link(source.path(name), target.path(as))
		if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return copyBytes(from, to, name, as, math.MaxInt64)
}

// CopySegment copies a segment up to the end of its entries, as Log.Segments or Reader.Segments has it. The
// log may go on meanwhile, because it changes no byte before that end. It returns the errors of Copy.
func CopySegment(from, to FS, s Segment) error {
	name := FileName(LogKind, s.Number)
	return copyBytes(from, to, name, name, s.Size)
}

// copyBytes copies the first `most` bytes of a file, or all if there are fewer.
func copyBytes(from, to FS, name, as string, most int64) error {
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	size, err := in.Size()
	if err != nil {
		return err
	}
	if most < math.MaxInt64 && size < most {
		return &DamagedError{File: name, Offset: size, Reason: fmt.Sprintf("it has become shorter than %d bytes", most)}
	}
	out, err := to.Create(as)
	if err != nil {
		return failed(err)
	}
	_, err = io.CopyBuffer(io.NewOffsetWriter(out, 0), io.NewSectionReader(in, 0, min(size, most)), make([]byte, bufferSize))
	err = cmp.Or(err, out.Sync())
	err = cmp.Or(err, out.Close())
	if err != nil {
		_ = to.Remove(as) // the caller sees the error
		return failed(err)
	}
	return nil
}
