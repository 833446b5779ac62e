package history

import (
	"container/heap"
	"fmt"
	"math"
)

// Reorder sorts a transaction's changes that come out of order by up to a window of time, such as changes
// on several CPUs that were recorded side by side. It makes them in the order of their times, then of
// arrival. It belongs to the goroutine of its Writer, which must not be used otherwise meanwhile.
type Reorder struct {
	w      *Writer
	window int64
	late   delayed            // waiting changes; none is earlier than the window
	seen   uint64             // number of changes so far
	latest int64              // greatest time so far
	made   int64              // time of the last change that was made; the next are not earlier
	kinds  map[Attribute]Kind // kinds of attributes that have a waiting change but no kind
}

// NewReorder returns a Reorder that waits for changes up to `window` earlier than the latest. It holds the
// changes of one window, 64 bytes each. The error is ErrQuery for a negative window.
func NewReorder(w *Writer, window int64) (*Reorder, error) {
	if window < 0 {
		return nil, fmt.Errorf("%w: a window of %d", ErrQuery, window)
	}
	return &Reorder{w: w, window: window, latest: math.MinInt64, made: math.MinInt64, kinds: map[Attribute]Kind{}}, nil
}

// Change takes a change like Writer.Change, and makes the waiting changes that are older than the window. A
// change that is earlier than the window is made at once.
//
// It returns the errors of Writer.Change for this change, and ErrOrder if it is earlier than a change that
// was made, which no change within the window is. The waiting changes stay as they are. With
// Options.Reserve the error may come from an earlier change: then this one was not taken, and both can be
// tried again.
func (r *Reorder) Change(t int64, a Attribute, v Value) error {
	if t < r.made {
		return fmt.Errorf("%w: attribute %d at %d, changes up to %d were made", ErrOrder, a, t, r.made)
	}
	if err := r.w.fits(t, a, v); err != nil {
		return err
	}
	if k := r.kinds[a]; !v.IsNull() && k != KindNull && k != v.kind {
		return fmt.Errorf("%w: attribute %d has %v values, not %v", ErrKind, a, k, v.kind)
	}
	latest := max(r.latest, t)
	edge := max(latest, math.MinInt64+r.window) - r.window // start of the window
	if t < edge {                                          // no waiting change is earlier
		if err := r.w.Change(t, a, v); err != nil {
			return err
		}
		r.made = t
		return nil
	}
	if err := r.make(edge); err != nil {
		return err
	}
	r.latest = latest
	if !v.IsNull() {
		r.kinds[a] = v.kind
	}
	heap.Push(&r.late, delayedChange{t, r.seen, change{a, v}})
	r.seen++
	return nil
}

// Flush makes all waiting changes. Without it a commit loses them. Its only error comes from
// Options.Reserve, after which Flush can be called again.
func (r *Reorder) Flush() error { return r.make(math.MaxInt64) }

// make makes the changes up to time upTo.
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

// delayed is a heap of waiting changes, ordered by time.
type delayed []delayedChange

type delayedChange struct {
	at    int64
	order uint64
	change
}

// Len returns the number of changes.
func (d delayed) Len() int { return len(d) }

// Less orders changes by time, then by arrival.
func (d delayed) Less(i, j int) bool {
	return d[i].at < d[j].at || d[i].at == d[j].at && d[i].order < d[j].order
}

// Swap swaps two changes.
func (d delayed) Swap(i, j int) { d[i], d[j] = d[j], d[i] }

// Push adds a change.
func (d *delayed) Push(x any) { *d = append(*d, x.(delayedChange)) }

// Pop removes the last change.
func (d *delayed) Pop() any {
	old := *d
	last := old[len(old)-1]
	old[len(old)-1] = delayedChange{}
	*d = old[:len(old)-1]
	return last
}
