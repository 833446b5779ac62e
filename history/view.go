package history

import (
	"fmt"
	"iter"
	"sync/atomic"
)

// View is a history as one commit left it. It never changes, and may be read by any
// number of goroutines while the history is written: no read takes a lock or waits.
// Its Names are those of the attributes that were committed.
//
// An interval that had not ended is Open, and ends with the view.
type View struct {
	Names

	history *History
	lanes   []*lane
	slots   []atomic.Uint32
	placed  atomic.Pointer[[]uint64] // the places of all attributes, once a slice asked for them

	start, end int64
	final      int64 // later ends of what Add fed are not committed
	written    bool
	closed     bool
	dropped    bool // what was before start
}

// Start returns the first instant of the history.
func (v *View) Start() int64 { return v.start }

// End returns the latest instant that is known of, one before Start before the first
// commit of a change. (With a Start of math.MinInt64, ask Instants.)
func (v *View) End() int64 {
	if !v.written {
		return v.start - 1
	}
	return v.end
}

// Instants says whether the view has any instant: something was committed.
func (v *View) Instants() bool { return v.written }

// Closed says whether the history was closed: no interval is Open.
func (v *View) Closed() bool { return v.closed }

// checkTime says ErrTime for an instant that the view does not have.
func (v *View) checkTime(t int64) error {
	if !v.written {
		return fmt.Errorf("%w: %d, the history has no instant yet", ErrTime, t)
	}
	if t < v.start || t > v.end {
		return fmt.Errorf("%w: %d, the history is from %d to %d", ErrTime, t, v.start, v.end)
	}
	return nil
}

func (v *View) checkAttribute(a Attribute) error {
	if int64(a) >= int64(v.n) {
		return fmt.Errorf("%w: %d of %d", ErrAttribute, a, v.n)
	}
	return nil
}

// At returns the interval of an attribute that t is in. The errors are ErrTime for a t
// outside of the view and ErrAttribute. About 0.1 us, two or three cache misses.
func (v *View) At(a Attribute, t int64) (in Interval, err error) {
	if err := v.checkTime(t); err != nil {
		return in, err
	}
	if err := v.checkAttribute(a); err != nil {
		return in, err
	}
	v.at(&in, a, t)
	return in, nil
}

// at is At for a known attribute and an instant of the view.
//
// It and find write what they find where the caller has it, word by word. As a result it
// would be written in words and read again in pairs of them, and for such a read a
// processor waits until all that is before the writes is done: the cache misses of one
// state would not overlap with those of the next.
func (v *View) at(in *Interval, a Attribute, t int64) {
	*in = Interval{}
	pos := v.pos(a)
	if pos == 0 {
		in.Start, in.End, in.Open = v.start, v.end, !v.closed
		return
	}
	i, slot := int(pos-1)/laneWidth, uint(pos-1)%laneWidth
	l := v.lanes[i]
	var f found
	if all := v.history.all.Load(); v.closed && all != nil {
		var s sealed
		if s.tiles = all.of(i); len(s.tiles) < groupLen { // else groups are worth the way to the lane
			// Asked for before the search, in memory that has nothing to do with it: a miss that
			// overlaps. In a closed view nothing that has ended is open.
			kind := l.kinds[slot]
			if s.find(&f, slot, t, v.start); f.ended {
				in.Start, in.End = max(f.start, v.start), f.end
				if !f.null {
					in.Value = v.history.value(kind, f.word)
				}
				return
			}
		}
	}
	l.find(&f, slot, t, v.start)
	v.interval(in, l, slot, &f)
}

// pos returns where an attribute is, from 1, or 0 if it was not used yet when the view
// was made. It may have got its place since, in a lane that the view does not have.
func (v *View) pos(a Attribute) uint32 {
	if int(a) >= len(v.slots) {
		return 0
	}
	if pos := v.slots[a].Load(); pos <= uint32(len(v.lanes)*laneWidth) {
		return pos
	}
	return 0
}

// find is sealed.find, with the ongoing value of what Change feeds.
func (l *lane) find(f *found, slot uint, t, from int64) {
	if l.sealed.Load().find(f, slot, t, from); f.ended {
		return
	}
	word, null := l.ongoing(slot)
	// It may have ended since: then the value is that of what follows.
	if l.sealed.Load().find(f, slot, t, from); !f.ended {
		f.word, f.null = word, null
	}
}

// ongoing returns the value that a slot has from its last end on.
func (l *lane) ongoing(slot uint) (word uint64, null bool) {
	now := l.now.Load()
	if now == nil || now.has.Load()>>slot&1 == 0 {
		return 0, true
	}
	return now.words[slot].Load(), false
}

// isOpen says whether a slot's interval with an end that the lane has had not ended when
// the view was made.
func (v *View) isOpen(l *lane, slot uint, end int64) bool {
	if v.closed {
		return false
	}
	if l.fed.Load()>>slot&1 != 0 {
		return end > v.final
	}
	return end >= v.end
}

// interval says what the view has of what was found in a lane.
func (v *View) interval(in *Interval, l *lane, slot uint, f *found) {
	*in = Interval{}
	in.Start, in.End = max(f.start, v.start), f.end
	null := f.null
	switch {
	case !f.ended:
		in.End, in.Open = v.end, !v.closed
	case v.isOpen(l, slot, f.end):
		in.End, in.Open = v.end, true
		if l.fed.Load()>>slot&1 != 0 {
			null = true // it came later
		}
	}
	if !null {
		in.Value = v.history.value(l.kinds[slot], f.word)
	}
}

// Next returns the interval of an attribute behind the one that t is in; ok is false if
// the view has none. The errors are those of At.
func (v *View) Next(a Attribute, t int64) (in Interval, ok bool, err error) {
	in, err = v.At(a, t)
	if err != nil || in.End >= v.end {
		return Interval{}, false, err
	}
	v.at(&in, a, in.End+1)
	return in, true, nil
}

// Previous returns the interval of an attribute before the one that t is in; ok is false
// if that is the first. The errors are those of At.
func (v *View) Previous(a Attribute, t int64) (in Interval, ok bool, err error) {
	in, err = v.At(a, t)
	if err != nil || in.Start <= v.start {
		return Interval{}, false, err
	}
	v.at(&in, a, in.Start-1)
	return in, true, nil
}

// NextNonNull returns the first interval of an attribute that ends at or after t and has
// a value; ok is false if the view has none. The errors are those of At. It looks at
// each null interval on the way.
func (v *View) NextNonNull(a Attribute, t int64) (in Interval, ok bool, err error) {
	if _, err := v.At(a, t); err != nil {
		return Interval{}, false, err
	}
	for in, err := range v.Range(a, t, v.end, RangeOptions{}) {
		if err != nil || !in.Value.IsNull() {
			return in, err == nil, err
		}
	}
	return Interval{}, false, nil
}

// RangeOptions say which intervals of a range are wanted.
type RangeOptions struct {
	// Reverse yields the last one first.
	Reverse bool
	// Resolution, if above 0, leaves out intervals between the instants of a range that
	// are a multiple of it behind its start: those that hold at one of these, or at the
	// end of the range, are left.
	Resolution int64
}

// Range yields the intervals of an attribute that hold at some instant from from to to,
// both included, in the order of time. They are whole, not cut to the range. 5 to 50 ns
// each.
//
// The only element is an error, and no interval, if a bound is outside of the view:
// ErrTime; if to is before from or a resolution negative: ErrQuery; or ErrAttribute.
func (v *View) Range(a Attribute, from, to int64, opts RangeOptions) iter.Seq2[Interval, error] {
	return func(yield func(Interval, error) bool) {
		if err := v.checkRange(a, from, to, opts); err != nil {
			yield(Interval{}, err)
			return
		}
		if opts.Reverse {
			v.backward(a, from, to, opts.Resolution, yield)
			return
		}
		v.forward(a, from, to, opts.Resolution, yield)
	}
}

func (v *View) checkRange(a Attribute, from, to int64, opts RangeOptions) error {
	if err := v.checkAttribute(a); err != nil {
		return err
	}
	if to < from || opts.Resolution < 0 {
		return fmt.Errorf("%w: range [%d, %d] at a resolution of %d", ErrQuery, from, to, opts.Resolution)
	}
	if err := v.checkTime(from); err != nil {
		return err
	}
	return v.checkTime(to)
}

func (v *View) forward(a Attribute, from, to, resolution int64, yield func(Interval, error) bool) {
	w := v.walk(a)
	for t := from; ; {
		w.seek(t)
		in := w.interval()
		if !yield(in, nil) || in.End >= to {
			return
		}
		t = onGrid(in.End+1, from, to, resolution)
	}
}

// onGrid returns the first instant from t on that is from + k*resolution, or to if that
// is before it.
func onGrid(t, from, to, resolution int64) int64 {
	if resolution <= 1 {
		return t
	}
	past := uint64(t-from) % uint64(resolution)
	if past == 0 {
		return t
	}
	step := uint64(resolution) - past
	if step >= uint64(to-t) {
		return to
	}
	return t + int64(step)
}

func (v *View) backward(a Attribute, from, to, resolution int64, yield func(Interval, error) bool) {
	for t := to; ; {
		var in Interval
		v.at(&in, a, t)
		if !yield(in, nil) || in.Start <= from {
			return
		}
		t = in.Start - 1
		if resolution > 1 {
			t -= int64(uint64(t-from) % uint64(resolution))
		}
	}
}
