package ihs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Writer streams a set's intervals to a file. It is not safe for concurrent use.
type Writer struct {
	out     *bufio.Writer
	header  Header
	limits  Limits
	written int
	last    int64
	scratch []byte
}

// NewWriter writes a set's header to w, uncompressed. The caller must know the number of intervals
// beforehand.
func NewWriter(w io.Writer, header Header) (*Writer, error) {
	limits := Limits{Keys: header.Keys, Intervals: header.Intervals}.withDefaults()
	if err := header.check(limits); err != nil {
		return nil, err
	}
	e := &Writer{out: bufio.NewWriterSize(w, 64<<10), header: header, limits: limits, last: header.Start}
	b := append(e.scratch, magic...)
	b = binary.AppendUvarint(b, uint64(header.Keys))
	b = binary.AppendUvarint(b, uint64(header.Intervals))
	b = binary.LittleEndian.AppendUint64(b, uint64(header.Start))
	b = binary.LittleEndian.AppendUint64(b, uint64(header.End))
	e.scratch = b[:0]
	_, err := e.out.Write(b)
	return e, err
}

// Write writes an interval. If the interval does not satisfy S1, exceeds a limit or exceeds the header's
// count, Write writes nothing and returns ErrFormat or ErrLimit. Other errors come from the underlying
// writer.
func (e *Writer) Write(iv Interval) error {
	if e.written == e.header.Intervals {
		return fmt.Errorf("%w: more than %d intervals", ErrFormat, e.header.Intervals)
	}
	if err := e.header.checkInterval(&iv, e.last, e.limits); err != nil {
		return fmt.Errorf("interval %d of %d: %w", e.written, e.header.Intervals, err)
	}
	b := binary.AppendUvarint(e.scratch, uint64(iv.Key))
	b = binary.AppendVarint(b, iv.End-e.last)
	b = binary.AppendUvarint(b, uint64(iv.End-iv.Start))
	b = append(b, byte(iv.Kind))
	switch iv.Kind {
	case KindInt, KindLong:
		b = binary.AppendVarint(b, iv.Int())
	case KindFloat:
		b = binary.LittleEndian.AppendUint64(b, iv.Word)
	case KindString:
		b = binary.AppendUvarint(b, uint64(len(iv.Text)))
		b = append(b, iv.Text...)
	}
	e.scratch = b[:0]
	e.written++
	e.last = iv.End
	_, err := e.out.Write(b)
	return err
}

// Close flushes the remaining bytes and leaves the underlying writer open. It returns ErrFormat if there were
// fewer intervals than the header's count. Other errors come from the underlying writer.
func (e *Writer) Close() error {
	var missing error
	if e.written != e.header.Intervals {
		missing = fmt.Errorf("%w: %d intervals of %d", ErrFormat, e.written, e.header.Intervals)
	}
	return errors.Join(missing, e.out.Flush())
}
