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

// Decoded is a profile: as bytes of pprof, or in memory.
type Decoded struct {
	// Encoded is a pprof profile, gzipped or not, if Parsed is nil. It shares the input's memory.
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

// InsertTx is Insert in the caller's transaction.
func (p *Decoded) InsertTx(ctx context.Context, db *profile.DB, tx *columnstore.Tx, opts profile.InsertOptions) (rows int, err error) {
	if p.Parsed != nil {
		return db.InsertTx(ctx, tx, p.Parsed, opts)
	}
	return db.InsertEncodedTx(ctx, tx, p.Encoded, opts)
}

// Hints are known facts about an input besides its content.
type Hints struct {
	// Only is the only accepted format. "" accepts each that Decode knows.
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
	// is reports whether the first decompressed bytes of an input have the format.
	is     func(head []byte) bool
	decode func(data []byte, limits profile.Limits) iter.Seq2[Decoded, error]
}

// formats are detected by content. Other bytes are taken for pprof, because its decoder says what is
// wrong with them.
var formats = []format{{Folded, isFolded, decodeFolded}}

// Decode returns an input's profiles. An error is the last element. data is not changed, and must not
// change while the decoded profiles are in use.
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

// failed returns a sequence with only an error.
func failed(err error) iter.Seq2[Decoded, error] {
	return func(yield func(Decoded, error) bool) { yield(Decoded{}, err) }
}

// headOf returns the first decompressed bytes of data, without leading spaces and byte order mark.
func headOf(data []byte) []byte {
	head := make([]byte, 512)
	n, _ := io.ReadFull(plain(data), head) // as much as there is, of broken data too
	return bytes.TrimLeft(head[:n], "\xef\xbb\xbf \t\r\n")
}

// plain returns a reader of data that decompresses gzipped data.
func plain(data []byte) io.Reader {
	if zip, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		return zip
	}
	return bytes.NewReader(data)
}
