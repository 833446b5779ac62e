package files

import (
	"errors"
	"io/fs"

	"github.com/granarydb/granary/internal/disk"
)

// Pieces reads pieces of a file of rows. It opens the file for the first of them, and keeps it open until Close: a
// caller who has all pieces from elsewhere opens none. It belongs to one goroutine.
type Pieces struct {
	rows *RowsFile
	file *disk.FileReader // nil before the first
}

// Pieces returns a reader of pieces. It costs nothing.
func (r *RowsFile) Pieces() *Pieces { return &Pieces{rows: r} }

// Image reads the rows of the i-th granule, which has some: its wide columns, if it HasWide, or all but
// these, as bytes for Part, whose checksum is right. The bytes are the caller's. The errors are
// *disk.DamagedError, and those of the FS.
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

// Close closes the file, if a piece was read.
func (p *Pieces) Close() {
	if p.file != nil {
		_ = p.file.Close() // it was only read
		p.file = nil
	}
}
