package protobuf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

const (
	// MaxMessage bounds a message of Messages. Recordings have messages of at most some MiB.
	MaxMessage = 256 << 20
	// messageStep is how much memory a message gets before its bytes are there.
	messageStep = 1 << 20
)

// Messages reads the messages in field 1 of a message, one after the other, as files of recordings have them. Other fields
// are skipped. It belongs to one goroutine.
type Messages struct {
	in     *bufio.Reader
	data   []byte
	offset int64
	bad    error
}

// NewMessages returns a reader of in. Its errors about the bytes wrap bad.
func NewMessages(in io.Reader, bad error) *Messages {
	return &Messages{in: bufio.NewReaderSize(in, 64<<10), bad: bad}
}

// fault returns an error in the bytes.
func (r *Messages) fault(offset int64, format string, args ...any) error {
	return fmt.Errorf("%w: byte %d: %s", r.bad, offset, fmt.Sprintf(format, args...))
}

// Next returns the next message, which is valid until the next call. The errors are io.EOF at the end, faults in the bytes, and those
// of the input.
func (r *Messages) Next() ([]byte, error) {
	for {
		from := r.offset
		tag, err := r.varint(true)
		if err != nil {
			return nil, err
		}
		var size uint64
		switch Wire(tag & 7) {
		case Varint:
			if _, err = r.varint(false); err != nil {
				return nil, err
			}
			continue
		case Eight:
			size = 8
		case Four:
			size = 4
		case Bytes:
			if size, err = r.varint(false); err != nil {
				return nil, err
			}
		default:
			return nil, r.fault(from, "no message begins here")
		}
		if size > MaxMessage {
			return nil, r.fault(from, "a message of %d bytes, at most %d", size, MaxMessage)
		}
		if err := r.read(int(size)); err != nil {
			return nil, err
		}
		if tag == 1<<3|uint64(Bytes) {
			return r.data, nil
		}
	}
}

// read reads the bytes of a message. Memory grows with the bytes that are there.
func (r *Messages) read(size int) error {
	r.data = r.data[:0]
	for len(r.data) < size {
		step := min(size-len(r.data), messageStep)
		at := len(r.data)
		r.data = append(r.data, make([]byte, step)...)
		n, err := io.ReadFull(r.in, r.data[at:])
		r.offset += int64(n)
		if err != nil {
			return r.cut(err)
		}
	}
	return nil
}

func (r *Messages) cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.fault(r.offset, "the end within a message")
	}
	return err
}

// varint reads a number. The end before it is io.EOF if a message may end there.
func (r *Messages) varint(mayEnd bool) (uint64, error) {
	v, n := uint64(0), 0
	for shift := 0; shift < 70; shift += 7 {
		c, err := r.in.ReadByte()
		if err != nil {
			if mayEnd && n == 0 {
				return 0, err
			}
			return 0, r.cut(err)
		}
		n++
		r.offset++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, nil
		}
	}
	return 0, r.fault(r.offset, "a number of more than ten bytes")
}
