package files

import (
	"encoding/binary"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/fields"
	"github.com/granarydb/granary/schema"
)

// RowsWriter writes a bucket's rows into a file, granule by granule, ordered by bounds. It belongs to one
// goroutine.
type RowsWriter struct {
	dir    *Dir
	file   *disk.FileWriter
	schema *schema.Schema
	bucket BucketFile
	image  []byte
	ids    []granule.IDColumn

	granules  int
	directory fields.Writer // of the granules
}

// CreateRows begins a bucket's file. Its rows have commits up to through. Finish or Abandon ends the
// file.
func (d *Dir) CreateRows(s *schema.Schema, start int64, through uint64) (*RowsWriter, error) {
	file, err := d.create(RowsKind)
	if err != nil {
		return nil, err
	}
	return &RowsWriter{dir: d, file: file, schema: s, bucket: BucketFile{Start: start, Through: through, File: d.next - 1}}, nil
}

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
	w.bucket.Bytes = wide.Offset + wide.Length
	return nil
}

// Finish ends the file and returns the bucket with it. state has the series and columns of the written
// granules. Dir.Sync makes the file durable. The error comes from the disk.
func (w *RowsWriter) Finish(state *catalog.BucketState) (BucketFile, error) {
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
	w.bucket.Bytes += int64(len(head.Data))
	return w.bucket, w.dir.end(w.file, head.Data)
}

// Abandon removes the file.
func (w *RowsWriter) Abandon() { w.file.Abandon() }
