package files

import (
	"encoding/binary"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/fields"
	"github.com/granarydb/granary/schema"
)

// RowsWriter writes the rows of one bucket into a file, or of several buckets, one after the other. The granules
// of a bucket are written in the order of their bounds. It belongs to one goroutine.
type RowsWriter struct {
	dir     *Dir
	file    *disk.FileWriter
	schema  *schema.Schema
	number  uint64 // of the file
	through uint64
	image   []byte
	ids     []granule.IDColumn
	shared  []byte // directory of a file that buckets share
	end     int64  // of the pieces that were written

	bucket    BucketFile // the current one
	from      int64      // end before the bucket
	granules  int
	directory fields.Writer // of the granules
}

// CreateRows begins a file. Its rows have commits up to through. Each bucket begins with Begin. The only bucket
// ends with Finish, which ends the file too. Otherwise each bucket ends with End, and the file with Close.
func (d *Dir) CreateRows(s *schema.Schema, through uint64) (*RowsWriter, error) {
	file, err := d.create(RowsKind)
	if err != nil {
		return nil, err
	}
	return &RowsWriter{dir: d, file: file, schema: s, number: d.next - 1, through: through}, nil
}

// Begin begins a bucket.
func (w *RowsWriter) Begin(start int64) {
	w.bucket = BucketFile{Start: start, Through: w.through, File: w.number}
	w.from, w.granules, w.directory.Data = w.end, 0, w.directory.Data[:0]
}

// Bytes returns the bytes of the file up to now, about.
func (w *RowsWriter) Bytes() int64 { return w.end + int64(len(w.shared)) }

// Write writes a granule without fresh parts. The error comes from the disk.
func (w *RowsWriter) Write(g *granule.Granule) error {
	lo, _ := g.Bounds()
	w.granules++
	w.directory.Text(lo)
	base, ok := g.Base()
	if !ok {
		w.directory.Uint(0)
		return nil
	}
	p := base.Part
	var at int
	w.image, at, w.ids = p.AppendSearchable(w.schema, w.image[:0], w.ids[:0])
	narrow, err := w.file.Write(w.image[:at])
	if err != nil {
		return err
	}
	wide, err := w.file.Write(w.image[at:]) // after the narrow piece: lengths are multiples of 8
	if err != nil {
		return err
	}
	w.directory.Uint(uint64(p.Rows()))
	w.directory.Uint(p.Begin())
	w.directory.Uint(p.Commit())
	w.directory.Raw(narrow.Append(nil))
	w.directory.Uint(uint64(wide.Length))
	w.directory.Data = binary.LittleEndian.AppendUint32(w.directory.Data, wide.CRC)
	w.directory.Uint(uint64(len(w.ids)))
	for _, c := range w.ids {
		appendIDs(&w.directory, c, w.image[at:])
	}
	w.bucket.Rows += int64(p.Rows())
	w.end = wide.Offset + wide.Length
	return nil
}

// Finish ends the file and returns its only bucket. state has the series and columns of the written granules.
// Dir.Sync makes the file durable. The error comes from the disk.
func (w *RowsWriter) Finish(state *catalog.BucketState) (BucketFile, error) {
	directory := w.bucketDirectory(state)
	w.bucket.Bytes = w.end + int64(len(directory))
	return w.bucket, w.dir.end(w.file, directory)
}

// End ends a bucket, which is in the file when Close has ended that. Otherwise it is as Finish.
func (w *RowsWriter) End(state *catalog.BucketState) (BucketFile, error) {
	piece, err := w.file.Write(w.bucketDirectory(state))
	if err != nil {
		return BucketFile{}, err
	}
	w.end = piece.Offset + piece.Length
	w.bucket.Place, w.bucket.Bytes = catalog.Place(piece), w.end-w.from
	w.shared = piece.Append(binary.LittleEndian.AppendUint64(w.shared, uint64(w.bucket.Start)))
	return w.bucket, nil
}

// Close ends a file of several buckets. Dir.Sync makes it durable. The error comes from the disk.
func (w *RowsWriter) Close() error { return w.dir.end(w.file, w.shared) }

// bucketDirectory returns the directory of the current bucket.
func (w *RowsWriter) bucketDirectory(state *catalog.BucketState) []byte {
	var head fields.Writer
	head.Int(uint64(state.Start))
	head.Uint(uint64(len(state.Series)))
	for _, word := range state.Series {
		head.Data = binary.LittleEndian.AppendUint64(head.Data, word)
	}
	head.Uint(uint64(len(state.Columns)))
	for name := range state.Columns {
		head.Text(name)
	}
	head.Uint(uint64(w.granules))
	head.Raw(w.directory.Data)
	return head.Data
}

// Abandon removes the file.
func (w *RowsWriter) Abandon() { w.file.Abandon() }
