package files

import (
	"fmt"

	"github.com/granarydb/granary/internal/disk"
)

// HistoryFiles names a history's file. Its index in Manifest.Histories is the history's ordinal.
type HistoryFiles struct {
	Name          string
	MaxAttributes int
	File          uint64
}

// WriteStates writes a history's image, which write puts in parts, and returns the number of the file and the bytes of the
// image. The error comes from write or the disk.
func (d *Dir) WriteStates(write func(put func(part []byte) error) error) (number uint64, bytes int64, err error) {
	w, err := d.create(StatesKind)
	if err != nil {
		return 0, 0, err
	}
	number = d.next - 1
	piece, err := w.WriteParts(write)
	if err != nil {
		w.Abandon()
		return 0, 0, err
	}
	return number, piece.Length, d.end(w, piece.Append(nil))
}

// ReadStates returns a history's image. The errors are *disk.DamagedError, ErrFile, and errors from the
// FS.
func (d *Dir) ReadStates(number uint64) ([]byte, error) {
	r, err := d.open(StatesKind, number)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // the file was only read
	piece, more, ok := disk.CutPiece(r.Directory())
	if !ok || len(more) > 0 {
		return nil, fmt.Errorf("%w: a directory of %d bytes", ErrFile, len(r.Directory()))
	}
	return r.Read(piece, nil)
}

// History returns the history with an ordinal, or nil. A nil manifest has no histories.
func (m *Manifest) History(ordinal int) *HistoryFiles {
	if m == nil || ordinal >= len(m.Histories) {
		return nil
	}
	return &m.Histories[ordinal]
}
