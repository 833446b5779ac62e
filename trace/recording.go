package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/trace/ihs"
)

// A Recording is a history closed at the end of its input, or a view of another one, with counts.
// It is safe for concurrent reads, except beside Count.
type Recording struct {
	// View is the whole history. The attribute of the input with key k is history.Attribute(k).
	*history.View
	// Bytes is the memory of the history, with its indexes and names.
	Bytes int64
	// Intervals is their number. Counts has the number of intervals of each attribute, and Values
	// the number of those that are not null. Kinds has the number of intervals of each
	// history.Kind. A recording of a view has these from Count on.
	Intervals      int
	Counts, Values []int
	Kinds          [int(history.KindBytes) + 1]int
}

// FromView returns a recording of a view of a history that takes the given memory, without counts.
func FromView(view *history.View, bytes int64) *Recording {
	return &Recording{View: view, Bytes: bytes}
}

// Count counts the intervals of a recording that has no counts. It reads all intervals. The errors
// are those of package history, and that of ctx.
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

// A Target is a history that takes a recording, in transactions of its owner.
type Target struct {
	// Begin begins a transaction and returns the writer of the history. The history of the first
	// one is empty and starts at the given instant.
	Begin func(start int64) (*history.Writer, error)
	// Commit commits the transaction.
	Commit func() error
}

// FromSet builds a history of a set that passed Check. progress, if not nil, is called now and
// then with the number of intervals added. The errors are ihs.ErrFormat, those of package
// history, and that of ctx.
func FromSet(ctx context.Context, s *ihs.Set, progress func(done, total int64)) (*Recording, error) {
	return build(ctx, inputOf(s), progress)
}

// input is an interval set as a stream.
type input struct {
	ihs.Header
	attributes []ihs.Attribute
	next       func() (ihs.Interval, error) // io.EOF at the end
}

// inputOf returns a set as a stream.
func inputOf(s *ihs.Set) input {
	i := 0
	return input{s.Header, s.Attributes, func() (ihs.Interval, error) {
		if i == s.Len() {
			return ihs.Interval{}, io.EOF
		}
		i++
		return s.At(i - 1), nil
	}}
}

// build builds a history of its own.
func build(ctx context.Context, in input, progress func(done, total int64)) (*Recording, error) {
	h, err := history.New(history.Options{Start: in.Start})
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

// feedBatch is the number of intervals of a commit. A commit seals them; an unsealed interval
// takes several times the memory.
const feedBatch = 10_000

// feed writes the intervals of an input, in the order of their ends, to a target and closes its
// history. The recording that it returns has counts alone.
func feed(ctx context.Context, in input, progress func(done, total int64), to Target) (*Recording, error) {
	r := &Recording{Counts: make([]int, len(in.attributes)), Values: make([]int, len(in.attributes))}
	w, err := to.Begin(in.Start)
	if err != nil {
		return nil, err
	}
	if err := addAttributes(w, in.attributes); err != nil {
		return nil, err
	}
	last, pending := in.Start, 0
	c := feedColumns{ends: make([]int64, len(in.attributes))}
	for n := 0; ; n++ {
		iv, err := in.next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, cmp.Or(c.feed(w, r), err)
		}
		if n%feedBatch == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if progress != nil {
				progress(int64(n), int64(in.Intervals))
			}
		}
		// A commit closes the instants before its last end for writing.
		if pending++; pending > feedBatch && iv.End > last {
			if w, err = c.commit(w, r, in.Start, to); err != nil {
				return nil, err
			}
			pending = 1
		}
		last = iv.End
		if err := c.add(w, r, iv); err != nil {
			return nil, err
		}
	}
	if err := c.feed(w, r); err != nil {
		return nil, err
	}
	for key, end := range c.ends {
		if end != in.End || r.Counts[key] == 0 {
			return nil, fmt.Errorf("%w: attribute %d has no interval up to the end, %d", ihs.ErrFormat, key, in.End)
		}
	}
	if err := w.Close(in.End); err != nil {
		return nil, err
	}
	return r, to.Commit()
}

func addAttributes(w *history.Writer, attributes []ihs.Attribute) error {
	for key, a := range attributes {
		parent := history.Top
		if a.Parent != ihs.NoParent {
			parent = history.Attribute(a.Parent)
		}
		if _, err := w.Child(parent, a.Name); err != nil {
			return fmt.Errorf("attribute %d: %w", key, err)
		}
	}
	return nil
}

// feedChunk is the number of intervals that are added at a time.
const feedChunk = 1024

// feedColumns holds intervals on their way into a history.
type feedColumns struct {
	some   []history.Attribute
	starts []int64
	until  []int64
	values []history.Value
	before int     // intervals added so far
	ends   []int64 // by attribute: end of its last interval added
}

// add takes an interval, and feeds the history when the columns are full.
func (c *feedColumns) add(w *history.Writer, r *Recording, iv ihs.Interval) error {
	c.some = append(c.some, history.Attribute(iv.Key))
	c.starts, c.until = append(c.starts, iv.Start), append(c.until, iv.End)
	c.values = append(c.values, valueOf(iv))
	if len(c.some) < feedChunk {
		return nil
	}
	return c.feed(w, r)
}

// commit commits the intervals so far and begins the next transaction.
func (c *feedColumns) commit(w *history.Writer, r *Recording, start int64, to Target) (*history.Writer, error) {
	if err := c.feed(w, r); err != nil {
		return nil, err
	}
	if err := to.Commit(); err != nil {
		return nil, err
	}
	return to.Begin(start)
}

// feed adds the intervals to the history, counts them, and empties the columns. Its error
// names the first wrong interval.
func (c *feedColumns) feed(w *history.Writer, r *Recording) error {
	added, err := w.AddAll(c.some, c.starts, c.until, c.values)
	if err != nil {
		return fmt.Errorf("interval %d: %w", c.before+added, err)
	}
	c.before += added
	for i, a := range c.some {
		c.ends[a] = c.until[i]
		r.count(a, c.values[i].Kind())
	}
	c.some, c.starts, c.until, c.values = c.some[:0], c.starts[:0], c.until[:0], c.values[:0]
	return nil
}

// valueOf returns the value of an interval of a set.
func valueOf(iv ihs.Interval) history.Value {
	switch iv.Kind {
	case ihs.KindInt, ihs.KindLong:
		return history.Int(iv.Int())
	case ihs.KindFloat:
		return history.Float(iv.Float())
	case ihs.KindString:
		return history.String(iv.Text)
	}
	return history.Value{}
}
