package profile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	pprof "github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"
)

// Errors of profiles that come in.
var (
	// ErrProfile says that bytes are not a pprof profile, or that a profile
	// contradicts itself.
	ErrProfile = errors.New("not a valid pprof profile")
	// ErrTooLarge says that a profile is beyond a limit.
	ErrTooLarge = errors.New("profile is too large")
)

// A profile shares strings and locations, rows do not: what it expands to is
// bounded as well. The largest profiles in the field need a tenth of these.
const (
	// maxStackIDs bounds the locations of all samples together, 16 bytes each.
	maxStackIDs = 16 << 20
	// maxRecords bounds the bytes of all location records.
	maxRecords = 256 << 20
	// maxLabelBytes bounds the bytes of the labels of all rows.
	maxLabelBytes = 256 << 20
	// maxLabelCells bounds rows times distinct labels, 16 bytes each.
	maxLabelCells = 16 << 20
	// maxSampleValues bounds the values of all samples, 8 bytes each.
	maxSampleValues = 16 << 20
	// maxEntries bounds the strings of a profile, its mappings, its functions,
	// its locations and the lines of them, each: they take up to 64 bytes.
	maxEntries = 2 << 20
)

// maxKept bounds the memory that a DB keeps for the next insert, in bytes.
const maxKept = 16 << 20

// Limits bounds what a profile may hold. A field that is 0 means its default.
type Limits struct {
	// Bytes is the size of the encoded profile, decompressed.
	// Default 64 MiB: the largest heap profiles in the field have a few.
	Bytes int
	// Samples is the number of samples. Default 1,000,000.
	Samples int
	// Depth is the number of locations of a sample. Default 16,384, also the
	// most that the store takes.
	Depth int
}

func (l Limits) withDefaults() Limits {
	if l.Bytes == 0 {
		l.Bytes = 64 << 20
	}
	if l.Samples == 0 {
		l.Samples = 1_000_000
	}
	if l.Depth == 0 {
		l.Depth = 16 << 10
	}
	return l
}

// Parse decodes a pprof profile, gzipped or not. It reads at most
// limits.Bytes of it decompressed. Errors wrap ErrProfile or ErrTooLarge. To insert
// a profile, InsertEncoded does not need it.
func Parse(data []byte, limits Limits) (*pprof.Profile, error) {
	var w workspace
	if err := w.read(data, limits.withDefaults()); err != nil {
		return nil, err
	}
	// What came this far is within the limits: pprof's own parser knows none.
	p, err := pprof.ParseUncompressed(w.plain(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProfile, err)
	}
	return p, nil
}

// workspace is the memory that an insert works in. A DB keeps some for the next.
type workspace struct {
	source  bytes.Reader
	zip     gzip.Reader
	raw     bytes.Buffer // what zip gave
	flat    flat
	batcher batcher
}

func (db *DB) workspace() *workspace {
	if w, ok := db.workspaces.Get().(*workspace); ok {
		return w
	}
	return new(workspace)
}

// release gives a workspace back. One that a very large profile has grown is left
// to the garbage collector.
func (db *DB) release(w *workspace) {
	if w.raw.Cap()+w.flat.size()+w.batcher.size() > maxKept {
		return
	}
	w.source.Reset(nil)
	w.flat.reset()
	w.batcher.reset()
	db.workspaces.Put(w)
}

// read decompresses and decodes a profile into w.flat.
func (w *workspace) read(data []byte, limits Limits) error {
	if len(data) == 0 {
		return fmt.Errorf("%w: it is empty", ErrProfile)
	}
	if isGzip(data) {
		if err := w.gunzip(data, limits.Bytes); err != nil {
			return err
		}
	}
	plain := w.plain(data)
	if len(plain) > limits.Bytes {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limits.Bytes)
	}
	// A copy, which the strings of the profile are parts of: the memory of plain
	// is the caller's, or that of the next profile.
	err := decode(string(plain), limits, &w.flat)
	if errors.Is(err, ErrProfile) && looksLikeText(plain) {
		return fmt.Errorf("%w: it is text (a URL of net/http/pprof must not have debug=1)", ErrProfile)
	}
	return err
}

func isGzip(data []byte) bool { return bytes.HasPrefix(data, []byte{0x1f, 0x8b}) }

// plain returns what read decoded.
func (w *workspace) plain(data []byte) []byte {
	if isGzip(data) {
		return w.raw.Bytes()
	}
	return data
}

// looksLikeText tells a page or a listing from damaged bytes, for the message.
func looksLikeText(data []byte) bool {
	for _, b := range data[:min(len(data), 256)] {
		if b < 0x20 && b != '\t' && b != '\n' && b != '\r' {
			return false
		}
	}
	return true
}

// gunzip decompresses data into w.raw, up to one byte more than most.
func (w *workspace) gunzip(data []byte, most int) error {
	w.raw.Reset()
	w.source.Reset(data)
	if err := w.zip.Reset(&w.source); err != nil {
		return fmt.Errorf("%w: gzip: %w", ErrProfile, err)
	}
	// The last bytes say the size, if one believes them: deflate makes at most
	// 1,032 bytes of one.
	says := binary.LittleEndian.Uint32(data[len(data)-4:]) // the header has ten
	size := min(uint64(says), uint64(most), 1032*uint64(len(data)))
	w.raw.Grow(int(size) + bytes.MinRead)
	if _, err := w.raw.ReadFrom(io.LimitReader(&w.zip, int64(most)+1)); err != nil {
		return fmt.Errorf("%w: gzip: %w", ErrProfile, err)
	}
	return nil
}
