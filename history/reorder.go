package history

import (
	"container/heap"
	"fmt"
	"math"
)

// Reorder takes the changes of a transaction in an order that is off by up to a window of
// time, as those of several CPUs are that were recorded side by side, and makes them in
// the order of their times; those of one time in the order in which they came. It belongs
// to the goroutine of its Writer, which is not to be written otherwise meanwhile.
type Reorder struct {
	w      *Writer
	window int64
	late   delayed
	seen   uint64             // changes that came
	latest int64              // time of one
	made   int64              // time of the last that was made; none is earlier
	kinds  map[Attribute]Kind // of those that have none yet, but a change that waits
}

// NewReorder returns a Reorder that waits for changes that are at most so much earlier than
// the latest. It holds those of one window: 64 bytes each. ErrQuery says that the window is
// negative.
func NewReorder(w *Writer, window int64) (*Reorder, error) {
	if window < 0 {
		return nil, fmt.Errorf("%w: a window of %d", ErrQuery, window)
	}
	return &Reorder{w: w, window: window, latest: math.MinInt64, made: math.MinInt64, kinds: map[Attribute]Kind{}}, nil
}

// Change takes a change as Writer.Change does, and makes those that nothing can come
// before any more. The errors are those of Writer.Change, of this change; ErrTime also for
// one that is earlier than the window. With Options.Reserve its error may be that of an
// earlier change: then this one was not taken, and both can be tried again.
func (r *Reorder) Change(t int64, a Attribute, v Value) error {
	if t < r.made {
		return fmt.Errorf("%w: attribute %d at %d, changes up to %d were made", ErrTime, a, t, r.made)
	}
	if err := r.w.fits(t, a, v); err != nil {
		return err
	}
	if k := r.kinds[a]; !v.IsNull() && k != KindNull && k != v.kind {
		return fmt.Errorf("%w: attribute %d has %v values, not %v", ErrKind, a, k, v.kind)
	}
	latest := max(r.latest, t)
	if latest >= math.MinInt64+r.window {
		if err := r.make(latest - r.window); err != nil {
			return err
		}
	}
	r.latest = latest
	if !v.IsNull() {
		r.kinds[a] = v.kind
	}
	heap.Push(&r.late, delayedChange{t, r.seen, change{a, v}})
	r.seen++
	return nil
}

// Flush makes all changes that wait. It must be called before the transaction commits, or
// they are lost. Its error can only be that of Options.Reserve; then it can be called again.
func (r *Reorder) Flush() error { return r.make(math.MaxInt64) }

// make makes the changes up to a time.
func (r *Reorder) make(upTo int64) error {
	for len(r.late) > 0 && r.late[0].at <= upTo {
		c := r.late[0]
		if err := r.w.Change(c.at, c.attribute, c.value); err != nil {
			return err
		}
		r.made = c.at
		heap.Pop(&r.late)
	}
	return nil
}

// delayed is changes that wait, as a heap by time.
type delayed []delayedChange

type delayedChange struct {
	at    int64
	order uint64
	change
}

// Len is how many wait.
func (d delayed) Len() int { return len(d) }

// Less orders by time, then by arrival.
func (d delayed) Less(i, j int) bool {
	return d[i].at < d[j].at || d[i].at == d[j].at && d[i].order < d[j].order
}

// Swap swaps two.
func (d delayed) Swap(i, j int) { d[i], d[j] = d[j], d[i] }

// Push adds one.
func (d *delayed) Push(x any) { *d = append(*d, x.(delayedChange)) }

// Pop takes the last.
func (d *delayed) Pop() any {
	old := *d
	last := old[len(old)-1]
	old[len(old)-1] = delayedChange{}
	*d = old[:len(old)-1]
	return last
}
