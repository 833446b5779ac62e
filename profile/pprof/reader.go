package pprof

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// Reader reads profiles, gzipped or not, into flat ones. It keeps the memory that it
// decompresses into for the next profile. The zero Reader is ready. It is not safe for
// concurrent use.
type Reader struct {
	source bytes.Reader
	zip    gzip.Reader
	raw    bytes.Buffer // the output of zip
}

// Read decompresses and decodes a profile into f, within the limits. f keeps no part of
// data, which is only read. Errors wrap ErrProfile or ErrTooLarge.
func (r *Reader) Read(data []byte, limits Limits, f *Flat) error {
	if len(data) == 0 {
		return fmt.Errorf("%w: it is empty", ErrProfile)
	}
	if isGzip(data) {
		if err := r.gunzip(data, limits.Bytes); err != nil {
			return err
		}
	}
	plain := r.Plain(data)
	if len(plain) > limits.Bytes {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limits.Bytes)
	}
	// A copy, which the strings of the profile are parts of: the memory of plain
	// is the caller's, or that of the next profile.
	err := Decode(string(plain), limits, f)
	if errors.Is(err, ErrProfile) && looksLikeText(plain) {
		return fmt.Errorf("%w: it is text (a URL of net/http/pprof must not have debug=1)", ErrProfile)
	}
	return err
}

// Plain returns the decompressed bytes of the data that Read just read. They are good
// until the next Read.
func (r *Reader) Plain(data []byte) []byte {
	if isGzip(data) {
		return r.raw.Bytes()
	}
	return data
}

// Size returns the bytes of memory that r keeps, about.
func (r *Reader) Size() int { return r.raw.Cap() }

// Reset lets go of the data that r read last and keeps its own memory.
func (r *Reader) Reset() { r.source.Reset(nil) }

func isGzip(data []byte) bool { return bytes.HasPrefix(data, []byte{0x1f, 0x8b}) }

// looksLikeText tells a page or a listing from damaged bytes, for the message.
func looksLikeText(data []byte) bool {
	for _, b := range data[:min(len(data), 256)] {
		if b < 0x20 && b != '\t' && b != '\n' && b != '\r' {
			return false
		}
	}
	return true
}

// gunzip decompresses data into r.raw, up to one byte more than most.
func (r *Reader) gunzip(data []byte, most int) error {
	r.raw.Reset()
	r.source.Reset(data)
	if err := r.zip.Reset(&r.source); err != nil {
		return fmt.Errorf("%w: gzip: %w", ErrProfile, err)
	}
	// The last bytes say the size, if one believes them: deflate makes at most
	// 1,032 bytes of one.
	says := binary.LittleEndian.Uint32(data[len(data)-4:]) // the header has ten
	size := min(uint64(says), uint64(most), 1032*uint64(len(data)))
	r.raw.Grow(int(size) + bytes.MinRead)
	if _, err := r.raw.ReadFrom(io.LimitReader(&r.zip, int64(most)+1)); err != nil {
		return fmt.Errorf("%w: gzip: %w", ErrProfile, err)
	}
	return nil
}
