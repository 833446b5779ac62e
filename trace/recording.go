package trace

import (
	"context"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/ihs"
)

// Recording is a history closed at the end of its input, or a view of another history, perhaps with counts. It is
// safe for concurrent reads.
type Recording struct {
	// View is the whole history. The input's attribute with key k is history.Attribute(k).
	*history.View
	// Bytes is the history's memory, with its indexes and names.
	Bytes int64
	// Intervals is the number of intervals. Counts has each attribute's number of intervals, and Kinds
	// that of each history.Kind. Counts is nil in a recording without counts.
	Intervals int
	Counts    []int
	Kinds     [int(history.KindBytes) + 1]int
}

// Target is a history that takes a recording, in its owner's transactions.
type Target struct {
	// Begin begins a transaction and returns the history's writer. In the first call the history is
	// empty and starts at start.
	Begin func(start int64) (*history.Writer, error)
	// Commit commits the transaction.
	Commit func() error
}

// SetInto writes a set that passed Check into a target, and returns its number of intervals. progress, if not
// nil, is called now and then with the number of intervals added. The errors are ihs.ErrFormat, and any from
// package history, from ctx, and from the target, which is left as LoadInto leaves it.
func SetInto(ctx context.Context, s *ihs.Set, progress func(done, total int64), to Target) (intervals int, err error) {
	r, err := feed(ctx, inputOf(s), progress, to)
	if err != nil {
		return 0, err
	}
	return r.Intervals, nil
}

// ViewInto writes all of a view into a target, closed at its end, and returns the number of intervals. It
// takes 64 bytes an attribute. progress, if not nil, is called now and then with the finished time. The
// errors come from package history, from the target, which is left as LoadInto leaves it, and from ctx.
func ViewInto(ctx context.Context, v *history.View, progress func(done, total int64), to Target) (intervals int, err error) {
	in, err := inputOfView(v)
	if err != nil {
		return 0, err
	}
	r, err := feed(ctx, in, progress, to)
	if err != nil {
		return 0, err
	}
	return r.Intervals, nil
}

// Build builds a new history from what write writes into a target. The recording has no counts. Build returns
// the errors of write.
func Build(write func(Target) error) (*Recording, error) {
	var h *history.History // nil before the first transaction
	var tx *history.Draft
	var view *history.View
	err := write(Target{
		Begin: func(start int64) (w *history.Writer, err error) {
			if h == nil {
				if h, err = history.New(history.Options{Start: start}); err != nil {
					return nil, err
				}
			}
			if tx, err = h.Begin(); err != nil {
				return nil, err
			}
			return tx.Writer, nil
		},
		Commit: func() (err error) {
			view, err = tx.Commit()
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	return &Recording{View: view, Bytes: h.Size()}, nil
}

// build builds a new history with counts.
func build(ctx context.Context, in input, progress func(done, total int64)) (*Recording, error) {
	var counts *Recording
	r, err := Build(func(to Target) (err error) {
		counts, err = feed(ctx, in, progress, to)
		return err
	})
	if err != nil {
		return nil, err
	}
	counts.View, counts.Bytes = r.View, r.Bytes
	return counts, nil
}
