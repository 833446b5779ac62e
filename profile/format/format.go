package format

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"

	pprof "github.com/google/pprof/profile"
	"github.com/klauspost/compress/zstd"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/foreign"
	"github.com/granarydb/granary/profile"
)

// Decoded is a profile: as bytes of pprof, or in memory.
type Decoded struct {
	// Encoded is a pprof profile, gzipped or not, if Parsed is nil. It shares the input's memory.
	Encoded []byte
	Parsed  *pprof.Profile
	// Kind is the profile's name as the label profile.NameLabel has it, such as process_cpu or mutex, if the format says more
	// about it than the types.
	Kind string
	// Labels are those of the profile as a whole, if the format has them. They yield to InsertOptions.Labels.
	Labels map[string]string
}

// InsertTx inserts the profile in a transaction of the caller, as profile.DB.InsertTx does. Kind is worth more
// than the name of a file.
func (p *Decoded) InsertTx(ctx context.Context, db *profile.DB, tx *columnstore.Tx, opts profile.InsertOptions) (rows int, err error) {
	opts.Origin = cmp.Or(p.Kind, opts.Origin)
	if len(p.Labels) > 0 {
		labels := maps.Clone(p.Labels)
		maps.Copy(labels, opts.Labels)
		opts.Labels = labels
	}
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
	// OTLP decodes profiles of OpenTelemetry, whose messages package server/otlp knows. nil refuses them.
	OTLP func(data []byte, limits profile.Limits) iter.Seq2[Decoded, error]
	// JFR has the labels of a recording's samples, if they were sent beside it.
	JFR *JFRLabels
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
	JFR    Name = "jfr"    // recordings of Java's Flight Recorder, by the JDK or async-profiler

	Gperftools Name = "gperftools" // CPU profiles that gperftools writes
	OTLP       Name = "otlp"       // messages of OpenTelemetry, in protobuf or JSON
)

// format is a format that Decode knows.
type format struct {
	name Name
	// is reports whether the first decompressed bytes of an input have the format.
	is     func(head []byte) bool
	decode func(data []byte, h Hints) iter.Seq2[Decoded, error]
}

// limited returns a decoder that uses no hint but the limits.
func limited(decode func(data []byte, limits profile.Limits) iter.Seq2[Decoded, error]) func([]byte, Hints) iter.Seq2[Decoded, error] {
	return func(data []byte, h Hints) iter.Seq2[Decoded, error] { return decode(data, h.Limits) }
}

// formats are detected by content. Other bytes are taken for pprof, because its decoder says what is
// wrong with them.
var formats = []format{
	{Folded, isFolded, limited(decodeFolded)},
	{Debug1, isDebug1, limited(decodeDebug1)},
	{JFR, isJFR, decodeJFR},
	{Gperftools, foreign.IsLegacyCPU, limited(decodeGperftools)},
	{OTLP, isOTLP, decodeOTLP},
}

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
// Decode, of DB.InsertEncoded and of the commit.
func Insert(ctx context.Context, db *profile.DB, data []byte, h Hints, opts profile.InsertOptions) (rows int, err error) {
	tx := db.Store().Begin()
	for p, err := range Decode(data, h) {
		n := 0
		if err == nil {
			n, err = p.InsertTx(ctx, db, tx, opts)
		}
		if err != nil {
			tx.Abort()
			return 0, err
		}
		rows += n
	}
	if _, err := tx.Commit(); err != nil {
		return 0, err
	}
	return rows, nil
}

// Decode returns an input's profiles. An error is the last element. data is not changed, and must not
// change while the decoded profiles are in use.
func Decode(data []byte, h Hints) iter.Seq2[Decoded, error] {
	h.Limits = h.Limits.WithDefaults()
	if IsZstd(data) {
		var err error
		if data, err = inflated(data, h.Limits); err != nil {
			return failed(err)
		}
	}
	is := h.Is
	if is == "" && h.Only != PPROF {
		is = Of(data)
	}
	for _, f := range formats {
		if f.name == is && (h.Only == "" || h.Only == is) {
			return f.decode(data, h)
		}
	}
	if h.Only != "" && h.Only != PPROF {
		return failed(fmt.Errorf("%w: it is not in the format %s", profile.ErrProfile, h.Only))
	}
	return decodePPROF(data, h.Limits)
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
	from := io.Reader(bytes.NewReader(data))
	if isPacked(data) {
		from = Plain(from)
	}
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
	text, err := inflated(data, limits)
	return bytes.TrimPrefix(text, []byte(mark)), err
}

// inflated returns data, decompressed.
func inflated(data []byte, limits profile.Limits) (out []byte, err error) {
	if out = data; isPacked(data) {
		out, err = io.ReadAll(io.LimitReader(Plain(bytes.NewReader(data)), int64(limits.Bytes)+1))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: it cannot be decompressed: %w", profile.ErrProfile, err)
	}
	if len(out) > limits.Bytes {
		return nil, fmt.Errorf("%w: more than %d bytes when it is decompressed", profile.ErrTooLarge, limits.Bytes)
	}
	return out, nil
}

// invalid is a profile.ErrProfile of text that is not taken for pprof.
type invalid string

func (e invalid) Error() string { return string(e) }

// Unwrap returns profile.ErrProfile.
func (e invalid) Unwrap() error { return profile.ErrProfile }

// What begins compressed data.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
)

// maxWindow bounds the memory of a decoder of zstd: 8 MiB, as RFC 8878 recommends.
const maxWindow = 8 << 20

// Plain returns a reader of what r reads, decompressed if it is in gzip or zstd.
func Plain(r io.Reader) io.Reader {
	in := bufio.NewReader(r)
	switch magic, _ := in.Peek(len(zstdMagic)); {
	case bytes.HasPrefix(magic, []byte(gzipMagic)):
		if zip, err := gzip.NewReader(in); err == nil {
			return zip
		}
	case IsZstd(magic):
		// With one goroutine it has none that would have to be closed.
		if z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow)); err == nil {
			return z
		}
	}
	return in
}

// isPacked reports whether data is compressed.
func isPacked(data []byte) bool { return bytes.HasPrefix(data, []byte(gzipMagic)) || IsZstd(data) }

// IsZstd reports whether data is compressed with zstd.
func IsZstd(data []byte) bool { return bytes.HasPrefix(data, []byte(zstdMagic)) }

// failed returns an error alone.
func failed(err error) iter.Seq2[Decoded, error] {
	return func(yield func(Decoded, error) bool) { yield(Decoded{}, err) }
}
