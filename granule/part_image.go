package granule

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

var imageWriters = sync.Pool{New: func() any { return new(encoding.ImageWriter) }}

// AppendImage appends the image of the whole part to dst. The image has the rows in their layouts in memory,
// without the bucket, the ids of Stamp and the dictionaries. Columns that store their values begin at
// image[wide]; if wide is the end, there are none.
//
// It costs 0.05 ns per row for a base part and 0.4 ns per row for a fresh part of a profile. It allocates
// only to grow dst. docs/format/part.md draws the bytes.
func (p *Part) AppendImage(s *schema.Schema, dst []byte) (image []byte, wide int) {
	image, wide, _ = p.appendImage(s, dst, nil)
	return image, wide
}

// IsWide reports whether parts store a column's values: plain strings and UUIDs, and neither fixed-type
// words nor codes in a dictionary. They take most of a part's bytes.
func IsWide(c schema.Column) bool { return !c.Type.Fixed() && !c.Encoding.Coded() }

// IDColumn is a column of plain UUIDs, and its place in the wide part of an image.
type IDColumn struct {
	Name  string
	Place encoding.IDPlace
}

// AppendSearchable is AppendImage that also appends the columns of plain UUIDs to ids.
func (p *Part) AppendSearchable(s *schema.Schema, dst []byte, ids []IDColumn) (image []byte, wide int, all []IDColumn) {
	if ids == nil {
		ids = []IDColumn{}
	}
	return p.appendImage(s, dst, ids)
}

// appendImage is AppendSearchable, or AppendImage if ids is nil.
func (p *Part) appendImage(s *schema.Schema, dst []byte, ids []IDColumn) (image []byte, wide int, all []IDColumn) {
	p.checkWhole()
	w := imageWriters.Get().(*encoding.ImageWriter)
	defer func() {
		w.Reset()
		imageWriters.Put(w)
	}()
	w.Uint(uint64(p.rows))
	w.Words(&p.series)
	headers := p.headers()
	w.Uint(uint64(headers))
	if headers > 0 {
		w.Ordinals(p.ordinals)
	}
	w.Uint(uint64(len(p.columns)))
	last := 0
	for i := range p.columns {
		c := &p.columns[i]
		def := &s.Columns()[c.Index]
		w.Uint(uint64(c.Index - last))
		w.Uint(c.kind(*def))
		if def.Dynamic {
			w.Text(c.Name)
		}
		w.Column(&c.Column, IsWide(*def))
		if ids != nil && IsWide(*def) && def.Type == encoding.UUID {
			places := w.IDs()
			ids = append(ids, IDColumn{c.Name, places[len(places)-1]})
		}
		last = c.Index
	}
	image, wide = w.AppendTo(dst)
	return image, wide, ids
}

// headers returns the number of headers that the part lists, or 0.
func (p *Part) headers() int {
	for i := range p.columns {
		if table, _ := p.columns[i].Words().Lookup(); table != nil {
			return table.Len()
		}
	}
	return 0
}

// PartReader reads images of parts. It is not safe for concurrent use.
type PartReader struct {
	// Schema is the table's schema. It may have more columns at its end than the image, because columns
	// are found by index.
	Schema *schema.Schema
	// Generation has the dictionaries of the codes. The reader does not read them.
	Generation *Generation
	// Codes is the watermark of the dictionaries.
	Codes Watermark
	// MaxRows bounds a part's rows, by default schema.MaxRows. It bounds a reader's memory, because a few
	// bytes can describe any number of equal rows.
	MaxRows int
	// Late is set for parts of late buckets (catalog.BucketState), whose rows can have any time in the
	// bucket's range. Rows of other buckets are not before the bucket's start.
	Late bool

	in    encoding.ImageReader
	names map[string]string // each name once
}

// Read returns the part of an image, whose rows are in the given bucket. The part is not stamped. It
// refers to the image, which must not change. An image inside a larger buffer keeps the whole buffer
// alive. Errors wrap ErrImage.
//
// Read checks everything that methods of the part and its columns, queries and rewrites rely on, so that no
// image makes them panic or allocate out of proportion (G8). It does not check that the rows are sorted, or
// are the written rows, because only a checksum can show that.
//
// It costs about 1 ns per row for a base part, half of it for the structure of the columns, and 2 ns per row
// for a fresh part of a profile, mostly for the allocation and the descriptor. A column that stores its
// values costs 2 to 5 ns per value.
func (r *PartReader) Read(bucket int64, image []byte) (*Part, error) {
	r.in.MaxText = schema.MaxString
	r.in.Open(image)
	return r.read(bucket, true)
}

// ReadParts is Read for an image in two parts: image[:wide] and image[wide:] of AppendImage. If wide is nil,
// the part lacks its wide columns. Find for such a column, and methods that need the whole part, then panic,
// because calling them is a bug.
func (r *PartReader) ReadParts(bucket int64, narrow, wide []byte) (*Part, error) {
	r.in.MaxText = schema.MaxString
	r.in.OpenParts(narrow, wide)
	return r.read(bucket, wide != nil)
}

// read reads the part of the open image, with or without its wide columns.
func (r *PartReader) read(bucket int64, wide bool) (*Part, error) {
	in := &r.in
	head := in.Left()
	in.In("part")
	rows := int(in.Uint("rows", uint64(min(cmp.Or(r.MaxRows, schema.MaxRows), math.MaxInt32))))
	if rows == 0 {
		in.Failf("it has no rows")
	}
	series := in.Words("series", rows, 1, uint64(r.Codes.Series))
	ordinals := r.ordinals(rows)
	in.In("part")
	n := in.Count("columns", leastColumn)
	p := newPart(n)
	p.gen, p.bucket, p.rows, p.series, p.ordinals = r.Generation, bucket, rows, series, ordinals
	for i := range n {
		if name := r.column(p, wide); in.Err() != nil {
			return nil, fmt.Errorf("column %d, %.100q: %w", i, name, in.Err())
		}
	}
	r.checkRequired(p)
	if err := in.Close(); err != nil {
		return nil, err
	}
	p.seal(r.Schema)
	p.size += head
	s, first := r.Schema, bucket
	if s.BucketColumn() < 0 {
		return p, nil
	}
	if r.Late {
		first = s.BucketStart(bucket)
	}
	if p.minTime < first || s.BucketStart(p.maxTime) != s.BucketStart(bucket) {
		in.Failf("times of %d to %d are not in bucket %d", p.minTime, p.maxTime, bucket)
		return nil, in.Err()
	}
	return p, nil
}

// ordinals reads the ordinals of the rows' headers, if they are listed.
func (r *PartReader) ordinals(rows int) *encoding.Words {
	r.in.In("part")
	most := uint64(0)
	if len(r.Schema.Header()) > 0 {
		most = uint64(rows)
	}
	headers := r.in.Uint("headers", most)
	if headers == 0 {
		return nil
	}
	return r.in.Ordinals(rows, int(headers))
}

// leastColumn is the least number of bytes that a column takes in the descriptor.
const leastColumn = 6

// column reads the next column of the part and returns its name. It skips a wide column if the image
// lacks the wide bytes.
func (r *PartReader) column(p *Part, wide bool) (name string) {
	in, s := &r.in, r.Schema
	in.In("column")
	last := p.last()
	index := max(0, last.Index) + int(in.Uint("index", schema.MaxColumns))
	if index >= len(s.Columns()) || s.IsSeries(index) {
		in.Failf("column %d, of %d, is none of the rows", index, len(s.Columns()))
		return ""
	}
	def := s.Columns()[index]
	spec := r.Generation.spec(def)
	switch kind, want := in.Uint("type and encoding", math.MaxUint8), kindOf(def); {
	case kind == want:
	case kind == plainStrings && def.Type == encoding.String:
		spec = encoding.Spec{Type: encoding.String, Encoding: encoding.Plain}
	default:
		in.Failf("type and encoding are %d, and the schema has %d: %v, %v", kind, want, def.Type, def.Encoding)
	}
	name = def.Name
	if def.Dynamic {
		name = r.name(in.Text("name", schema.MaxName))
		if at, ok := s.Resolve(name); !ok || at != index || !schema.ValidName(name) {
			in.Failf("%q is no name of column %q", name, def.Name)
		}
	}
	if index == last.Index && name <= last.Name {
		in.Failf("%q follows %q", name, last.Name)
	}
	if !wide && IsWide(def) {
		in.SkipColumn(r.Generation.spec(def), p.rows, def.Nullable || def.Dynamic)
		if p.unread == nil {
			p.unread = new(unreadColumns)
		}
		*p.unread = append(*p.unread, Column{Index: index, Name: name})
		return name
	}
	c := in.Column(spec, p.rows, r.codes(def), def.Nullable || def.Dynamic, IsWide(def))
	if table, _ := c.Words().Lookup(); table != nil && !slices.Contains(s.Header(), index) {
		in.Failf("a lookup in a column that is not of the header")
	}
	p.columns = append(p.columns, Column{index, name, c})
	return name
}

// last returns the last column that was read or skipped, or a column with index -1.
func (p *Part) last() Column {
	last := Column{Index: -1}
	if n := len(p.columns); n > 0 {
		last = p.columns[n-1]
	}
	if p.unread != nil {
		skipped := (*p.unread)[len(*p.unread)-1]
		if skipped.Index > last.Index || skipped.Index == last.Index && skipped.Name > last.Name {
			return skipped
		}
	}
	return last
}

// kindOf returns the type and the encoding of a column as one number.
func kindOf(c schema.Column) uint64 { return uint64(c.Encoding)<<4 | uint64(c.Type) }

// plainStrings is the kind of a column of strings that stores its values, which the schema need not say
// (Generation.MostStrings).
const plainStrings = uint64(encoding.Plain)<<4 | uint64(encoding.String)

// kind returns the kind of a column of the schema in the part.
func (c *Column) kind(def schema.Column) uint64 {
	if c.Type() == encoding.String && c.Dict() == nil {
		return plainStrings
	}
	return kindOf(def)
}

// name returns a name. Parts share its memory.
func (r *PartReader) name(text []byte) string {
	if name, ok := r.names[string(text)]; ok {
		return name
	}
	if r.names == nil {
		r.names = map[string]string{}
	}
	name := string(text)
	r.names[name] = name
	return name
}

// codes returns the number of codes of a column's dictionary.
func (r *PartReader) codes(c schema.Column) int {
	switch c.Type {
	case encoding.UUIDList:
		return r.Codes.Lists.Lists
	case encoding.UUID:
		return r.Codes.UUIDs
	}
	return r.Codes.Strings
}

// checkRequired checks that the part has each column that must have a value in every row.
func (r *PartReader) checkRequired(p *Part) {
	s, columns := r.Schema, p.columns
	isThere := func(i int) bool {
		return len(columns) > 0 && columns[0].Index == i ||
			p.unread != nil && slices.ContainsFunc(*p.unread, func(c Column) bool { return c.Index == i })
	}
	for i := range s.Columns() {
		for len(columns) > 0 && columns[0].Index < i {
			columns = columns[1:]
		}
		c := &s.Columns()[i]
		if !c.Nullable && !c.Dynamic && !s.IsSeries(i) && !isThere(i) {
			r.in.Failf("column %q is missing", c.Name)
		}
	}
}
