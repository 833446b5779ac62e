package states

import (
	"errors"
	"fmt"
	"io"

	"github.com/granarydb/granary/history/summary"
	"github.com/granarydb/granary/internal/disk"
)

// summarize puts the summaries of a history beside it, before its last Sync. They are of the last transaction.
func (f *fileTarget) summarize() error {
	p, err := summary.Of(f.view)
	if err != nil {
		return err
	}
	f.w.Aside = p.AppendImage(nil)
	return nil
}

// summaries returns those in the file. It is nil without an error for a file that has none, and for a history in memory. The
// error is that of reading them, or *disk.DamagedError.
func (r *recording) summaries() (*summary.Pyramid, error) {
	if r.file == nil || r.whole == nil {
		return nil, nil
	}
	image, err := r.file.Aside()
	if err != nil || image == nil {
		return nil, err
	}
	return summary.Open(r.whole, image)
}

// pyramid returns the summaries for a picture. Those that are damaged, or of another version, are made again from the
// intervals, with a line on why. nil is none: the picture is drawn from the intervals.
func (r *recording) pyramid(messages io.Writer) (*summary.Pyramid, error) {
	p, err := r.summaries()
	if err == nil {
		return p, nil
	}
	if _, damaged := errors.AsType[*disk.DamagedError](err); !damaged && !errors.Is(err, summary.ErrImage) {
		return nil, err
	}
	fmt.Fprintf(messages, "granary: %v: the summaries are made again\n", err)
	return summary.Of(r.whole)
}
