package states

import (
	"context"
	"iter"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/history/union"
	"github.com/granarydb/granary/trace"
)

// asked is a history that a command asks. A whole history (union.Complete), one of which a part is kept (partial.History) and
// several as one (union.History) have its methods.
type asked interface {
	bounds
	At(ctx context.Context, a history.Attribute, t int64) (history.Interval, error)
	Range(ctx context.Context, a history.Attribute, from, to int64) iter.Seq2[history.Interval, error]
	RangeAll(ctx context.Context, attributes []history.Attribute, from, to int64, f func(history.Attribute, history.Interval) error) error
	Sample(ctx context.Context, attributes []history.Attribute, times []int64) ([]history.Attribute, []history.Interval, error)
}

// recording is the history that a command asks, and what is known about it.
type recording struct {
	history.Names
	asked
	// counts are those of a history in memory. They are nil before count for others.
	counts *trace.Recording
	// whole is nil of a history of which a part is kept, and of several as one.
	whole  *history.View
	part   *partial.History[change] // nil of others
	partOf string                   // the CSV with the rest of it
	// file is the file that it is read from, block by block; nil if it is in memory. provider is that of the
	// file, and size its bytes, or those of all members.
	file     *file.Reader
	provider string
	size     int64
	// members are the histories that it is several of, with their names. It closes them.
	members     []*recording
	memberNames []string
}

// newRecording returns a whole history, with its counts if it has them.
func newRecording(r *trace.Recording) *recording {
	return &recording{Names: r.Names, asked: union.Complete(r.View), counts: r, whole: r.View}
}

// count counts the intervals, unless they are counted. It reads all of them.
func (r *recording) count(ctx context.Context) error {
	if r.counts != nil && r.counts.Counts != nil {
		return nil
	}
	counts := &trace.Recording{Counts: make([]int, r.Len())}
	if r.counts != nil {
		counts.Bytes = r.counts.Bytes
	}
	err := r.RangeAll(ctx, all(r.Names), r.Start(), r.End(), func(a history.Attribute, in history.Interval) error {
		counts.Intervals++
		counts.Counts[a]++
		counts.Kinds[in.Value.Kind()]++
		return nil
	})
	if err == nil {
		r.counts = counts
	}
	return err
}

// all returns all attributes.
func all(names history.Names) []history.Attribute {
	of := make([]history.Attribute, names.Len())
	for a := range of {
		of[a] = history.Attribute(a)
	}
	return of
}

// span is from an instant to another, both included.
type span struct{ from, to int64 }

// view returns a view that has the intervals of attributes in a span: the history itself if it is whole. Else it takes memory for
// them, and each event of the span is read again once. The numbers of attributes are those of the history.
func (r *recording) view(ctx context.Context, attributes []history.Attribute, of span) (*history.View, error) {
	if r.whole != nil {
		return r.whole, nil
	}
	h, err := history.New(history.Options{Start: r.Start()})
	if err != nil {
		return nil, err
	}
	w, err := h.Begin()
	if err != nil {
		return nil, err
	}
	defer w.Abort() // does nothing after Commit
	if err := addNames(w.Writer, r.Names); err != nil {
		return nil, err
	}
	next := map[history.Attribute]int64{} // the first instant of which an attribute has no interval
	add := func(a history.Attribute, in history.Interval) error {
		begin, known := next[a]
		if !known {
			begin = r.Start()
		}
		if begin < in.Start {
			if err := w.Add(a, begin, in.Start-1, history.Value{}); err != nil {
				return err
			}
		}
		next[a] = in.End + 1
		return w.Add(a, in.Start, in.End, in.Value)
	}
	if err := r.RangeAll(ctx, attributes, of.from, of.to, add); err != nil {
		return nil, err
	}
	for a, begin := range next {
		if begin <= r.End() {
			if err := w.Add(a, begin, r.End(), history.Value{}); err != nil {
				return nil, err
			}
		}
	}
	if err := w.Close(r.End()); err != nil {
		return nil, err
	}
	return w.Commit()
}

// addNames gives a new history the attributes of another, with their numbers.
func addNames(w *history.Writer, names history.Names) error {
	for _, a := range all(names) {
		parent, err := names.Parent(a)
		if err != nil {
			return err
		}
		name, err := names.Name(a)
		if err != nil {
			return err
		}
		if _, err := w.Child(parent, name); err != nil {
			return err
		}
	}
	return nil
}
