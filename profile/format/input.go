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
	"strings"

	pprof "github.com/google/pprof/profile"
	"github.com/klauspost/compress/zstd"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// Decoded is a profile: as bytes of pprof, or in memory.
type Decoded struct {
	// Encoded is a pprof profile, gzipped or not, if Parsed is nil. It shares the input's memory.
	Encoded []byte
	Parsed  *pprof.Profile
	// SampleTimes, if not nil, are the times of the samples of Parsed, in their order and in ascending order, in Unix
	// nanoseconds.
	SampleTimes []int64
	isUndated   bool // SampleTimes count from InsertOptions.Time
	// Kind is the profile's name as the label profile.NameLabel has it, such as process_cpu or mutex, if the format says more
	// about it than the types.
	Kind string
	// Labels are the labels of the profile as a whole, if the format has them. They yield to InsertOptions.Labels.
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
	if len(p.SampleTimes) > 0 {
		return p.insertTimed(ctx, db, tx, opts)
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
	// Sampling says what a format without types of its own counts.
	Sampling Sampling
	// Limits bound a profile. Fields that are 0 have their defaults.
	Limits profile.Limits
	// Take, if not nil, is called before memory is allocated that the length of an input does not bound, with the number of
	// bytes: a tree of few bytes has long stacks. Decode ends with its error.
	Take func(bytes int64) error
}

// Name names a format.
type Name string

// The formats.
const (
	PPROF  Name = "pprof"
	Folded Name = "folded" // lines of functions, root first, with semicolons between them, a space and a number
	Debug1 Name = "debug1" // the text that runtime/pprof of Go writes with debug=1, and the heaps of gperftools
	Debug2 Name = "debug2" // the stacks of goroutines that it writes with debug=2

	PerfScript Name = "perf-script" // the text of perf script
	Speedscope Name = "speedscope"  // the JSON of speedscope
	Jemalloc   Name = "jemalloc"    // a heap_v2 of jemalloc

	StackGroups Name = "groups" // Pyroscope's name of folded stacks
	StackLines  Name = "lines"  // a stack a line, each of which counts once
	StackTrie   Name = "trie"   // the tree of the texts of stacks
	StackTree   Name = "tree"   // the tree of the functions of stacks

	JFR Name = "jfr" // recordings of Java's Flight Recorder, by the JDK or async-profiler

	Gperftools Name = "gperftools" // CPU profiles that gperftools writes
	OTLP       Name = "otlp"       // messages of OpenTelemetry, in protobuf or JSON
	GoTrace    Name = "go-trace"   // execution traces of Go, for the CPU samples in them
)

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

// eachLine calls add with the lines of a text, without the white space at their ends, and with an empty line at the end. Errors
// say what the text is, and the line.
func eachLine(data []byte, h Hints, what string, add func(line string) error) error {
	text, err := textOf(data, h.Limits)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if err := add(strings.TrimRight(string(line), " \t\r\n")); err != nil {
			return fmt.Errorf("%s, line %d: %w", what, number, err)
		}
	}
	if err := add(""); err != nil {
		return fmt.Errorf("%s, at the end: %w", what, err)
	}
	return nil
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

// Plain returns a reader of what r reads, decompressed if it is in gzip or zstd. It reads the first bytes of r, and its errors are
// those of r and of the decompression.
func Plain(r io.Reader) io.Reader {
	in := bufio.NewReader(r)
	switch magic, _ := in.Peek(len(zstdMagic)); {
	case bytes.HasPrefix(magic, []byte(gzipMagic)):
		zip, err := gzip.NewReader(in)
		if err != nil { // in lacks what was read of it
			return broken{err}
		}
		return zip
	case IsZstd(magic):
		// With one goroutine it has none that would have to be closed.
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return broken{err}
		}
		return z
	}
	return in
}

// broken is compressed data whose begin is not that of its form.
type broken struct{ err error }

// Read returns the error.
func (b broken) Read([]byte) (int, error) { return 0, b.err }

// isPacked reports whether data is compressed.
func isPacked(data []byte) bool { return bytes.HasPrefix(data, []byte(gzipMagic)) || IsZstd(data) }

// IsZstd reports whether data is compressed with zstd.
func IsZstd(data []byte) bool { return bytes.HasPrefix(data, []byte(zstdMagic)) }

// failed returns an error alone.
func failed(err error) iter.Seq2[Decoded, error] {
	return func(yield func(Decoded, error) bool) { yield(Decoded{}, err) }
}
