package pprof

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"

	"github.com/granarydb/granary/internal/foreign"
)

// Reader decodes profiles, gzipped or not, into flat profiles. It reuses its decompression memory
// for the next profile. The zero Reader is ready to use. It is not safe for concurrent use.
type Reader struct {
	source bytes.Reader
	zip    gzip.Reader
	raw    bytes.Buffer // the output of zip
}

// Read decompresses and decodes a profile into f, within the limits. It neither changes nor
// retains data. Errors wrap ErrProfile or ErrTooLarge.
func (r *Reader) Read(data []byte, limits Limits, f *Flat) error {
	plain, err := r.unpack(data, limits)
	if err != nil {
		return err
	}
	return r.decode(plain, limits, f)
}

// unpack decompresses a profile. The result is a copy, of which f retains slices: plain bytes
// are memory of the caller, or are reused for the next profile.
func (r *Reader) unpack(data []byte, limits Limits) (string, error) {
	if len(data) == 0 {
		return "", fmt.Errorf("%w: empty input", ErrProfile)
	}
	plain := data
	if isGzip(data) {
		if err := r.gunzip(data, limits.Bytes); err != nil {
			return "", err
		}
		plain = r.raw.Bytes()
	}
	if len(plain) == 0 {
		return "", fmt.Errorf("%w: empty input, compressed", ErrProfile)
	}
	if len(plain) > limits.Bytes {
		return "", fmt.Errorf("%w: more than %d bytes decompressed", ErrTooLarge, limits.Bytes)
	}
	return string(plain), nil
}

func (r *Reader) decode(plain string, limits Limits, f *Flat) error {
	err := Decode(plain, limits, f)
	if errors.Is(err, ErrProfile) {
		if what := foreign.Describe([]byte(plain[:min(len(plain), foreign.MaxHead)])); what != "" {
			return fmt.Errorf("%w: %s", ErrProfile, what)
		}
		if looksLikeText(plain) {
			return fmt.Errorf("%w: it is text", ErrProfile)
		}
	}
	return err
}

// Size returns the approximate bytes that r keeps.
func (r *Reader) Size() int { return r.raw.Cap() }

// Reset drops the references to the data of the last Read, and keeps the memory of r.
func (r *Reader) Reset() { r.source.Reset(nil) }

func isGzip(data []byte) bool { return bytes.HasPrefix(data, []byte{0x1f, 0x8b}) }

// looksLikeText reports whether data is text rather than a damaged profile, for the error
// message.
func looksLikeText(data string) bool {
	for _, b := range []byte(data[:min(len(data), 256)]) {
		if b < 0x20 && b != '\t' && b != '\n' && b != '\r' {
			return false
		}
	}
	return true
}

// gunzip decompresses data into r.raw, up to most+1 bytes.
func (r *Reader) gunzip(data []byte, most int) error {
	r.raw.Reset()
	r.source.Reset(data)
	if err := r.zip.Reset(&r.source); err != nil {
		return fmt.Errorf("%w: gzip: %w", ErrProfile, err)
	}
	// The last four bytes contain the size. It is not trusted beyond the input's size, because a byte of
	// deflate expands to at most 1,032.
	says := binary.LittleEndian.Uint32(data[len(data)-4:]) // data has at least the ten bytes of a header
	size := min(uint64(says), uint64(most), 1032*uint64(len(data)))
	r.raw.Grow(int(size) + bytes.MinRead)
	if _, err := r.raw.ReadFrom(io.LimitReader(&r.zip, int64(most)+1)); err != nil {
		return fmt.Errorf("%w: gzip: %w", ErrProfile, err)
	}
	return nil
}
