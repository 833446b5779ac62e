package granule

import (
	"fmt"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/schema"
)

// ErrImage reports bytes that are not an image of a part or of dictionaries. Its text names the fault and
// the place.
var ErrImage = encoding.ErrImage

// Version is the version of an image of dictionaries. Images are written in the newest.
type Version = dict.Version

// The versions.
const (
	WholeRecords  = dict.WholeRecords
	SharedTexts   = dict.SharedTexts
	LocationCodes = dict.LocationCodes
)

// Watermark is a point in the growth of a generation's dictionaries: their last codes. The zero Watermark
// is the beginning. A watermark belongs to one Generation in memory.
type Watermark struct {
	Strings, UUIDs, Series int
	Lists                  dict.ListsMark
}

// Entries returns the number of values, elements and lists up to the watermark.
func (w Watermark) Entries() int {
	return w.Strings + w.UUIDs + w.Series + w.Lists.Elements + w.Lists.Lists
}

// Watermark returns the watermark of the present dictionaries. In a generation read from images, the next
// image begins there.
func (g *Generation) Watermark() Watermark {
	return Watermark{Strings: g.Strings.Len(), UUIDs: g.UUIDs.Len(), Lists: g.Lists.Mark(), Series: g.Series.Len()}
}

// NextWatermark returns the watermark for an image that is made now, or for several images up to it
// (dict.Lists.NextMark). It may run during inserts.
func (g *Generation) NextWatermark() Watermark {
	return Watermark{Strings: g.Strings.Len(), UUIDs: g.UUIDs.Len(), Lists: g.Lists.NextMark(), Series: g.Series.Len()}
}

// Fit returns the watermark up to which an image from since takes about `bytes` bytes, at most one entry
// more. Callers use it to write a large image in pieces. The result is after since, unless since equals to.
// `to` comes from NextWatermark, or from Watermark of a generation that was read from images. Fit costs 1 ns
// per entry.
func (g *Generation) Fit(since, to Watermark, bytes int) (next Watermark) {
	left := max(bytes, 1)
	next.Strings, left = g.Strings.Fit(since.Strings, to.Strings, left)
	next.UUIDs, left = g.UUIDs.Fit(since.UUIDs, to.UUIDs, left)
	next.Lists, left = g.Lists.Fit(since.Lists, to.Lists, left)
	next.Series, _ = g.Series.Fit(since.Series, to.Series, left)
	return next
}

// AppendImageTo appends to dst the entries between two watermarks. `to` comes from NextWatermark, from Fit,
// or from Watermark of a generation that was read from images. If both watermarks are equal, the image has a
// few bytes and can be omitted. AppendImageTo may run during inserts. An image up to a watermark that was
// taken after an insert has all codes of the insert's parts, and replaces all images between the watermarks
// (dict.Lists.AppendImageTo). It costs 10 ns per value, 5 ns per list, and a copy of their bytes.
func (g *Generation) AppendImageTo(dst []byte, since, to Watermark) (image []byte) {
	dst = g.Strings.AppendImageTo(dst, since.Strings, to.Strings)
	dst = g.UUIDs.AppendImageTo(dst, since.UUIDs, to.UUIDs)
	dst = g.Lists.AppendImageTo(dst, since.Lists, to.Lists)
	return g.Series.AppendImageTo(dst, since.Series, to.Series)
}

// OpenImage checks an image, of a version, of the entries that follow the present dictionaries against the limits of
// batches and the schema. It returns a function that adds them, which the caller calls once. Codes are
// the same as when the image was written, because seeds only change hashes. An error wraps ErrImage, and
// nothing changes.
//
// No other goroutine may use the generation from this call until the image is added. It costs about 80 ns per
// list and 20 ns per value, and copies the content. Dictionaries compute hashes when they are first searched
// (dict.Lists.OpenImage).
func (g *Generation) OpenImage(s *schema.Schema, image []byte, version Version) (add func(), err error) {
	var adds [4]func()
	for i, open := range []struct {
		what string
		do   func(image []byte) (func(), []byte, error)
	}{
		{"strings", func(image []byte) (func(), []byte, error) { return g.Strings.OpenImage(image, checkText) }},
		{"ids", func(image []byte) (func(), []byte, error) { return g.UUIDs.OpenImage(image, checkID) }},
		{"lists", func(image []byte) (func(), []byte, error) {
			return g.Lists.OpenImage(image, version, schema.MaxList, schema.MaxRecord)
		}},
		{"series", func(image []byte) (func(), []byte, error) { return g.Series.OpenImage(image, s.CheckTuple) }},
	} {
		if adds[i], image, err = open.do(image); err != nil {
			return nil, fmt.Errorf("%s: %w", open.what, err)
		}
	}
	if len(image) > 0 {
		return nil, fmt.Errorf("%w: %d bytes behind its end", ErrImage, len(image))
	}
	return func() {
		for _, add := range adds {
			add()
		}
	}, nil
}

// Prepare computes the hashes of dictionaries that were read from images, so that Size does not grow when
// they are first searched.
func (g *Generation) Prepare() {
	g.Strings.Prepare()
	g.UUIDs.Prepare()
	g.Lists.Prepare()
	g.Series.Prepare()
}

func checkText(value []byte) error {
	if len(value) > schema.MaxString || !utf8.Valid(value) {
		return fmt.Errorf("a string of %d bytes, at most %d of UTF-8", len(value), schema.MaxString)
	}
	return nil
}

func checkID(value []byte) error {
	if len(value) != len(uuid.UUID{}) {
		return fmt.Errorf("a UUID of %d bytes", len(value))
	}
	return nil
}
