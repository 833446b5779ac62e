package files

import "fmt"

// writePiece writes a file of one piece, and returns its number.
func (d *Dir) writePiece(kind string, b []byte) (number uint64, err error) {
	w, err := d.create(kind)
	if err != nil {
		return 0, err
	}
	number = d.next - 1
	piece, err := w.Write(b)
	if err != nil {
		w.Abandon()
		return 0, err
	}
	return number, d.end(w, appendPiece(nil, piece))
}

// readPiece returns the piece of a file that writePiece wrote.
func (d *Dir) readPiece(kind string, number uint64) ([]byte, error) {
	r, err := d.open(kind, number)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // the file was only read
	piece, more, ok := cutPiece(r.Directory())
	if !ok || len(more) > 0 {
		return nil, fmt.Errorf("%w: a directory of %d bytes", ErrFile, len(r.Directory()))
	}
	return r.Read(piece, nil)
}
