package partial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/granarydb/granary/history"
)

// checkContext is the number of events between two checks of a context.
const checkContext = 1024

// gap is a part of an attribute that a replay fills, from its start to an instant.
type gap struct {
	end     int64
	through int64 // last needed instant
	next    int64 // first instant that is not filled
	wanted  func(history.Interval) bool
	found   []history.Interval
}

func newGap(in history.Interval, through int64, wanted func(history.Interval) bool) *gap {
	return &gap{end: in.End, through: through, next: in.Start, wanted: wanted}
}

// replay has the events' states from a checkpoint on. The checkpoint's states are looked up at their first
// use.
type replay struct {
	kept    *kept
	from    int64 // the checkpoint
	first   bool  // there is no checkpoint; from is before the start
	states  map[history.Attribute]*ongoing
	gaps    map[history.Attribute]*gap
	missing int // unfilled gaps
}

// run reads events until the gaps are filled, or until none of them can fill a gap.
func run[E any](ctx context.Context, p *replay, events Events[E], provider Provider[E], position []byte) (err error) {
	last := p.from
	for _, g := range p.gaps {
		last = max(last, g.end+1) // the event that ends the gap
	}
	r, err := events.Open(ctx, slices.Clone(position))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	w := &Writer{p, p.from}
	for n := 0; p.missing > 0; n++ {
		if n%checkContext == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		at, event, err := r.Next()
		if errors.Is(err, io.EOF) || err == nil && at > last {
			return nil
		}
		if err != nil {
			return err
		}
		if at < w.at || at == p.from {
			return fmt.Errorf("%w: one at %d behind %d", ErrDiffers, at, w.at)
		}
		w.at = at
		if err := provider(w, event); err != nil {
			return err
		}
	}
	return nil
}

func (p *replay) child(base history.Attribute, path []string) (history.Attribute, error) {
	a, err := p.kept.view.LookupFrom(base, path...)
	if err != nil {
		return a, fmt.Errorf("%w: %w", ErrDiffers, err)
	}
	return a, nil
}

func (p *replay) descendants(a history.Attribute) []history.Attribute {
	return slices.Collect(p.kept.view.Descendants(a))
}

func (p *replay) ongoing(a history.Attribute) (*ongoing, error) {
	if o := p.states[a]; o != nil {
		return o, nil
	}
	o := &ongoing{start: p.kept.view.Start()}
	if p.first {
		if err := p.kept.view.Known(a); err != nil {
			return nil, err
		}
	} else {
		in, err := p.kept.at(a, p.from)
		if err != nil {
			return nil, err
		}
		o.start, o.end, o.value, o.kind = in.Start, in.End, in.Value, in.Value.Kind()
	}
	p.states[a] = o
	return o, nil
}

func (p *replay) ended(a history.Attribute, o *ongoing, end int64) error {
	if !p.first && o.start <= p.from && end != o.end {
		return fmt.Errorf("%w: attribute %d is %v until %d, and was until %d", ErrDiffers, a, o.value, end, o.end)
	}
	g := p.gaps[a]
	if g == nil || end < g.next || o.start > g.end {
		return nil
	}
	if o.start != g.next || end > g.end {
		return fmt.Errorf("%w: attribute %d is %v from %d to %d, where it is not known from %d to %d", ErrDiffers, a, o.value, o.start, end, g.next, g.end)
	}
	in := history.Interval{Start: o.start, End: end, Value: o.value}
	if g.wanted(in) && g.next <= g.through {
		g.found = append(g.found, in)
	}
	if g.next <= g.through && end >= g.through {
		p.missing--
	}
	g.next = end + 1
	return nil
}
