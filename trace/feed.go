package trace

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/ihs"
)

// input is a recording as a stream.
type input struct {
	start, end int64
	attributes []ihs.Attribute                             // parents first
	next       func() (dated, error)                       // ordered by end; io.EOF at the end
	done       func(n int, last int64) (done, total int64) // progress in intervals, or in time
}

// dated is an interval with its attribute.
type dated struct {
	attribute  history.Attribute
	start, end int64
	value      history.Value
}

// streamOf returns a set's intervals as a stream.
func streamOf(h ihs.Header, attributes []ihs.Attribute, next func() (ihs.Interval, error)) input {
	return input{
		start: h.Start, end: h.End, attributes: attributes,
		next: func() (dated, error) {
			iv, err := next()
			if err != nil {
				return dated{}, err
			}
			return dated{history.Attribute(iv.Key), iv.Start, iv.End, valueOf(iv)}, nil
		},
		done: func(n int, _ int64) (int64, int64) { return int64(n), int64(h.Intervals) },
	}
}

// inputOf returns a set as a stream.
func inputOf(s *ihs.Set) input {
	i := 0
	return streamOf(s.Header, s.Attributes, func() (ihs.Interval, error) {
		if i == s.Len() {
			return ihs.Interval{}, io.EOF
		}
		i++
		return s.At(i - 1), nil
	})
}

// inputOfView returns a view as a stream: the next interval is the one that ends first.
func inputOfView(v *history.View) (input, error) {
	in := input{start: v.Start(), end: v.End()}
	ahead := make(endings, 0, v.Len())
	for a := range history.Attribute(v.Len()) {
		name, err := v.Name(a)
		if err != nil {
			return in, err
		}
		parent, err := v.Parent(a)
		if err != nil {
			return in, err
		}
		of := ihs.Attribute{Parent: ihs.NoParent, Name: name}
		if parent != history.Top {
			of.Parent = int(parent)
		}
		in.attributes = append(in.attributes, of)
		first, err := v.At(a, v.Start())
		if err != nil {
			return in, err
		}
		ahead = append(ahead, dated{a, first.Start, first.End, first.Value})
	}
	heap.Init(&ahead)
	in.next = func() (dated, error) {
		if len(ahead) == 0 {
			return dated{}, io.EOF
		}
		d := ahead[0]
		next, more, err := v.Next(d.attribute, d.end)
		switch {
		case err != nil:
			return d, err
		case more:
			ahead[0] = dated{d.attribute, next.Start, next.End, next.Value}
			heap.Fix(&ahead, 0)
		default:
			heap.Pop(&ahead)
		}
		return d, nil
	}
	in.done = func(_ int, last int64) (int64, int64) {
		return int64((uint64(last) - uint64(in.start)) / 2), int64((uint64(in.end) - uint64(in.start)) / 2)
	}
	return in, nil
}

// endings is a heap of intervals, ordered by end.
type endings []dated

func (e endings) Len() int { return len(e) }
func (e endings) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e[i].end, e[j].end), cmp.Compare(e[i].attribute, e[j].attribute)) < 0
}
func (e endings) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push implements heap.Interface.
func (e *endings) Push(x any) { *e = append(*e, x.(dated)) }

// Pop implements heap.Interface.
func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// feedBatch is the number of intervals in a commit. A commit seals them, because an unsealed interval takes
// several times the memory.
const feedBatch = 10_000

// feed writes an input's intervals, ordered by end, to a target and closes its history. The returned
// recording has only counts.
func feed(ctx context.Context, in input, progress func(done, total int64), to Target) (*Recording, error) {
	r := &Recording{Counts: make([]int, len(in.attributes))}
	w, err := to.Begin(in.start)
	if err != nil {
		return nil, err
	}
	if err := addAttributes(w, in.attributes); err != nil {
		return nil, err
	}
	last, pending := in.start, 0
	c := feedColumns{ends: make([]int64, len(in.attributes))}
	for n := 0; ; n++ {
		d, err := in.next()
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
				progress(in.done(n, last))
			}
		}
		// A commit closes the instants before its last end for writing.
		if pending++; pending > feedBatch && d.end > last {
			if w, err = c.commit(w, r, in.start, to); err != nil {
				return nil, err
			}
			pending = 1
		}
		last = d.end
		if err := c.add(w, r, d); err != nil {
			return nil, err
		}
	}
	if err := c.feed(w, r); err != nil {
		return nil, err
	}
	for key, end := range c.ends {
		if end != in.end || r.Counts[key] == 0 {
			return nil, fmt.Errorf("%w: attribute %d has no interval up to the end, %d", ihs.ErrFormat, key, in.end)
		}
	}
	if err := w.Close(in.end); err != nil {
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
	ends   []int64 // by attribute: end of its last added interval
}

// add takes an interval, and feeds the history when the columns are full.
func (c *feedColumns) add(w *history.Writer, r *Recording, d dated) error {
	c.some = append(c.some, d.attribute)
	c.starts, c.until = append(c.starts, d.start), append(c.until, d.end)
	c.values = append(c.values, d.value)
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
		r.Intervals++
		r.Counts[a]++
		r.Kinds[c.values[i].Kind()]++
	}
	c.some, c.starts, c.until, c.values = c.some[:0], c.starts[:0], c.until[:0], c.values[:0]
	return nil
}

// valueOf returns the value of an interval in a set.
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
