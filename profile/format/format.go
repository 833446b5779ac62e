package format

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"iter"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// Decoded is one profile: as bytes of pprof, or in memory.
type Decoded struct {
	// Encoded are bytes of pprof, gzipped or not, if Parsed is nil. They are those that were decoded, and not copied.
	Encoded []byte
	Parsed  *pprof.Profile
}

// Insert inserts the profile, as profile.DB.Insert does.
func (p *Decoded) Insert(ctx context.Context, db *profile.DB, opts profile.InsertOptions) (rows int, err error) {
	if p.Parsed != nil {
		return db.Insert(ctx, p.Parsed, opts)
	}
	return db.InsertEncoded(ctx, p.Encoded, opts)
}

// InsertTx is Insert in a transaction of the caller.
func (p *Decoded) InsertTx(ctx context.Context, db *profile.DB, tx *columnstore.Tx, opts profile.InsertOptions) (rows int, err error) {
	if p.Parsed != nil {
		return db.InsertTx(ctx, tx, p.Parsed, opts)
	}
	return db.InsertEncodedTx(ctx, tx, p.Encoded, opts)
}

// Hints say what is known about bytes beside their content.
type Hints struct {
	// Only is the format that is asked for. "" is each that Decode knows.
	Only Name
	// Limits bound a profile. Fields that are 0 have their defaults.
	Limits profile.Limits
}

// Name names a format.
type Name string

// The formats.
const (
	PPROF  Name = "pprof"
	Folded Name = "folded" // lines of functions, root first, with semicolons between them, a space and a number
)

// format is a format that Decode knows.
type format struct {
	name Name
	// is reports whether the first bytes of an input, decompressed, are of the format.
	is     func(head []byte) bool
	decode func(data []byte, limits profile.Limits) iter.Seq2[Decoded, error]
}

// formats are those that are known by content. Bytes of none of them are taken for pprof, whose decoder says what is
// wrong with them.
var formats = []format{{Folded, isFolded, decodeFolded}}

// Decode returns the profiles of an input. An error is the last of them. data is not changed, and must not change while
// what is decoded is in use.
func Decode(data []byte, h Hints) iter.Seq2[Decoded, error] {
	limits := h.Limits.WithDefaults()
	if h.Only != PPROF {
		head := headOf(data)
		for _, f := range formats {
			if f.is(head) && (h.Only == "" || h.Only == f.name) {
				return f.decode(data, limits)
			}
		}
		if h.Only != "" {
			return failed(fmt.Errorf("%w: it is not in the format %s", profile.ErrProfile, h.Only))
		}
	}
	return decodePPROF(data, limits)
}

// failed returns the profiles of an input that has none for an error.
func failed(err error) iter.Seq2[Decoded, error] {
	return func(yield func(Decoded, error) bool) { yield(Decoded{}, err) }
}

// headOf returns the first bytes of data, decompressed, without spaces and a byte order mark in front.
func headOf(data []byte) []byte {
	head := make([]byte, 512)
	n, _ := io.ReadFull(plain(data), head) // what there is, of broken data too
	return bytes.TrimLeft(head[:n], "\xef\xbb\xbf \t\r\n")
}

// plain returns a reader of data, which decompresses it if it is gzipped.
func plain(data []byte) io.Reader {
	if zip, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		return zip
	}
	return bytes.NewReader(data)
}
