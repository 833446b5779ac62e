package encoding

import (
	"encoding/binary"
	"math"

	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/internal/fields"
)

// ErrImage reports bytes that are not an image. Its text names the fault and its place.
var ErrImage = dict.ErrImage

// An image is words and columns as bytes for a file. A descriptor has their layouts, widths, references and
// counts. The words follow in their form in memory, so that they are used in place. Columns that store their
// values are wide and come last, so that the other columns can be read without them. docs/format/part.md
// draws the bytes.
//
//	head | descriptor | words | wide words
//
// One more word follows the last word in each section, because packed words are read in pairs (see packed).
const imageHead = 8 // 4 bytes: the length of head and descriptor; 4 bytes: narrow words

// ImageWriter makes an image. The embedded writer adds fields to the descriptor. Columns and words must not
// change between their addition and AppendTo. The zero ImageWriter is an empty image. It is not safe for
// concurrent use.
type ImageWriter struct {
	fields.Writer
	narrow, wide imageSection
	isWide       bool   // of the words being written
	ordinals     *Words // of the lookups
	ids          []IDPlace
}

// imageSection is the wide words of an image, or the narrow ones.
type imageSection struct {
	pieces [][]byte
	words  int
}

// all returns the number of words in the section, including the extra word at the end.
func (s *imageSection) all() int {
	if s.words == 0 {
		return 0
	}
	return s.words + 1
}

func (s *imageSection) appendTo(dst []byte) []byte {
	for _, piece := range s.pieces {
		dst = append(dst, piece...)
		dst = append(dst, make([]byte, -len(piece)&7)...)
	}
	if s.words > 0 {
		dst = append(dst, make([]byte, 8)...)
	}
	return dst
}

// Reset makes the image empty and keeps its memory.
func (w *ImageWriter) Reset() {
	for _, s := range []*imageSection{&w.narrow, &w.wide} {
		clear(s.pieces)
		*s = imageSection{pieces: s.pieces[:0]}
	}
	w.Data, w.isWide, w.ordinals, w.ids = w.Data[:0], false, nil, w.ids[:0]
}

// IDs returns the places of the added plain UUID columns, in order. They are valid until Reset, and count
// from the first wide word.
func (w *ImageWriter) IDs() []IDPlace { return w.ids }

// AppendTo appends the image to dst. Its length is a multiple of 8. Its wide words begin at image[wide], or
// there are none if that is its end. It copies the bytes.
func (w *ImageWriter) AppendTo(dst []byte) (image []byte, wide int) {
	head := imageHead + len(w.Data)
	if uint64(head) > math.MaxUint32 || uint64(w.narrow.all()) > math.MaxUint32 {
		panic("encoding: an image of more than 32 GiB") // no granule is a hundredth of this size
	}
	start := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(head))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(w.narrow.all()))
	dst = append(dst, w.Data...)
	dst = append(dst, make([]byte, -head&7)...)
	dst = w.narrow.appendTo(dst)
	wide = len(dst) - start
	return w.wide.appendTo(dst), wide
}

// putData writes bytes and pads them to a whole word.
func (w *ImageWriter) putData(data []byte) {
	s := &w.narrow
	if w.isWide {
		s = &w.wide
	}
	s.pieces = append(s.pieces, data)
	s.words += (len(data) + 7) / 8
}

func (w *ImageWriter) putWords(words []uint64) {
	if littleEndian {
		w.putData(wordBytes(words))
		return
	}
	data := make([]byte, 0, 8*len(words))
	for _, word := range words {
		data = binary.LittleEndian.AppendUint64(data, word)
	}
	w.putData(data)
}

// ImageReader reads an image in the order in which it was written. The embedded reader reads the
// descriptor's fields and keeps the first error. Fields read after an error are zero, and no part of an
// image may be used before Close has returned nil.
//
// Its results refer to the image, which must not change and stays in memory while any of them is in use. If
// the image does not lie at a multiple of 8 bytes in memory, or the machine is big-endian, it is copied.
//
// It trusts nothing: an image that passes the checks can be read by all methods without a panic, in memory of
// at most 64 times its size, and 8 bytes for each row that a caller reads. It does not detect other words in
// place of the written ones, which takes a checksum.
type ImageReader struct {
	fields.Reader
	// MaxText is the greatest length of a string in a plain column, in bytes.
	MaxText int

	narrow, wide imageWords
	isWide       bool   // of the words being read
	ordinals     *Words // of the lookups
	headers      int    // length of the lookups' tables
}

// imageWords is the wide words of an image, or the narrow ones.
type imageWords struct {
	words []uint64 // including the extra word at the end
	raw   []byte   // the same as bytes
	place int      // offset of raw in the image
	read  int      // number of words read
}

// left returns the number of unread words.
func (s *imageWords) left() int { return max(0, len(s.words)-1) - s.read }

// Open starts reading an image. It keeps MaxText and Trace.
func (r *ImageReader) Open(image []byte) {
	wide := len(image)
	if len(image) >= imageHead {
		head, narrow := uint64(binary.LittleEndian.Uint32(image)), uint64(binary.LittleEndian.Uint32(image[4:]))
		wide = int(min((head+7)&^7+8*narrow, uint64(wide)))
	}
	r.OpenParts(image[:wide], image[wide:])
}

// OpenParts is Open for an image whose wide words are separate: image[:wide] and image[wide:] of AppendTo. If
// wide words are absent, their columns can only be skipped.
func (r *ImageReader) OpenParts(image, wide []byte) {
	trace := r.Trace
	*r = ImageReader{MaxText: r.MaxText, Reader: fields.NewReader(nil, ErrImage)}
	all := uint64(len(image) + len(wide))
	if len(image) < imageHead || all%8 != 0 {
		r.Failf("it has %d bytes", all)
		return
	}
	head, narrow := uint64(binary.LittleEndian.Uint32(image)), uint64(binary.LittleEndian.Uint32(image[4:]))
	start, end := (head+7)&^7, uint64(len(image))
	if head < imageHead || start > end || 8*narrow != end-start || narrow == 1 || len(wide) == 8 {
		r.Failf("%d bytes of head and descriptor and %d words, of %d bytes in all", head, narrow, all)
		return
	}
	r.Reader = fields.NewReader(image[:head], ErrImage)
	r.Trace = trace
	r.In("head")
	r.Raw("lengths", imageHead)
	r.narrow = imageWords{words: bytesWords(image[start:]), raw: image[start:], place: int(start)}
	r.wide = imageWords{words: bytesWords(wide), raw: wide, place: int(end)}
}

// Close returns the first error, or an error if a part of the image was not read.
func (r *ImageReader) Close() error {
	r.In("end")
	if fields, narrow, wide := r.Left(), r.narrow.left(), r.wide.left(); fields+narrow+wide > 0 {
		r.Failf("%d bytes of the descriptor, %d words and %d wide words are left", fields, narrow, wide)
	}
	return r.Err()
}

// section returns the words to read from.
func (r *ImageReader) section() *imageWords {
	if r.isWide {
		return &r.wide
	}
	return &r.narrow
}

// data reads n bytes, and the rest of their last word.
func (r *ImageReader) data(what string, n uint64) []byte {
	s := r.section()
	words := n/8 + min(n%8, 1)
	if r.Err() != nil {
		return nil
	}
	if words > uint64(s.left()) {
		r.Failf("%s have %d bytes, and %d words are left", what, n, s.left())
		return nil
	}
	at := 8 * s.read
	s.read += int(words)
	if r.Trace != nil {
		r.Trace(what, s.place+at, s.place+8*s.read, nil)
	}
	return s.raw[at : at+int(n) : at+int(n)]
}

// words reads n words.
func (r *ImageReader) words(what string, n uint64) []uint64 {
	s := r.section()
	from := s.read
	if r.data(what, 8*min(n, math.MaxUint64/8)) == nil {
		return nil
	}
	return s.words[from:s.read:s.read]
}

// bits reads n words of packed bits, and returns them with the next word.
func (r *ImageReader) bits(what string, n uint64) []uint64 {
	words := r.words(what, n)
	if len(words) == 0 {
		return nil
	}
	s := r.section()
	return s.words[s.read-len(words) : s.read+1 : s.read+1]
}
