package files

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/fields"
	"github.com/granarydb/granary/schema"
)

// RowsFile is the directory of a rows file: its granules and their places. It is immutable.
type RowsFile struct {
	Series  catalog.Bitset  // of the bucket
	Columns map[string]bool // of the bucket

	dir      *Dir
	bucket   BucketFile
	granules []filedGranule
	end      string // upper bound of the bucket
	size     int
	version  uint32 // of the file
}

// filedGranule is the place of a granule in a file.
type filedGranule struct {
	lower         string
	rows          int
	begin, commit uint64
	narrow, wide  disk.Piece
	ids           []filedIDs
}

// OpenRows reads the directory of a bucket's file. It needs no dictionaries, so it does not compare the
// codes of Series with them. The errors are *disk.DamagedError, ErrFile, and errors from the FS. It is
// safe for concurrent use.
func (d *Dir) OpenRows(s *schema.Schema, b BucketFile) (*RowsFile, error) {
	version, directory, err := d.bucketDirectory(b)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &disk.DamagedError{File: disk.FileName(RowsKind, b.File), Reason: "it is missing"}
	}
	if err != nil {
		return nil, err
	}
	r := rowsReader{rows: &RowsFile{dir: d, bucket: b, version: version}, schema: s, in: fields.NewReader(directory, ErrFile)}
	r.head()
	r.read()
	if err := r.in.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.rows.name(), err)
	}
	return r.rows, nil
}

// bucketDirectory reads the directory of a bucket: that of its file, or a piece of a file that buckets share.
func (d *Dir) bucketDirectory(b BucketFile) (version uint32, directory []byte, err error) {
	if b.Place == (catalog.Place{}) {
		file, err := d.open(RowsKind, b.File)
		if err != nil {
			return 0, nil, err
		}
		return file.Version(), file.Directory(), file.Close()
	}
	file, err := disk.OpenHead(d.fs, d.store, RowsKind, b.File, VersionOf(RowsKind))
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = file.Close() }() // the file was only read
	directory, err = file.Read(disk.Piece(b.Place), nil)
	return file.Version(), directory, err
}

func (r *RowsFile) name() string { return disk.FileName(RowsKind, r.bucket.File) }

// Len returns the number of granules, at least 1. They are ordered by bounds, and cover the bucket.
func (r *RowsFile) Len() int { return len(r.granules) }

// Bounds returns the bounds of the i-th granule (granule.Granule.Bounds).
func (r *RowsFile) Bounds(i int) (lo, hi string) {
	if i+1 < len(r.granules) {
		return r.granules[i].lower, r.granules[i+1].lower
	}
	return r.granules[i].lower, r.end
}

// Rows returns the number of rows of the i-th granule.
func (r *RowsFile) Rows(i int) int { return r.granules[i].rows }

// Size returns the bytes that the directory takes on the heap.
func (r *RowsFile) Size() int { return r.size }

// Offset returns the place of the i-th granule's wide columns in the file, or of its others. The granule must
// have them.
func (r *RowsFile) Offset(i int, wide bool) int64 {
	if wide {
		return r.granules[i].wide.Offset
	}
	return r.granules[i].narrow.Offset
}

// HasWide reports whether wide columns of the i-th granule can be left out.
func (r *RowsFile) HasWide(i int) bool { return r.granules[i].wide.Length > 0 }

// Part returns the rows of the i-th granule. They refer to narrow and wide, which are bytes of Image. If
// HasWide and wide is nil, the part lacks its wide columns (granule.PartReader.ReadParts). parts has the
// table's schema and the bucket's dictionaries. The errors are ErrFile and granule.ErrImage.
func (r *RowsFile) Part(i int, narrow, wide []byte, parts *granule.PartReader) (p *granule.Part, err error) {
	g := &r.granules[i]
	if wide == nil && !r.HasWide(i) {
		wide = []byte{} // not nil: the wide columns exist, without words
	}
	parts.Late = r.bucket.Late
	if r.version < 2 {
		p, err = parts.Read(r.bucket.Start, narrow)
	} else {
		p, err = parts.ReadParts(r.bucket.Start, narrow, wide)
	}
	if err == nil && p.Rows() != g.rows {
		err = fmt.Errorf("%w: an image has %d rows, its directory %d", ErrFile, p.Rows(), g.rows)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: granule %d: %w", r.name(), i, err)
	}
	p.Stamp(g.begin, g.commit)
	return p, nil
}

// All reads all granules, and compares all checksums. The errors are as for Image and Part.
func (r *RowsFile) All(parts *granule.PartReader) ([]*granule.Granule, error) {
	pieces := r.Pieces()
	defer pieces.Close()
	granules := make([]*granule.Granule, len(r.granules))
	for i := range granules {
		var part *granule.Part
		if r.granules[i].rows > 0 {
			var err error
			if part, err = pieces.whole(i, parts); err != nil {
				return nil, err
			}
		}
		lo, hi := r.Bounds(i)
		granules[i] = granule.Of(lo, hi, part)
	}
	return granules, nil
}

func (p *Pieces) whole(i int, parts *granule.PartReader) (*granule.Part, error) {
	r := p.rows
	narrow, err := p.Image(i, false)
	if err != nil {
		return nil, err
	}
	var wide []byte
	if r.HasWide(i) {
		if wide, err = p.Image(i, true); err != nil {
			return nil, err
		}
	}
	if err := r.checkPages(i, wide); err != nil {
		return nil, err
	}
	return r.Part(i, narrow, wide, parts)
}

// rowsReader reads the directory of a rows file.
type rowsReader struct {
	rows   *RowsFile
	schema *schema.Schema
	in     fields.Reader
}

// head reads the series and columns of the bucket.
func (r *rowsReader) head() {
	in, rows := &r.in, r.rows
	in.In("bucket")
	if start := int64(in.Int("start")); start != rows.bucket.Start {
		in.Failf("the bucket begins at %d, not %d", start, rows.bucket.Start)
	}
	rows.Series = make(catalog.Bitset, in.Count("series", 8))
	for i := range rows.Series {
		if word := in.Raw("series", 8); word != nil {
			rows.Series[i] = binary.LittleEndian.Uint64(word)
		}
	}
	if n := len(rows.Series); rows.Series.Has(0) || n > 0 && rows.Series[n-1] == 0 {
		in.Failf("a set of %d words of series", n)
	}
	names := in.Count("columns", 1)
	if names > 0 {
		rows.Columns = make(map[string]bool, names)
	}
	for range names {
		name := string(in.Text("name", schema.MaxName))
		if _, ok := r.schema.Resolve(name); !ok && in.Err() == nil {
			in.Failf("%q is no column", name)
		}
		rows.Columns[name] = true
	}
}

// read reads the granules. They cover the bucket, because each ends where the next begins (C6).
func (r *rowsReader) read() {
	in, rows := &r.in, r.rows
	first, end := r.schema.BucketBounds(rows.bucket.Start)
	const granuleSize = 120
	rows.end = end
	rows.granules = make([]filedGranule, in.Count("granules", 2))
	rows.size = granuleSize * len(rows.granules)
	sum := int64(0)
	for i := range rows.granules {
		in.In("granule")
		g := &rows.granules[i]
		g.lower = string(in.Text("bound", math.MaxInt32))
		if i == 0 && g.lower != first || i > 0 && g.lower <= rows.granules[i-1].lower || end != "" && g.lower >= end {
			in.Failf("a bound is not in the order of the bucket")
		}
		if g.rows = int(in.Uint("rows", math.MaxInt32)); g.rows > 0 {
			g.begin, g.commit = in.Uint("begin", math.MaxUint64), in.Uint("commit", rows.bucket.Through)
			g.narrow, _, _ = disk.CutPiece(in.Raw("piece", disk.PieceSize))
			if rows.version >= 2 {
				r.wide(g)
			}
		}
		if in.Err() != nil {
			return
		}
		sum += int64(g.rows)
		rows.size += len(g.lower)
	}
	if len(rows.granules) == 0 && in.Err() == nil { // the bucket began with a cut, and got no row
		rows.granules = []filedGranule{{lower: first}}
	}
	if in.Left() > 0 || sum != rows.bucket.Rows {
		in.Failf("%d bytes are left behind %d rows of %d", in.Left(), sum, rows.bucket.Rows)
	}
}
