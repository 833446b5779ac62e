package events

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
)

// Growing is a list of events that become known one after another. `There` is the number of known events.
type Growing struct {
	List
	There atomic.Int64
}

// Open implements partial.Events. The reader returns io.EOF after the known events, and continues once there
// are more.
func (g *Growing) Open(ctx context.Context, position []byte) (partial.Reader[Event], error) {
	r, err := g.List.Open(ctx, position)
	if err != nil {
		return nil, err
	}
	return growingReader{r.(*reader), g}, nil
}

type growingReader struct {
	*reader
	of *Growing
}

// Next implements partial.Reader.
func (r growingReader) Next() (int64, Event, error) {
	if int64(r.next) >= r.of.There.Load() {
		return 0, Event{}, io.EOF
	}
	return r.reader.Next()
}

// AskGrowing asks a history that still grows. Up to the history's end the answers must equal the answers of
// the whole history of these events, with Open set where an interval reaches the end. After the end the
// answer must be a NotYetError.
func AskGrowing(t testing.TB, seed uint64, r *rand.Rand, p *partial.History[Event], l List, questions int) {
	t.Helper()
	n := 0
	for n < len(l) && l[n].At <= p.End() {
		n++
	}
	var late *partial.NotYetError
	if _, err := p.At(t.Context(), 0, p.End()+1); p.Closed() || p.Names().Len() > 0 && (!errors.As(err, &late) || late.Until != p.End()) {
		t.Fatalf("seed %d: behind the end at %d: %v", seed, p.End(), err)
	}
	if n == 0 {
		return
	}
	full := Whole(t, l[:n], Name, nil, p.Start(), p.End())
	for range questions {
		Ask(t, seed, r, goingOn{p, full}, full, func() int64 {
			if marks := p.Checkpoints(); r.IntN(2) == 0 {
				return min(max(marks[r.IntN(len(marks))]+r.Int64N(3)-1, p.Start()), p.End())
			}
			return p.Start() + r.Int64N(p.End()-p.Start()+1)
		})
	}
}

// goingOn presents a growing history as if it had ended with a whole one. It leaves out attributes that were
// made later.
type goingOn struct {
	*partial.History[Event]
	full *history.View
}

// ended checks Open of an interval, and returns the interval as one that has ended.
func (g goingOn) ended(in history.Interval, err error) (history.Interval, error) {
	if err == nil && in.Open != (in.End == g.full.End()) {
		err = fmt.Errorf("%v, and the history is up to %d", in, g.full.End())
	}
	in.Open = false
	return in, err
}

// At answers like a closed history.
func (g goingOn) At(ctx context.Context, a history.Attribute, t int64) (history.Interval, error) {
	return g.ended(g.History.At(ctx, a, t))
}

// Slice answers like a closed history, without later attributes.
func (g goingOn) Slice(ctx context.Context, t int64, old []history.Interval) (all []history.Interval, err error) {
	if all, err = g.History.Slice(ctx, t, old); err != nil {
		return nil, err
	}
	for a := range all {
		if all[a], err = g.ended(all[a], nil); err != nil {
			return nil, err
		}
		if a >= g.full.Len() && !Same(all[a], history.Interval{Start: g.Start(), End: g.full.End()}) {
			return nil, fmt.Errorf("later attribute %d is %v", a, all[a])
		}
	}
	return all[:g.full.Len()], nil
}

// Range answers like a closed history.
func (g goingOn) Range(ctx context.Context, a history.Attribute, from, to int64) iter.Seq2[history.Interval, error] {
	return func(yield func(history.Interval, error) bool) {
		for in, err := range g.History.Range(ctx, a, from, to) {
			if !yield(g.ended(in, err)) {
				return
			}
		}
	}
}

// RangeAll answers like a closed history.
func (g goingOn) RangeAll(ctx context.Context, attributes []history.Attribute, from, to int64, f func(history.Attribute, history.Interval) error) error {
	return g.History.RangeAll(ctx, attributes, from, to, func(a history.Attribute, in history.Interval) error {
		in, err := g.ended(in, nil)
		if err != nil {
			return err
		}
		return f(a, in)
	})
}

// Sample answers like a closed history.
func (g goingOn) Sample(ctx context.Context, attributes []history.Attribute, times []int64) (of []history.Attribute, all []history.Interval, err error) {
	of, all, err = g.History.Sample(ctx, attributes, times)
	for i := range all {
		if all[i], err = g.ended(all[i], err); err != nil {
			return nil, nil, err
		}
	}
	return of, all, err
}
