package states

import (
	"context"
	"errors"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/trace"
)

// feeding writes a recording to a target, and returns the number of its intervals.
type feeding func(ctx context.Context, show func(trace.Stage, int64, int64), to trace.Target) (intervals int, err error)

// fileTarget writes a history file.
type fileTarget struct {
	path string
	w    *file.Writer // nil before the first transaction
	tx   *history.Draft
	view *history.View // view of the last transaction
}

// begin begins a transaction. The first call creates the file.
func (f *fileTarget) begin(start int64) (w *history.Writer, err error) {
	if f.w == nil {
		o := fileOptions(ourProvider + providerVersion)
		o.FS = nil // the folder of the file is synced
		o.History.Start = start
		if f.w, err = file.Create(f.path, o); err != nil {
			return nil, err
		}
	}
	if f.tx, err = f.w.History.Begin(); err != nil {
		return nil, err
	}
	return f.tx.Writer, nil
}

func (f *fileTarget) commit() (err error) {
	f.view, err = f.tx.Commit()
	return err
}

// abort removes the file after err, and returns err.
func (f *fileTarget) abort(err error) error {
	if f.w == nil {
		return err
	}
	if f.tx != nil {
		f.tx.Abort()
	}
	return errors.Join(err, f.w.Discard())
}
