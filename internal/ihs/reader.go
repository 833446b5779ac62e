package ihs

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
)

// magic begins every set.
const magic = "IHS1"

// Reader streams a set's intervals. It keeps each distinct text in memory, and no intervals. It is not safe for
// concurrent use.
type Reader struct {
	in     *bufio.Reader
	limits Limits
	header Header
	read   int   // number of intervals returned so far
	last   int64 // end of the last interval
	texts  textTable
	err    error
}

// NewReader reads a set's header from r, which must be uncompressed. It may read past the end of the set. The
// errors are ErrFormat, ErrLimit and any from r.
func NewReader(r io.Reader, limits Limits) (*Reader, error) {
	d := &Reader{in: bufio.NewReaderSize(r, 64<<10), limits: limits.withDefaults()}
	if err := d.readHeader(); err != nil {
		return nil, formatError("header", err)
	}
	d.last = d.header.Start
	return d, nil
}

// Header returns the set's header.
func (d *Reader) Header() Header { return d.header }

// Next returns the next interval, which satisfies S1, and io.EOF after the last. The other errors are
// ErrFormat, ErrLimit and any from the underlying reader. After an error, Next returns the same error again.
func (d *Reader) Next() (Interval, error) {
	if d.err != nil {
		return Interval{}, d.err
	}
	if d.read == d.header.Intervals {
		d.err = d.atEnd()
		return Interval{}, d.err
	}
	iv, err := d.next()
	if err == nil {
		err = d.header.checkInterval(&iv, d.last, d.limits)
	}
	if err != nil {
		d.err = formatError(fmt.Sprintf("interval %d of %d", d.read, d.header.Intervals), err)
		return Interval{}, d.err
	}
	d.read++
	d.last = iv.End
	return iv, nil
}

func (d *Reader) readHeader() error {
	var fixed [16]byte
	if _, err := io.ReadFull(d.in, fixed[:len(magic)]); err != nil {
		return err
	}
	if string(fixed[:len(magic)]) != magic {
		return fmt.Errorf("%w: not an interval set: begins with %q", ErrFormat, fixed[:len(magic)])
	}
	for _, field := range []*int{&d.header.Keys, &d.header.Intervals} {
		n, err := d.uvarint()
		if err != nil {
			return err
		}
		if *field = int(n); *field < 0 || uint64(*field) != n {
			return fmt.Errorf("%w: count %d is too large", ErrLimit, n)
		}
	}
	if _, err := io.ReadFull(d.in, fixed[:]); err != nil {
		return err
	}
	d.header.Start = int64(binary.LittleEndian.Uint64(fixed[:8]))
	d.header.End = int64(binary.LittleEndian.Uint64(fixed[8:]))
	return d.header.check(d.limits)
}

// next decodes an interval. It checks both distances against the rest of the set's time range before adding
// them, so that no time wraps around.
func (d *Reader) next() (iv Interval, err error) {
	key, err := d.uvarint()
	if err != nil {
		return iv, err
	}
	if key >= uint64(d.header.Keys) {
		return iv, fmt.Errorf("%w: key %d of %d", ErrFormat, key, d.header.Keys)
	}
	rise, err := d.varint()
	if err != nil {
		return iv, err
	}
	if rise < 0 || uint64(rise) > uint64(d.header.End-d.last) {
		return iv, fmt.Errorf("%w: it ends %d after %d, in a set that ends at %d", ErrFormat, rise, d.last, d.header.End)
	}
	length, err := d.uvarint()
	if err != nil {
		return iv, err
	}
	iv.Key, iv.End = uint32(key), d.last+rise
	if length > uint64(iv.End-d.header.Start) {
		return iv, fmt.Errorf("%w: it lasts %d before %d, in a set that starts at %d", ErrFormat, length, iv.End, d.header.Start)
	}
	iv.Start = iv.End - int64(length)
	kind, err := d.in.ReadByte()
	if err != nil {
		return iv, err
	}
	iv.Kind = Kind(kind)
	return iv, d.readValue(&iv)
}

// uvarint is binary.ReadUvarint with a typed error.
func (d *Reader) uvarint() (uint64, error) {
	var x uint64
	for shift := 0; shift < 64; shift += 7 {
		b, err := d.in.ReadByte()
		if err != nil {
			return 0, err
		}
		if shift == 63 && b > 1 {
			break
		}
		x |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return x, nil
		}
	}
	return 0, fmt.Errorf("%w: a number of more than 64 bits", ErrFormat)
}

func (d *Reader) varint() (int64, error) {
	x, err := d.uvarint()
	return int64(x>>1) ^ -int64(x&1), err
}

func (d *Reader) readValue(iv *Interval) error {
	switch iv.Kind {
	case KindInt, KindLong:
		n, err := d.varint()
		iv.Word = uint64(n)
		return err
	case KindFloat:
		var b [8]byte
		_, err := io.ReadFull(d.in, b[:])
		iv.Word = binary.LittleEndian.Uint64(b[:])
		return err
	case KindString:
		n, err := d.uvarint()
		if err != nil {
			return err
		}
		if n > uint64(max(d.limits.Text, 0)) {
			return fmt.Errorf("%w: a text of %d bytes, at most %d", ErrLimit, n, d.limits.Text)
		}
		iv.Word, iv.Text, err = d.texts.read(d.in, int(n), d.limits.Texts)
		return err
	}
	return nil // null has no value; checkInterval refuses unknown kinds
}

// atEnd returns io.EOF if nothing follows the last interval.
func (d *Reader) atEnd() error {
	switch _, err := d.in.ReadByte(); err {
	case io.EOF:
		return io.EOF
	case nil:
		return fmt.Errorf("%w: bytes after interval %d, the last", ErrFormat, d.read)
	default:
		return formatError("end", err)
	}
}

// textOverhead is the approximate memory of a text besides its bytes, so that short texts count too.
const textOverhead = 64

// textTable holds each distinct text once.
type textTable struct {
	buf   []byte
	code  map[string]uint64
	texts []string
	size  int
}

// read reads a text of n bytes and returns its number and the text.
func (t *textTable) read(r io.Reader, n, limit int) (uint64, string, error) {
	if cap(t.buf) < n {
		t.buf = make([]byte, n) // a text is within its own limit, 64 KiB by default
	}
	buf := t.buf[:n]
	if _, err := io.ReadFull(r, buf); err != nil {
		return 0, "", err
	}
	if code, known := t.code[string(buf)]; known {
		return code, t.texts[code], nil
	}
	if t.size+n+textOverhead > limit {
		return 0, "", fmt.Errorf("%w: texts need more than %d bytes in all", ErrLimit, limit)
	}
	code, text := t.add(string(buf))
	return code, text, nil
}

func (t *textTable) add(text string) (uint64, string) {
	if t.code == nil {
		t.code = map[string]uint64{}
	}
	code := uint64(len(t.texts))
	t.code[text] = code
	t.texts = append(t.texts, text)
	t.size += len(text) + textOverhead
	return code, text
}

// formatError adds the place to an error, and wraps errors from truncated or damaged input in ErrFormat.
func formatError(where string, err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, ErrFormat), errors.Is(err, ErrLimit):
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%w: it is cut off: %w", ErrFormat, io.ErrUnexpectedEOF)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		err = fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return fmt.Errorf("%s: %w", where, err)
}

// Errors in sets. Their text names the fault and the interval or line.
var (
	// ErrFormat means that the input is not a set, or that a set contradicts itself.
	ErrFormat = errors.New("not a valid interval set")
	// ErrLimit means that a set exceeds a limit.
	ErrLimit = errors.New("interval set is too large")
)

// maxGuess bounds an allocation for a count whose data is not yet read (S2).
const maxGuess = 64 << 10

// Limits bounds the size of a set. A field that is 0 means its default.
type Limits struct {
	// Keys is the number of attributes. Default 16 Mi: sixteen times the largest benchmark of histories.
	Keys int
	// Intervals is the number of intervals, 29 bytes each in a Set. Default 64 Mi.
	Intervals int
	// Text is the length of a string, in bytes. Default 64 KiB.
	Text int
	// Texts is the total length of all distinct strings, in bytes, each with 64 bytes of overhead. It
	// also bounds the lines in the attribute file. Default 256 MiB.
	Texts int
}

func (l Limits) withDefaults() Limits {
	l.Keys = cmp.Or(l.Keys, 16<<20)
	l.Intervals = cmp.Or(l.Intervals, 64<<20)
	l.Text = cmp.Or(l.Text, 64<<10)
	l.Texts = cmp.Or(l.Texts, 256<<20)
	return l
}
