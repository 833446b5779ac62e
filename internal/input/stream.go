package input

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"

	"github.com/granarydb/granary/profile/format"
)

// Stream is an open input, decompressed if it is gzip or zstd. It belongs to one goroutine, which closes it.
type Stream struct {
	*bufio.Reader
	// Size is the size of the file, or -1 for another input.
	Size  int64
	raw   *tally
	file  *os.File      // nil for another input than a regular file
	plain *bufio.Reader // between raw and Reader; nil for a compressed input
	close func() error
}

// Open opens a file, a URL or standard input, of any size. The context ends the fetch of a URL, which takes at
// most [Timeout] plus w's seconds, until it is closed.
func (w *Web) Open(ctx context.Context, name string) (*Stream, error) {
	s := &Stream{Size: -1, close: func() error { return nil }}
	switch {
	case IsURL(name):
		body, err := w.get(ctx, name)
		if err != nil {
			return nil, err
		}
		s.raw, s.close = &tally{r: body}, body.Close
	case name == "-":
		s.raw = &tally{r: os.Stdin}
	default:
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		s.raw, s.close = &tally{r: f}, f.Close
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			s.Size, s.file = info.Size(), f
		}
	}
	bytes := format.Plain(s.raw)
	s.plain, _ = bytes.(*bufio.Reader)
	s.Reader = bufio.NewReaderSize(bytes, format.HeadBytes)
	return s, nil
}

// NewStream returns the stream of an open input, which Close closes.
func NewStream(in io.ReadCloser) *Stream {
	s := &Stream{Size: -1, raw: &tally{r: in}, close: in.Close}
	s.Reader = bufio.NewReaderSize(format.Plain(s.raw), format.HeadBytes)
	return s
}

// errNoSeek is returned for a place that cannot be sought.
var errNoSeek = errors.New("the input can be read once")

// Seek implements io.Seeker for a regular file that is not compressed, to tell the place and to go to a place from the
// start.
func (s *Stream) Seek(offset int64, whence int) (int64, error) {
	switch {
	case s.file == nil || s.plain == nil || whence == io.SeekEnd || whence == io.SeekCurrent && offset != 0:
		return 0, errNoSeek
	case whence == io.SeekCurrent:
		return s.raw.n - int64(s.plain.Buffered()+s.Buffered()), nil
	}
	at, err := s.file.Seek(offset, io.SeekStart)
	s.raw.n = at
	s.plain.Reset(s.raw)
	s.Reset(s.plain)
	return at, err
}

// Done returns how many bytes of the input, compressed as it is, were read.
func (s *Stream) Done() int64 { return s.raw.n }

// Describe returns a sentence as the function [Describe] does, about what comes next in the stream.
func (s *Stream) Describe() string {
	head, _ := s.Peek(format.HeadBytes) // what there is
	return describe(head)
}

// Close closes the file or the connection.
func (s *Stream) Close() error { return s.close() }

// tally counts the bytes of an input.
type tally struct {
	r io.Reader
	n int64
}

func (c *tally) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
