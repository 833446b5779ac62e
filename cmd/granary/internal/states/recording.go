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

// asked is a history that a command queries. A complete history (union.Complete), a partial one
// (partial.History) and a union (union.History) implement it.
type asked interface {
	bounds
	At(ctx context.Context, a history.Attribute, t int64) (history.Interval, error)
	Range(ctx context.Context, a history.Attribute, from, to int64) iter.Seq2[history.Interval, error]
	RangeAll(ctx context.Context, attributes []history.Attribute, from, to int64, f func(history.Attribute, history.Interval) error) error
	Sample(ctx context.Context, attributes []history.Attribute, times []int64) ([]history.Attribute, []history.Interval, error)
}

// recording is the history that a command queries, with its description.
type recording struct {
	history.Names
	asked
	// counts has the counts of a history in memory. It is nil for others until count.
	counts *trace.Recording
	// whole is nil for a partial history and for a union.
	whole  *history.View
	part   *partial.History[changeRow] // nil for others
	partOf string                      // the CSV with the other states
	// file is the file that is read block by block, or nil for a history in memory. provider is the file's
	// provider. size is the file's size, or the total size of all members.
	file     *file.Reader
	provider string
	size     int64
	// members are the histories of a union, with their names. close closes them.
	members     []*recording
	memberNames []string
}

// newRecording returns a complete history, with its counts if it has them.
func newRecording(r *trace.Recording) *recording {
	return &recording{Names: r.Names, asked: union.Complete(r.View), counts: r, whole: r.View}
}

// count counts the intervals, unless they are already counted. It reads all of them.
func (r *recording) count(ctx context.Context) error {
	if r.counts != nil && r.counts.Counts != nil {
		return nil
	}
	counts := &trace.Recording{Counts: make([]int, r.Len())}
	if r.counts != nil {
		counts.Bytes = r.counts.Bytes
	}
	err := r.RangeAll(ctx, r.All(), r.Start(), r.End(), func(a history.Attribute, in history.Interval) error {
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

// span is a range of instants, inclusive.
type span struct{ from, to int64 }

// view returns a view that has the intervals of attributes in a span. A complete history is the view itself.
// Otherwise the intervals are copied to memory, and each event of the span is read again once. Attributes
// keep their numbers.
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
	defer w.Abort() // a no-op after Commit
	if err := addNames(w.Writer, r.Names); err != nil {
		return nil, err
	}
	next := map[history.Attribute]int64{} // the first instant without an interval, for each attribute
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

// addNames adds the attributes of another history to a new one, with the same numbers.
func addNames(w *history.Writer, names history.Names) error {
	for _, a := range names.All() {
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
