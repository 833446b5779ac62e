package filed

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/granarydb/granary/catalog"
	"github.com/granarydb/granary/disk"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/fields"
	"github.com/granarydb/granary/schema"
)

// RowsWriter writes the rows of one bucket into a file, granule by granule, in the order of their
// bounds. It belongs to one goroutine.
type RowsWriter struct {
	dir    *Dir
	file   *disk.FileWriter
	schema *schema.Schema
	bucket BucketFile
	image  []byte

	granules  int
	directory fields.Writer // of the granules
}

// CreateRows begins the file of a bucket, whose rows are of commits up to through. Finish or
// Abandon ends it.
func (d *Dir) CreateRows(s *schema.Schema, start int64, through uint64) (*RowsWriter, error) {
	file, err := d.create(RowsKind)
	if err != nil {
		return nil, err
	}
	return &RowsWriter{dir: d, file: file, schema: s, bucket: BucketFile{Start: start, Through: through, File: d.next - 1}}, nil
}

// Write writes a granule, which has no fresh parts. The error is one of the disk.
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
	w.image, _ = p.AppendImage(w.schema, w.image[:0])
	piece, err := w.file.Write(w.image)
	if err != nil {
		return err
	}
	w.directory.Uint(uint64(p.Rows()))
	w.directory.Uint(p.Begin())
	w.directory.Uint(p.Commit())
	w.directory.Raw(appendPiece(nil, piece))
	w.bucket.Rows += int64(p.Rows())
	w.bucket.Bytes = piece.Offset + piece.Length
	return nil
}

// Finish ends the file and returns the bucket with it. Series and columns are those of the state of
// the bucket that the granules are of. Dir.Sync makes the file durable. The error is one of the disk.
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

// pieceSize is the number of bytes of a piece in a directory: u64 offset, u64 length, u32 CRC.
const pieceSize = 20

func appendPiece(dst []byte, p disk.Piece) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.Offset))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.Length))
	return binary.LittleEndian.AppendUint32(dst, p.CRC)
}

func cutPiece(b []byte) (p disk.Piece, rest []byte, ok bool) {
	if len(b) < pieceSize {
		return p, nil, false
	}
	p = disk.Piece{
		Offset: int64(binary.LittleEndian.Uint64(b)), Length: int64(binary.LittleEndian.Uint64(b[8:])), CRC: binary.LittleEndian.Uint32(b[16:]),
	}
	return p, b[pieceSize:], true
}

// ReadRows returns a bucket and its granules. The reader has the schema of the table, and the
// dictionaries of the bucket. The errors are *disk.DamagedError, ErrFile, granule.ErrImage, and
// those of the FS.
func (d *Dir) ReadRows(b BucketFile, parts *granule.PartReader) (state *catalog.BucketState, granules []*granule.Granule, err error) {
	file, err := disk.OpenFile(d.fs, d.store, RowsKind, b.File)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	r := rowsReader{file: file, parts: parts, in: fields.NewReader(file.Directory(), ErrFile), bucket: b}
	if state, err = r.head(); err == nil {
		granules, err = r.granules()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", disk.FileName(RowsKind, b.File), err)
	}
	return state, granules, nil
}

// rowsReader reads the file of a bucket.
type rowsReader struct {
	file   *disk.FileReader
	parts  *granule.PartReader
	in     fields.Reader // of the directory
	bucket BucketFile
}

// head reads the bucket.
func (r *rowsReader) head() (*catalog.BucketState, error) {
	in := &r.in
	in.In("bucket")
	b := &catalog.BucketState{Start: int64(in.Int("start")), Latest: r.bucket.Latest, Gen: r.parts.Generation}
	if b.Start != r.bucket.Start {
		in.Failf("the bucket begins at %d, not %d", b.Start, r.bucket.Start)
	}
	b.Series = make(catalog.Bitset, in.Count("series", 8))
	most := uint32(0)
	for i := range b.Series {
		if word := in.Raw("series", 8); word != nil {
			b.Series[i] = binary.LittleEndian.Uint64(word)
		}
	}
	b.Series.All(func(code uint32) { most = max(most, code) })
	if int(most) > r.parts.Codes.Series || b.Series.Has(0) {
		in.Failf("series %d of %d", most, r.parts.Codes.Series)
	}
	names := in.Count("columns", 1)
	if names > 0 {
		b.Columns = make(map[string]bool, names)
	}
	for range names {
		name := string(in.Text("name", schema.MaxName))
		if _, ok := r.parts.Schema.Resolve(name); !ok && in.Err() == nil {
			in.Failf("%q is no column", name)
		}
		b.Columns[name] = true
	}
	return b, in.Err()
}

// granules reads the granules. They cover the bucket: each ends where the next begins (C6).
func (r *rowsReader) granules() ([]*granule.Granule, error) {
	in := &r.in
	first, end := r.parts.Schema.BucketBounds(r.bucket.Start)
	out := make([]*granule.Granule, in.Count("granules", 2))
	parts := make([]*granule.Part, len(out))
	bounds := make([]string, len(out)+1)
	rows := int64(0)
	for i := range out {
		in.In("granule")
		bounds[i] = string(in.Text("bound", math.MaxInt32))
		if i == 0 && bounds[i] != first || i > 0 && bounds[i] <= bounds[i-1] || end != "" && bounds[i] >= end {
			in.Failf("a bound is not in the order of the bucket")
		}
		if n := in.Uint("rows", math.MaxInt32); n > 0 && in.Err() == nil {
			part, err := r.part(int(n))
			if err != nil {
				return nil, fmt.Errorf("granule %d: %w", i, err)
			}
			parts[i] = part
			rows += int64(n)
		}
		if in.Err() != nil {
			return nil, in.Err()
		}
	}
	if in.Left() > 0 || rows != r.bucket.Rows {
		in.Failf("%d bytes are left behind %d rows of %d", in.Left(), rows, r.bucket.Rows)
		return nil, in.Err()
	}
	bounds[len(out)] = end
	for i := range out {
		out[i] = granule.Of(bounds[i], bounds[i+1], parts[i])
	}
	return out, nil
}

// part reads a part. It keeps the bytes of its image alive, and no others.
func (r *rowsReader) part(rows int) (*granule.Part, error) {
	in := &r.in
	begin, commit := in.Uint("begin", math.MaxUint64), in.Uint("commit", r.bucket.Through)
	piece, _, ok := cutPiece(in.Raw("piece", pieceSize))
	if !ok {
		return nil, in.Err()
	}
	image, err := r.file.Read(piece, nil)
	if err != nil {
		return nil, err
	}
	p, err := r.parts.Read(r.bucket.Start, image)
	if err != nil {
		return nil, err
	}
	if p.Rows() != rows {
		return nil, fmt.Errorf("%w: an image has %d rows, its directory %d", ErrFile, p.Rows(), rows)
	}
	p.Stamp(begin, commit)
	return p, nil
}
