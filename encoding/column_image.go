package encoding

import (
	"encoding/binary"
	"unicode/utf8"
)

// The contents of a column in an image. Images have these numbers, which never change.
const (
	imageOfWords   = 0 // words
	imageOfNulls   = 1 // words of a fixed type, and which rows have a value
	imageOfTexts   = 2 // ordinals, ends and bytes of strings
	imageOfIDs     = 3 // ordinals and UUIDs
	imageOfIndexed = 4 // the same with a filter and an index
)

// Column adds a column to the image, without its type and dictionary. If wide is true, values that the column
// stores are among the wide words.
func (w *ImageWriter) Column(c *Column, wide bool) {
	switch {
	case c.own != nil:
		w.isWide = wide
		w.ownColumn(c)
		w.isWide = false
	case c.present != nil:
		w.Uint(imageOfNulls)
		w.Words(&c.words)
		w.Words(c.present)
	default:
		w.Uint(imageOfWords)
		w.Words(&c.words)
	}
}

// ownColumn adds a column that stores its values.
func (w *ImageWriter) ownColumn(c *Column) {
	v, kind := c.own, uint64(imageOfIDs)
	switch {
	case c.typ == String:
		kind = imageOfTexts
	case v.filter != nil:
		kind = imageOfIndexed
	}
	w.Uint(kind)
	if kind == imageOfTexts {
		w.Uint(uint64(v.ends.n))
		w.Words(&c.words)
		w.packed(&v.ends)
		w.putData(v.data)
		return
	}
	w.Uint(uint64(len(v.data) / idSize))
	w.Words(&c.words)
	place := IDPlace{From: 8 * w.wide.words, Size: len(v.data)}
	w.putData(v.data)
	if kind == imageOfIndexed {
		place = IDPlace{From: 8 * w.wide.words, Size: 8 * len(v.filter), Filter: true}
	}
	w.ids = append(w.ids, place)
	if kind == imageOfIndexed {
		w.putWords(v.filter)
		starts := make([]byte, 0, 4*len(v.index.starts))
		for _, start := range v.index.starts {
			starts = binary.LittleEndian.AppendUint32(starts, start)
		}
		w.putData(starts)
		w.putData(v.index.chunks)
	}
}

// Column reads a column with `rows` rows. spec has its type, encoding and dictionary, which has `codes`
// codes. Only a nullable column may have nulls. wide is as in ImageWriter.Column. It costs the same as Words and,
// for a plain column of strings or UUIDs, 3 ns more per value.
func (r *ImageReader) Column(spec Spec, rows, codes int, nullable, wide bool) Column {
	r.In("column")
	kind, ok := r.kind(spec, nullable)
	if !ok {
		return Column{}
	}
	if kind >= imageOfTexts {
		r.isWide = wide
		c := r.ownColumn(spec, rows, kind, nullable)
		r.isWide = false
		return c
	}
	least, most := uint64(0), ^uint64(0)
	if !spec.Type.Fixed() {
		least, most = leastCode(nullable), uint64(codes)
	}
	words := r.Words("words", rows, least, most)
	if kind == imageOfWords {
		return NewColumn(spec, words, nil)
	}
	present := r.Words("present", rows, 0, 1)
	return NewColumn(spec, words, &present)
}

// kind reads a column's kind.
func (r *ImageReader) kind(spec Spec, nullable bool) (kind uint64, ok bool) {
	kind = r.Uint("kind", imageOfIndexed)
	switch {
	case kind == imageOfWords && (spec.Type.Fixed() || spec.Encoding.Coded()),
		kind == imageOfNulls && spec.Type.Fixed() && nullable,
		kind == imageOfTexts && spec.Type == String && spec.Encoding == Plain,
		kind >= imageOfIDs && spec.Type == UUID && spec.Encoding == Plain:
		return kind, true
	}
	r.Failf("a column of kind %d is no %v of encoding %v", kind, spec.Type, spec.Encoding)
	return kind, false
}

// SkipColumn reads past the descriptor of a column that stores its values, if its words are absent. It
// checks only the descriptor.
func (r *ImageReader) SkipColumn(spec Spec, rows int, nullable bool) {
	r.In("column")
	kind, ok := r.kind(spec, nullable)
	if !ok {
		return
	}
	r.Uint("values", uint64(rows))
	r.skipWords(uint64(rows))
	if kind == imageOfTexts {
		r.skipPacked()
	}
}

// leastCode returns a column's least code; 0 means null.
func leastCode(nullable bool) uint64 {
	if nullable {
		return 0
	}
	return 1
}

func (r *ImageReader) ownColumn(spec Spec, rows int, kind uint64, nullable bool) Column {
	n := r.Uint("values", uint64(rows))
	words := r.Words("ordinals of values", rows, leastCode(nullable), n)
	c := NewColumn(spec, words, nil)
	c.own = &values{}
	if kind == imageOfTexts {
		r.texts(c.own, n)
		return c
	}
	c.own.data = r.data("ids", idSize*n)
	if kind == imageOfIndexed {
		r.index(c.own, n)
	}
	if r.Err() == nil {
		c.counts = words.countUp(int(n))
	}
	return c
}

// texts reads n strings.
func (r *ImageReader) texts(v *values, n uint64) {
	v.ends = r.packed("ends", n)
	if n == 0 || r.Err() != nil {
		v.data = []byte{}
		return
	}
	v.data = r.data("strings", v.ends.at(int(n)-1))
	if !utf8.Valid(v.data) {
		r.Failf("the strings are not valid UTF-8")
	}
	start := uint64(0)
	var buf [blockLen]uint64
	for lo := 0; lo < int(n) && r.Err() == nil; lo += blockLen {
		for _, end := range v.ends.appendTo(buf[:0], lo, min(lo+blockLen, int(n))) {
			if end < start || end > uint64(len(v.data)) || end-start > uint64(r.MaxText) {
				r.Failf("a string lies in bytes %d to %d of %d, and may have %d", start, end, len(v.data), r.MaxText)
				return
			}
			if end < uint64(len(v.data)) && !utf8.RuneStart(v.data[end]) {
				r.Failf("a string ends at byte %d amid a character", end)
				return
			}
			start = end
		}
	}
}

// index reads the filter and the index of n ids.
func (r *ImageReader) index(v *values, n uint64) {
	if n == 0 {
		r.Failf("an index of no ids")
		return
	}
	v.filter = r.words("filter", uint64(filterSize(int(n))))
	starts := r.data("starts of buckets", 4*((n+indexBucket-1)/indexBucket+1))
	v.index = idIndex{chunks: r.data("chunks", n), chunk: (int(n) + indexChunks - 1) / indexChunks}
	if r.Err() != nil {
		return
	}
	v.index.starts = make([]uint32, len(starts)/4)
	last := uint32(0)
	for i := range v.index.starts {
		start := binary.LittleEndian.Uint32(starts[4*i:])
		if start < last || uint64(start) > n {
			r.Failf("bucket %d starts at %d of %d, and the one before at %d", i, start, n, last)
			return
		}
		v.index.starts[i], last = start, start
	}
	for i, chunk := range v.index.chunks {
		if int(chunk)*v.index.chunk >= int(n) {
			r.Failf("entry %d is of chunk %d, of %d ids in chunks of %d", i, chunk, n, v.index.chunk)
			return
		}
	}
}
