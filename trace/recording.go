package trace

import (
	"context"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/ihs"
)

// Recording is a history closed at the end of its input, or a view of another history, with counts. It is
// safe for concurrent reads, except beside Count.
type Recording struct {
	// View is the whole history. The input's attribute with key k is history.Attribute(k).
	*history.View
	// Bytes is the history's memory, with its indexes and names.
	Bytes int64
	// Intervals is the number of intervals. Counts has each attribute's number of intervals, and Values
	// how many of them are not null. Kinds has the number of intervals of each history.Kind. A
	// recording of a view has these after Count.
	Intervals      int
	Counts, Values []int
	Kinds          [int(history.KindBytes) + 1]int
}

// FromView returns a recording of a view without counts. The history takes `bytes` bytes.
func FromView(view *history.View, bytes int64) *Recording {
	return &Recording{View: view, Bytes: bytes}
}

// Count counts the intervals in a recording that has no counts. It reads all intervals. The errors come
// from package history and ctx.
func (r *Recording) Count(ctx context.Context) error {
	if r.Counts != nil {
		return nil
	}
	counted := *r
	counted.Counts, counted.Values = make([]int, r.Len()), make([]int, r.Len())
	for a := range r.Len() {
		if err := ctx.Err(); err != nil {
			return err
		}
		for in, err := range r.Range(history.Attribute(a), r.Start(), r.End(), history.RangeOptions{}) {
			if err != nil {
				return err
			}
			counted.count(history.Attribute(a), in.Value.Kind())
		}
	}
	*r = counted
	return nil
}

// count counts an interval.
func (r *Recording) count(a history.Attribute, kind history.Kind) {
	r.Intervals++
	r.Counts[a]++
	if kind != history.KindNull {
		r.Values[a]++
	}
	r.Kinds[kind]++
}

// Target is a history that takes a recording, in its owner's transactions.
type Target struct {
	// Begin begins a transaction and returns the history's writer. In the first call the history is
	// empty and starts at start.
	Begin func(start int64) (*history.Writer, error)
	// Commit commits the transaction.
	Commit func() error
}

// FromSet builds a history from a set that passed Check. progress, if not nil, is called now and then with
// the number of intervals added. The errors are ihs.ErrFormat, and any from package history and ctx.
func FromSet(ctx context.Context, s *ihs.Set, progress func(done, total int64)) (*Recording, error) {
	return build(ctx, inputOf(s), progress)
}

// SetInto writes a set that passed Check into a target, and returns its number of intervals. progress and
// the errors are as for FromSet, and errors also come from the target, which is left as LoadInto leaves it.
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

// build builds a new history.
func build(ctx context.Context, in input, progress func(done, total int64)) (*Recording, error) {
	h, err := history.New(history.Options{Start: in.start})
	if err != nil {
		return nil, err
	}
	var tx *history.Draft
	var view *history.View
	r, err := feed(ctx, in, progress, Target{
		Begin: func(int64) (*history.Writer, error) {
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
	r.View, r.Bytes = view, h.Size()
	return r, nil
}
