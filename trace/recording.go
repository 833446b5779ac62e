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

// A Recording is a loaded history, closed at the end of its input, with counts of the input.
// It is safe for concurrent reads.
type Recording struct {
	// View is the whole history. The attribute with key k is history.Attribute(k).
	*history.View
	// History is the history of View.
	History *history.History
	// Header is the header of the input.
	Header ihs.Header
	// Counts has the number of intervals of each attribute, by key, and Values the number
	// of those that are not null.
	Counts, Values []int
	// Kinds has the number of intervals of each ihs.Kind.
	Kinds [int(ihs.KindString) + 1]int
}

// FromSet builds a history of a set that passed Check. progress, if not nil, is called now and
// then with the number of intervals added. The errors are ihs.ErrFormat, those of package
// history, and that of ctx.
func FromSet(ctx context.Context, s *ihs.Set, progress func(done, total int64)) (*Recording, error) {
	i := 0
	return feed(ctx, s.Header, s.Attributes, func() (ihs.Interval, error) {
		if i == s.Len() {
			return ihs.Interval{}, io.EOF
		}
		i++
		return s.At(i - 1), nil
	}, progress)
}

// feedBatch is the number of intervals of a commit. A commit seals them; an unsealed interval
// takes several times the memory.
const feedBatch = 10_000

// feed builds a history of the intervals that next returns, in the order of their ends.
func feed(ctx context.Context, header ihs.Header, attributes []ihs.Attribute, next func() (ihs.Interval, error), progress func(done, total int64)) (*Recording, error) {
	h, err := history.New(history.Options{Start: header.Start})
	if err != nil {
		return nil, err
	}
	r := &Recording{History: h, Header: header, Counts: make([]int, len(attributes)), Values: make([]int, len(attributes))}
	tx, err := h.Begin()
	if err != nil {
		return nil, err
	}
	if err := addAttributes(tx, attributes); err != nil {
		return nil, err
	}
	last, pending := header.Start, 0
	c := feedColumns{ends: make([]int64, len(attributes))}
	for n := 0; ; n++ {
		iv, err := next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, cmp.Or(c.feed(tx, r), err)
		}
		if n%feedBatch == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if progress != nil {
				progress(int64(n), int64(header.Intervals))
			}
		}
		// A commit closes the instants before its last end for writing.
		if pending++; pending > feedBatch && iv.End > last {
			if tx, err = c.commit(tx, r); err != nil {
				return nil, err
			}
			pending = 1
		}
		last = iv.End
		if err := c.add(tx, r, iv); err != nil {
			return nil, err
		}
	}
	if err := c.feed(tx, r); err != nil {
		return nil, err
	}
	for key, end := range c.ends {
		if end != header.End || r.Counts[key] == 0 {
			return nil, fmt.Errorf("%w: attribute %d has no interval up to the end, %d", ihs.ErrFormat, key, header.End)
		}
	}
	if err := tx.Close(header.End); err != nil {
		return nil, err
	}
	r.View, err = tx.Commit()
	return r, err
}

func addAttributes(tx *history.Draft, attributes []ihs.Attribute) error {
	for key, a := range attributes {
		parent := history.Top
		if a.Parent != ihs.NoParent {
			parent = history.Attribute(a.Parent)
		}
		if _, err := tx.Child(parent, a.Name); err != nil {
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
	kinds  []ihs.Kind
	before int     // intervals added so far
	ends   []int64 // by attribute: end of its last interval added
}

// add takes an interval, and feeds the history when the columns are full.
func (c *feedColumns) add(tx *history.Draft, r *Recording, iv ihs.Interval) error {
	c.some = append(c.some, history.Attribute(iv.Key))
	c.starts, c.until = append(c.starts, iv.Start), append(c.until, iv.End)
	c.values, c.kinds = append(c.values, valueOf(iv)), append(c.kinds, iv.Kind)
	if len(c.some) < feedChunk {
		return nil
	}
	return c.feed(tx, r)
}

// commit commits the intervals so far and begins the next transaction.
func (c *feedColumns) commit(tx *history.Draft, r *Recording) (*history.Draft, error) {
	if err := c.feed(tx, r); err != nil {
		return nil, err
	}
	if _, err := tx.Commit(); err != nil {
		return nil, err
	}
	return r.History.Begin()
}

// feed adds the intervals to the history, counts them, and empties the columns. Its error
// names the first wrong interval.
func (c *feedColumns) feed(tx *history.Draft, r *Recording) error {
	added, err := tx.AddAll(c.some, c.starts, c.until, c.values)
	if err != nil {
		return fmt.Errorf("interval %d: %w", c.before+added, err)
	}
	c.before += added
	for i, a := range c.some {
		c.ends[a] = c.until[i]
		r.Counts[a]++
		if c.kinds[i] != ihs.KindNull {
			r.Values[a]++
		}
		r.Kinds[c.kinds[i]]++
	}
	c.some, c.starts, c.until = c.some[:0], c.starts[:0], c.until[:0]
	c.values, c.kinds = c.values[:0], c.kinds[:0]
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
