package partialfile

import (
	"context"
	"errors"
	"fmt"

	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/history/partial"
)

// Write builds a partial history in a file, which is durable when it returns. It streams the kept
// intervals, so it takes memory only for the cache, the checkpoints, and each attribute's state.
// fileOpts.Provider names the provider and its version; fileOpts.History.Start and opts.History are set.
//
// It returns the errors of partial.Build, file.Create and Close. After an error there is no file, unless it
// could not be removed; fs.ErrExist leaves the existing file.
func Write[E any](ctx context.Context, path string, fileOpts file.Options, events partial.Events[E], provider partial.Provider[E], opts partial.Options) error {
	fileOpts.History.Start = opts.Start
	w, err := file.Create(path, fileOpts)
	if err != nil {
		return err
	}
	opts.History = w.History
	h, err := partial.Build(ctx, events, provider, opts)
	if err == nil {
		w.Note = h.AppendImage(nil)
		err = w.Close()
	}
	if err != nil {
		return errors.Join(err, w.Discard())
	}
	return nil
}

// Reader is a partial history in a file. Any number of goroutines may query it.
type Reader[E any] struct {
	*partial.History[E]

	file *file.Reader
}

// Open opens a file, with the events and the provider from which Write built it. It costs what file.Open
// does, and 20 ns a checkpoint.
//
// It returns the errors of file.Open (ErrFormat for another provider's file, *disk.DamagedError), and
// partial.ErrImage for a file that Write did not finish, that lost its last index, or that does not belong
// to this package. A query whose block is damaged has a *disk.DamagedError; others answer.
func Open[E any](path string, fileOpts file.Options, events partial.Events[E], provider partial.Provider[E]) (*Reader[E], error) {
	r, err := file.Open(path, fileOpts)
	if err != nil {
		return nil, err
	}
	h, err := partial.Open(r.View, r.Note, events, provider)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), r.Close())
	}
	return &Reader[E]{h, r}, nil
}

// Verify reads all blocks, and returns the joined errors of damaged or unreadable blocks.
func (r *Reader[E]) Verify() error { return r.file.Verify() }

// Close closes the file. Queries that need a block return an error from then on.
func (r *Reader[E]) Close() error { return r.file.Close() }
