package protobuf

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxMessage bounds a message of Messages, in bytes. Recordings have messages of at most some MiB.
const MaxMessage = 256 << 20

// Messages reads the messages in field 1 of a message, one after the other, as files of recordings have them. It belongs to
// one goroutine.
type Messages struct {
	in     *bufio.Reader
	part   io.LimitedReader // of in: the message
	data   bytes.Buffer
	offset int64
	bad    error
}

// NewMessages returns a reader of in, with a buffer of 64 KiB. Its errors about the bytes wrap bad.
func NewMessages(in io.Reader, bad error) *Messages {
	return &Messages{in: bufio.NewReaderSize(in, 64<<10), bad: bad}
}

// Reset makes r a reader of another input. It keeps its memory.
func (r *Messages) Reset(in io.Reader) {
	r.in.Reset(in)
	r.offset = 0
}

// fault returns an error in the bytes.
func (r *Messages) fault(offset int64, format string, args ...any) error {
	return fmt.Errorf("%w: byte %d: %s", r.bad, offset, fmt.Sprintf(format, args...))
}

// Next returns the next message, which is valid until the next call. It skips other fields. The errors are io.EOF at the end, faults
// in the bytes, which are named with their place, and those of the input.
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
			return r.data.Bytes(), nil
		}
	}
}

// read reads the bytes of a message. Memory grows with the bytes that are there.
func (r *Messages) read(size int) error {
	r.data.Reset()
	r.part = io.LimitedReader{R: r.in, N: int64(size)}
	n, err := r.data.ReadFrom(&r.part)
	r.offset += n
	if err == nil && r.part.N > 0 {
		err = io.EOF
	}
	if err != nil {
		return r.cut(err)
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
func (r *Messages) varint(mayEnd bool) (v uint64, err error) {
	for n := range maxVarint {
		c, err := r.in.ReadByte()
		if err != nil {
			if mayEnd && n == 0 {
				return 0, err
			}
			return 0, r.cut(err)
		}
		r.offset++
		v |= uint64(c&0x7f) << (7 * n)
		if c < 0x80 {
			return v, nil
		}
	}
	return 0, r.fault(r.offset, "a number of more than %d bytes", maxVarint)
}
