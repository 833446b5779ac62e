package linux

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// lines reads text by lines. Its memory is a buffer of maxLine bytes.
type lines struct {
	r      *bufio.Reader
	number int  // of the line, from 1
	cut    bool // the line has no line feed, because the text ends in it
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, maxLine)} }

// next returns the next line without its end, valid up to the next call, and io.EOF after the last. A line that is too
// long is ErrFormat.
func (l *lines) next() ([]byte, error) {
	l.number++
	line, err := l.r.ReadSlice('\n')
	switch {
	case err == nil:
		return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrFormat, maxLine)
	case errors.Is(err, io.EOF) && len(line) > 0:
		l.cut = true
		return line, nil
	}
	return nil, err
}
