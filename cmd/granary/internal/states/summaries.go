package states

import (
	"errors"
	"fmt"
	"io"

	"github.com/granarydb/granary/history/summary"
	"github.com/granarydb/granary/internal/disk"
)

// summarize adds summaries of the last transaction's states to the file, to be written at its last Sync.
func (f *fileTarget) summarize() error {
	p, err := summary.Of(f.view)
	if err != nil {
		return err
	}
	f.w.Aside = p.AppendImage(nil)
	return nil
}

// summaries returns the summaries in the file. It returns nil without an error for a file without summaries
// and for a history in memory. Errors are those of reading, *disk.DamagedError and summary.ErrImage.
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

// pyramid returns the summaries for a picture. If they are damaged or of another version, it computes them
// again from the intervals and reports why. If it returns nil, the picture is drawn from the intervals.
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
