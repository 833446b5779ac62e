package format

import (
	"bytes"
	"cmp"
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
	// Kind is block or mutex, if the format tells these kinds of profiles apart, whose types are equal.
	Kind string
}

// InsertTx inserts the profile in a transaction of the caller, as profile.DB.InsertTx does. Kind is worth more
// than the name of a file.
func (p *Decoded) InsertTx(ctx context.Context, db *profile.DB, tx *columnstore.Tx, opts profile.InsertOptions) (rows int, err error) {
	opts.Origin = cmp.Or(p.Kind, opts.Origin)
	if p.Parsed != nil {
		return db.InsertTx(ctx, tx, p.Parsed, opts)
	}
	return db.InsertEncodedTx(ctx, tx, p.Encoded, opts)
}

// Hints are known facts about an input besides its content.
type Hints struct {
	// Only is the only accepted format. "" accepts each that Decode knows.
	Only Name
	// Is is the format by the content. "" lets Decode find it.
	Is Name
	// Limits bound a profile. Fields that are 0 have their defaults.
	Limits profile.Limits
}

// Name names a format.
type Name string

// The formats.
const (
	PPROF  Name = "pprof"
	Folded Name = "folded" // lines of functions, root first, with semicolons between them, a space and a number
	Debug1 Name = "debug1" // the text that runtime/pprof of Go writes with debug=1
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
var formats = []format{{Folded, isFolded, decodeFolded}, {Debug1, isDebug1, decodeDebug1}}

// Names returns the names of all formats.
func Names() []string {
	names := []string{string(PPROF)}
	for _, f := range formats {
		names = append(names, string(f.name))
	}
	return names
}

// Of returns the format, other than pprof, that bytes are in by their first ones, gzipped or not. It returns "" for others.
func Of(data []byte) Name {
	head := headOf(data)
	for _, f := range formats {
		if f.is(head) {
			return f.name
		}
	}
	return ""
}

// Insert decodes an input and inserts its profiles in one transaction: all of them, or none after an error. Errors are those of
// InsertTx and of the commit.
func Insert(ctx context.Context, db *profile.DB, data []byte, h Hints, opts profile.InsertOptions) (rows int, err error) {
	if opts.Subtracted == nil {
		opts.Subtracted = new(profile.Subtraction)
	}
	tx := db.Store().Begin()
	if rows, err = InsertTx(ctx, db, tx, data, h, opts); err != nil {
		tx.Abort()
	} else if _, err = tx.Commit(); err == nil {
		return rows, nil
	}
	opts.Subtracted.Drop()
	return 0, err
}

// InsertTx decodes an input and inserts its profiles in a transaction of the caller, who aborts it after an error. Errors are those
// of Decode and of DB.InsertEncodedTx. InsertOptions.Deltas applies to formats of profiles that can count from the start of a
// process, which have one profile.
func InsertTx(ctx context.Context, db *profile.DB, tx *columnstore.Tx, data []byte, h Hints, opts profile.InsertOptions) (rows int, err error) {
	if h.Is == "" {
		h.Is = cmp.Or(Of(data), PPROF)
	}
	if !h.Is.IsCumulative() {
		opts.Deltas = nil
	}
	for p, err := range Decode(data, h) {
		n := 0
		if err == nil {
			n, err = p.InsertTx(ctx, db, tx, opts)
		}
		if err != nil {
			return 0, err
		}
		rows += n
	}
	return rows, nil
}

// IsCumulative reports whether values of the format can count from the start of a process. Those of others are of a period.
func (n Name) IsCumulative() bool { return n == PPROF || n == Debug1 }

// Decode returns an input's profiles. An error is the last element. data is not changed, and must not
// change while the decoded profiles are in use.
func Decode(data []byte, h Hints) iter.Seq2[Decoded, error] {
	limits := h.Limits.WithDefaults()
	is := h.Is
	if is == "" && h.Only != PPROF {
		is = Of(data)
	}
	for _, f := range formats {
		if f.name == is && (h.Only == "" || h.Only == is) {
			return f.decode(data, limits)
		}
	}
	if h.Only != "" && h.Only != PPROF {
		err := fmt.Errorf("%w: it is not in the format %s", profile.ErrProfile, h.Only)
		return func(yield func(Decoded, error) bool) { yield(Decoded{}, err) }
	}
	return decodePPROF(data, limits)
}

// HeadBytes is the number of bytes, decompressed, that the format of an input is known by at most: the first line of a text can be
// the longest stack. binaryHead is that of others than texts, because pprof is most of what is decoded.
const (
	HeadBytes  = 64 << 10
	binaryHead = 512
)

// mark is the byte order mark of UTF-8, which a text may begin with.
const mark = "\xef\xbb\xbf"

// headOf returns the first bytes of data, decompressed, without a mark.
func headOf(data []byte) []byte {
	from := plain(data)
	head := make([]byte, binaryHead)
	n, err := io.ReadFull(from, head) // what there is, of broken data too
	if head = bytes.TrimPrefix(head[:n], []byte(mark)); err == nil && bytes.IndexFunc(head, isBinary) < 0 {
		more := make([]byte, HeadBytes-len(head))
		n, _ = io.ReadFull(from, more)
		head = append(head, more[:n]...)
	}
	return head
}

// isBinary reports whether a text has no such character.
func isBinary(r rune) bool { return r < ' ' && r != '\t' && r != '\r' && r != '\n' }

// textOf returns a text, decompressed and without a mark.
func textOf(data []byte, limits profile.Limits) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(plain(data), int64(limits.Bytes)+1))
	if err != nil {
		return nil, fmt.Errorf("%w: gzip: %w", profile.ErrProfile, err)
	}
	if len(text) > limits.Bytes {
		return nil, fmt.Errorf("%w: more than %d bytes when it is decompressed", profile.ErrTooLarge, limits.Bytes)
	}
	return bytes.TrimPrefix(text, []byte(mark)), nil
}

// invalid is a profile.ErrProfile of text that is not taken for pprof.
type invalid string

func (e invalid) Error() string { return string(e) }

// Unwrap returns profile.ErrProfile.
func (e invalid) Unwrap() error { return profile.ErrProfile }

// plain returns a reader of data, which decompresses it if it is gzipped.
func plain(data []byte) io.Reader {
	if zip, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		return zip
	}
	return bytes.NewReader(data)
}
