package partial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/granarydb/granary/history"
)

// Options configure a Build.
type Options struct {
	// Start is the first instant. It is above math.MinInt64.
	Start int64
	// End is the last instant; the time of the last event if that is later.
	End int64
	// Every is the number of events between two checkpoints, at least 1.
	Every int
	// History takes what is kept, such as that of a file (package paged). It must be a new one, from Start on,
	// that nobody else writes. After an error of Build it is of no use. nil: a history in memory.
	History *history.History
}

// history returns the history of what is kept.
func (o *Options) history() (*history.History, error) {
	h := o.History
	if h == nil {
		return history.New(history.Options{Start: o.Start})
	}
	if start := h.Empty().Start(); start != o.Start {
		return nil, fmt.Errorf("%w: what is kept begins at %d, not %d", history.ErrQuery, start, o.Start)
	}
	return h, nil
}

// builder makes the kept history.
type builder struct {
	history *history.History
	draft   *history.Draft
	opts    Options
	all     []ongoing
	changed []history.Attribute // since the last checkpoint
	marks   marks
	kept    int
}

// Build reads all events and returns the history. It takes memory for what is kept, and for
// the state of each attribute. The errors are ErrPosition, history.ErrQuery for invalid
// options, history.ErrOrder for events out of order, that of ctx, those of the events as
// EventsError, that of the provider, and those of Begin of opts.History.
func Build[E any](ctx context.Context, events Events[E], provider Provider[E], opts Options) (*History[E], error) {
	if opts.Every < 1 || opts.Start == math.MinInt64 {
		return nil, fmt.Errorf("%w: a checkpoint every %d events, from %d", history.ErrQuery, opts.Every, opts.Start)
	}
	h, err := opts.history()
	if err != nil {
		return nil, err
	}
	b := &builder{history: h, opts: opts, marks: marks{positions: [][]byte{nil}}}
	if b.draft, err = h.Begin(); err != nil {
		return nil, err
	}
	if n := b.draft.Len(); n > 0 {
		b.draft.Abort()
		return nil, fmt.Errorf("%w: what is kept has %d attributes already", history.ErrQuery, n)
	}
	if err := feed(ctx, b, events, provider); err != nil {
		b.draft.Abort()
		return nil, err
	}
	view, err := b.draft.Commit()
	if err != nil {
		return nil, err
	}
	return &History[E]{view, b.history.Size(), b.kept, b.marks, events, provider}, nil
}

// feed reads the events, and closes the history behind them.
func feed[E any](ctx context.Context, b *builder, events Events[E], provider Provider[E]) (err error) {
	r, err := events.Open(ctx, nil)
	if err != nil {
		return &EventsError{nil, err}
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	w := &Writer{b, b.opts.Start}
	since := 0
	for n := 0; ; n++ {
		if n%checkContext == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var position []byte
		if since >= b.opts.Every {
			if position, err = r.Position(); err != nil {
				return &EventsError{nil, err}
			}
			if len(position) > MaxPosition {
				return fmt.Errorf("%w: %d bytes", ErrPosition, len(position))
			}
			position = append([]byte{}, position...) // not nil
		}
		at, event, err := r.Next()
		if errors.Is(err, io.EOF) {
			return b.close(max(w.at, b.opts.End))
		}
		if err != nil {
			return &EventsError{nil, err}
		}
		if at < w.at {
			return fmt.Errorf("%w: event %d at %d, the history is at %d", history.ErrOrder, n, at, w.at)
		}
		if position != nil && at > w.at {
			if err := b.checkpoint(w.at, position); err != nil {
				return err
			}
			since = 0
		}
		since++
		w.at = at
		if err := provider(w, event); err != nil {
			return fmt.Errorf("event %d at %d: %w", n, at, err)
		}
	}
}

func (b *builder) child(base history.Attribute, path []string) (history.Attribute, error) {
	return b.draft.Child(base, path...)
}

func (b *builder) descendants(a history.Attribute) []history.Attribute {
	return slices.Collect(b.draft.Descendants(a))
}

func (b *builder) ongoing(a history.Attribute) (*ongoing, error) {
	if int64(a) >= int64(b.draft.Len()) {
		return nil, fmt.Errorf("%w: %d of %d", history.ErrAttribute, a, b.draft.Len())
	}
	for len(b.all) < b.draft.Len() {
		b.all = append(b.all, ongoing{start: b.opts.Start, next: b.opts.Start})
	}
	return &b.all[a], nil
}

func (b *builder) ended(a history.Attribute, o *ongoing, end int64) error {
	if !o.dirty {
		o.dirty = true
		b.changed = append(b.changed, a)
	}
	if n := len(b.marks.times); n > 0 && o.start <= b.marks.times[n-1] {
		return b.keep(a, o, end)
	}
	return nil
}

func (b *builder) keep(a history.Attribute, o *ongoing, end int64) error {
	b.kept++
	o.next = end + 1
	return b.draft.Add(a, o.start, end, o.value)
}

// mark records a checkpoint. It adds the gaps behind the last one. Their ends are final as
// soon as a later interval is committed, so they cannot wait until the gap's successor ends.
func (b *builder) mark(at int64) error {
	for _, a := range b.changed {
		o := &b.all[a]
		o.dirty = false
		if o.next < o.start {
			if err := b.draft.Add(a, o.next, o.start-1, history.Value{}); err != nil {
				return err
			}
			o.next = o.start
		}
	}
	b.changed = b.changed[:0]
	b.marks.times = append(b.marks.times, at)
	return nil
}

// checkpoint makes a checkpoint at an instant whose events are all known. A position is that
// of the first event behind it.
func (b *builder) checkpoint(at int64, position []byte) (err error) {
	if err := b.mark(at); err != nil {
		return err
	}
	b.marks.positions = append(b.marks.positions, bytes.Clone(position))
	if _, err := b.draft.Commit(); err != nil {
		return err
	}
	b.draft, err = b.history.Begin()
	return err
}

// close makes the last checkpoint, and ends all intervals there.
func (b *builder) close(at int64) error {
	if err := b.mark(at); err != nil {
		return err
	}
	for i := range b.all {
		o := &b.all[i]
		if o.start == b.opts.Start && o.value.IsNull() {
			continue // never changed
		}
		if err := b.keep(history.Attribute(i), o, at); err != nil {
			return err
		}
	}
	return b.draft.Close(at)
}
