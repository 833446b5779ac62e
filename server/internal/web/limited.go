package web

import (
	"fmt"
	"io"

	"github.com/granarydb/granary/server/internal/fault"
)

// LimitedWriter is an answer of a limited size.
type LimitedWriter struct {
	w    io.Writer
	most int64
	n    int64
	err  error // set beyond the limit
}

// NewLimitedWriter returns a writer of at most `most` bytes to w.
func NewLimitedWriter(w io.Writer, most int64) *LimitedWriter {
	return &LimitedWriter{w: w, most: most}
}

// Write implements io.Writer.
func (l *LimitedWriter) Write(b []byte) (int, error) {
	if l.n+int64(len(b)) > l.most {
		if l.err == nil {
			l.err = fault.TooCostly("an answer of more than %d bytes", l.most)
		}
		return 0, l.err
	}
	l.n += int64(len(b))
	return l.w.Write(b)
}

// End returns the final error of an answer. After a part was sent, it hides the wrapped error, because a
// retry with a new snapshot cannot mend the answer.
func (l *LimitedWriter) End(err error) error {
	if l.err != nil {
		return l.err
	}
	if err != nil && l.n > 0 {
		return fmt.Errorf("amid the answer: %v", err) //nolint:errorlint // see above
	}
	return err
}
