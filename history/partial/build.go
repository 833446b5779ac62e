package partial

import (
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
	// Start is the first instant, above math.MinInt64.
	Start int64
	// End is the last instant, unless the last event is later.
	End int64
	// Every is the number of events between two checkpoints, at least 1.
	Every int
	// History takes the kept intervals, such as a history in a file (package file). It must be new,
	// start at Start, and have no other writer. After an error it is unusable. nil means a history in
	// memory.
	History *history.History
}

// history returns the history for the kept intervals.
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

// Build reads all events and returns the history. It takes memory for the kept intervals, and for each
// attribute's state.
//
// The errors are history.ErrQuery for invalid options, EventsError from the reader, ErrPosition,
// history.ErrOrder for events out of order, ctx's, and any from the provider and from opts.History.
func Build[E any](ctx context.Context, events Events[E], provider Provider[E], opts Options) (*History[E], error) {
	b, err := newBuilder(opts)
	if err != nil {
		return nil, err
	}
	defer b.abort()
	r, err := events.Open(ctx, nil)
	if err != nil {
		return nil, &EventsError{nil, err}
	}
	if err := errors.Join(read(ctx, b, r, provider), r.Close()); err != nil {
		return nil, err
	}
	return &History[E]{kept{b.view}, b.history.Size(), b.kept, b.marks, events, provider}, nil
}

// read makes the states of all events, a checkpoint after each Options.Every of them, and the last one.
func read[E any](ctx context.Context, b *builder, r Reader[E], provider Provider[E]) error {
	w, since := &Writer{b, b.opts.Start}, 0 // since counts the events since the last checkpoint
	for n := 0; ; n++ {
		if n%checkContext == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var position []byte
		if since >= b.opts.Every {
			var err error
			if position, err = positionOf(r); err != nil {
				return err
			}
		}
		at, event, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return b.close(max(w.at, b.opts.End))
		case err != nil:
			return &EventsError{nil, err}
		case at < w.at:
			return fmt.Errorf("%w: event %d at %d, the history is at %d", history.ErrOrder, n, at, w.at)
		}
		if position != nil && at > w.at {
			if err := b.checkpoint(w.at, position); err != nil {
				return err
			}
			since = 0
		}
		w.at = at
		if err := provider(w, event); err != nil {
			return fmt.Errorf("event %d at %d: %w", n, at, err)
		}
		since++
	}
}

// positionOf returns the next event's position.
func positionOf[E any](r Reader[E]) ([]byte, error) {
	position, err := r.Position()
	if err != nil {
		return nil, &EventsError{nil, err}
	}
	if len(position) > MaxPosition {
		return nil, fmt.Errorf("%w: %d bytes", ErrPosition, len(position))
	}
	return append([]byte{}, position...), nil // not nil
}

// builder makes the kept history. It commits only at checkpoints, because a commit makes the time before it
// final.
type builder struct {
	history *history.History
	draft   *history.Draft // nil: not begun
	opts    Options
	all     []ongoing
	changed []history.Attribute // since the last checkpoint
	marks   marks
	kept    int           // intervals in the history
	view    *history.View // view of the last commit
}

// newBuilder begins a history.
func newBuilder(opts Options) (*builder, error) {
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
		b.abort()
		return nil, fmt.Errorf("%w: what is kept has %d attributes already", history.ErrQuery, n)
	}
	return b, nil
}

// commit ends the transaction.
func (b *builder) commit() (err error) {
	b.view, err = b.draft.Commit()
	b.draft = nil
	return err
}

// abort drops all writes since the last commit.
func (b *builder) abort() {
	if b.draft != nil {
		b.draft.Abort()
		b.draft = nil
	}
}

func (b *builder) child(base history.Attribute, path []string) (history.Attribute, error) {
	return b.draft.Child(base, path...)
}

func (b *builder) descendants(a history.Attribute) []history.Attribute {
	return slices.Collect(b.draft.Descendants(a))
}

func (b *builder) ongoing(a history.Attribute) (*ongoing, error) {
	if err := b.draft.Known(a); err != nil {
		return nil, err
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
		o.next = end + 1
		b.kept++
		return b.draft.Add(a, o.start, end, o.value)
	}
	return nil
}

// settle adds the gaps behind the last checkpoint. Their ends are final as soon as a later interval is
// committed, so they cannot wait until the gap's successor ends.
func (b *builder) settle() error {
	for _, a := range b.changed {
		o := &b.all[a]
		if o.next < o.start {
			if err := b.draft.Add(a, o.next, o.start-1, history.Value{}); err != nil {
				return err
			}
			o.next = o.start
		}
		o.dirty = false
	}
	b.changed = b.changed[:0]
	return nil
}

// checkpoint makes a checkpoint at an instant whose events are all known. position is the first later
// event's.
func (b *builder) checkpoint(at int64, position []byte) error {
	if err := b.settle(); err != nil {
		return err
	}
	if err := b.commit(); err != nil {
		return err
	}
	b.marks.times = append(b.marks.times, at)
	b.marks.positions = append(b.marks.positions, position)
	var err error
	b.draft, err = b.history.Begin()
	return err
}

// close makes the last checkpoint, and ends all intervals there.
func (b *builder) close(at int64) error {
	if err := b.settle(); err != nil {
		return err
	}
	kept := b.kept
	for i := range b.all {
		in := b.all[i].until(at)
		if in.Value.IsNull() && in.Start == b.opts.Start {
			continue // it never changed
		}
		kept++
		if err := b.draft.Add(history.Attribute(i), in.Start, in.End, in.Value); err != nil {
			return err
		}
	}
	if err := b.draft.Close(at); err != nil {
		return err
	}
	if err := b.commit(); err != nil {
		return err
	}
	b.kept = kept
	b.marks.times = append(b.marks.times, at)
	return nil
}
