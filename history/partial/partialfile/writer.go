package partialfile

import (
	"context"
	"errors"

	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/history/partial"
)

// Writer is a partial history that is written to a file as its events come. It belongs to one goroutine.
type Writer[E any] struct {
	// Growing reads events and makes checkpoints.
	*partial.Growing[E]

	file *file.Writer
}

// Create makes a file, with a history that goes on and has no checkpoint yet. Both are durable when it
// returns. fileOpts.Provider names the provider and its version; fileOpts.History.Start and opts.History
// are set.
//
// It returns the errors of file.Create, Sync and partial.Grow. After an error there is no file, unless it
// could not be removed; fs.ErrExist leaves the existing file.
func Create[E any](ctx context.Context, path string, fileOpts file.Options, events partial.Events[E], provider partial.Provider[E], opts partial.Options) (*Writer[E], error) {
	fileOpts.History.Start = opts.Start
	w, err := file.Create(path, fileOpts)
	if err != nil {
		return nil, err
	}
	opts.History = w.History
	g, err := partial.Grow(ctx, events, provider, opts)
	if err != nil {
		return nil, errors.Join(err, w.Discard())
	}
	both := &Writer[E]{g, w}
	if err := both.Sync(); err != nil {
		return nil, errors.Join(err, both.Discard())
	}
	return both, nil
}

// Sync makes the history durable up to the last checkpoint, with the intervals that hold there: Open
// returns it from then on, whatever happens to the process. To include all events up to now, call
// Checkpoint first. It costs what file.Writer.Sync does, and some 6 bytes for each attribute that has a
// state.
//
// It returns the errors of file.Writer.Sync, after which the file stays as the previous Sync left it.
func (w *Writer[E]) Sync() error {
	if err := w.note(); err != nil {
		return err
	}
	return w.file.Sync()
}

// note stores the checkpoints in the file's note.
func (w *Writer[E]) note() error {
	h, err := w.History()
	if err == nil {
		w.file.Note = h.AppendImage(w.file.Note[:0])
	}
	return err
}

// Close is Sync, and closes the reader of events and the file. After Finish the file has the whole history,
// otherwise a history that goes on. The errors come from the reader and from Sync; the file is closed all
// the same.
func (w *Writer[E]) Close() error {
	err := w.Growing.Close()
	return errors.Join(err, w.note(), w.file.Close())
}

// Discard closes the reader of events and the file, if Close did not, and removes the file. The errors come
// from the reader and the file system.
func (w *Writer[E]) Discard() error { return errors.Join(w.Growing.Close(), w.file.Discard()) }
