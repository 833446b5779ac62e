package files

import (
	"errors"
	"io/fs"

	"github.com/granarydb/granary/internal/disk"
)

// Pieces reads pieces of a rows file. It opens the file for the first piece, and keeps it open until
// Close, because a caller may have all pieces in a cache and need no file. It belongs to one goroutine.
type Pieces struct {
	rows *RowsFile
	file *disk.FileReader // nil before the first piece
}

// Pieces returns a reader of pieces. It costs nothing.
func (r *RowsFile) Pieces() *Pieces { return &Pieces{rows: r} }

// Image reads the rows of the i-th granule as bytes for Part: its wide columns if wide is true (HasWide),
// otherwise all other columns. The granule must have rows. The checksum was compared. The caller owns the
// bytes. The errors are *disk.DamagedError, and errors from the FS.
func (p *Pieces) Image(i int, wide bool) ([]byte, error) {
	if wide {
		return p.read(p.rows.granules[i].wide)
	}
	return p.read(p.rows.granules[i].narrow)
}

// read reads a piece.
func (p *Pieces) read(piece disk.Piece) ([]byte, error) {
	if p.file == nil {
		file, err := disk.OpenPieces(p.rows.dir.fs, RowsKind, p.rows.bucket.File)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &disk.DamagedError{File: p.rows.name(), Reason: "it is missing"}
		}
		if err != nil {
			return nil, err
		}
		p.file = file
	}
	return p.file.Read(piece, nil)
}

// Close closes the file if it is open.
func (p *Pieces) Close() {
	if p.file != nil {
		_ = p.file.Close() // the file was only read
		p.file = nil
	}
}
