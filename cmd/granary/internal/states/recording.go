package states

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/bits"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/history/summary"
	"github.com/granarydb/granary/history/union"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/tile"
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

// intervalsOf returns the number of intervals of a closed view. It reads the directories of tiles, and the tiles at its end.
func intervalsOf(v *history.View) (n int, err error) {
	defer tile.Catch(&err)
	ended := make([]uint64, v.Lanes()) // slots with an end at that of the view; others have an interval more
	for lane := range ended {
		whole, rest := v.Lane(lane)
		for i := range whole {
			n += int(whole[i].N)
		}
		for i := len(whole) - 1; i >= 0 && whole[i].Last == v.End(); i-- {
			var t tile.Tile
			t.Open(&whole[i])
			for left := t.Mask; left != 0; left &= left - 1 {
				slot := bits.TrailingZeros64(left)
				if _, hi := t.Slot(uint(slot)); t.End(hi-1) == v.End() {
					ended[lane] |= 1 << slot
				}
			}
		}
		n += len(rest.At)
		for i, slot := range rest.Slots {
			ended[lane] |= tile.One(rest.At[i].End == v.End()) << (slot &^ tile.Null)
		}
	}
	for _, a := range v.All() {
		if lane, slot, placed := v.Place(a); !placed || ended[lane]>>slot&1 == 0 {
			n++
		}
	}
	return n, nil
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
	built, err := trace.Build(func(to trace.Target) error {
		w, err := to.Begin(r.Start())
		if err == nil {
			err = r.writeTo(ctx, w, attributes, of)
		}
		if err != nil {
			return err
		}
		return to.Commit()
	})
	if err != nil {
		return nil, err
	}
	return built.View, nil
}

// writeTo writes the names of all attributes, with the same numbers, and the intervals of some in a span, and
// closes the history. Times without an interval are null.
func (r *recording) writeTo(ctx context.Context, w *history.Writer, attributes []history.Attribute, of span) error {
	if err := addNames(w, r.Names); err != nil {
		return err
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
		return err
	}
	for a, begin := range next {
		if begin <= r.End() {
			if err := w.Add(a, begin, r.End(), history.Value{}); err != nil {
				return err
			}
		}
	}
	return w.Close(r.End())
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
