package filed

import (
	"fmt"

	"github.com/granarydb/granary/disk"
)

// HistoryFiles is the file of a history, its place in Manifest.Histories its ordinal.
type HistoryFiles struct {
	Name          string
	MaxAttributes int
	File          uint64
}

// WriteStates writes the image of a history, and returns the number of the file. An error is one of
// the disk.
func (d *Dir) WriteStates(image []byte) (uint64, error) {
	w, err := d.create(statesKind)
	if err != nil {
		return 0, err
	}
	number := d.next - 1
	piece, err := w.Write(image)
	if err != nil {
		w.Abandon()
		return 0, err
	}
	return number, d.end(w, appendPiece(nil, piece))
}

// ReadStates returns the image of a history. The errors are *disk.DamagedError, ErrFile, and those
// of the FS.
func (d *Dir) ReadStates(number uint64) ([]byte, error) {
	r, err := disk.OpenFile(d.fs, d.store, statesKind, number)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was only read
	piece, rest, ok := cutPiece(r.Directory())
	if !ok || len(rest) > 0 {
		return nil, fmt.Errorf("%w: a directory of %d bytes", ErrFile, len(r.Directory()))
	}
	return r.Read(piece, nil)
}

// History returns the history with an ordinal, or nil. A nil manifest has none.
func (m *Manifest) History(ordinal int) *HistoryFiles {
	if m == nil || ordinal >= len(m.Histories) {
		return nil
	}
	return &m.Histories[ordinal]
}
