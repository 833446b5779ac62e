package partial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/granarydb/granary/history"
)

// Growing is a history whose events are still coming. It reads the available events, and answers up to the
// last checkpoint (History). It belongs to one goroutine.
type Growing[E any] struct {
	builder

	events   Events[E]
	provider Provider[E]
	reader   Reader[E] // nil once closed
	writer   Writer
	read     int   // number of events
	since    int   // events since the last checkpoint
	err      error // permanent: nothing can be read any more
}

// Grow begins a history, and opens a reader at the first event. Finish or Close must follow. The errors are
// history.ErrQuery for invalid options, EventsError from the reader, which has ctx, and any from Begin of
// opts.History.
func Grow[E any](ctx context.Context, events Events[E], provider Provider[E], opts Options) (*Growing[E], error) {
	if opts.Every < 1 || opts.Start == math.MinInt64 {
		return nil, fmt.Errorf("%w: a checkpoint every %d events, from %d", history.ErrQuery, opts.Every, opts.Start)
	}
	h, err := opts.history()
	if err != nil {
		return nil, err
	}
	g := &Growing[E]{events: events, provider: provider}
	g.builder = builder{history: h, opts: opts, view: h.Empty(), marks: marks{positions: [][]byte{nil}}}
	g.writer = Writer{&g.builder, opts.Start}
	if err := g.builder.begin(); err != nil {
		return nil, err
	}
	n := g.draft.Len()
	g.abort()
	if n > 0 {
		return nil, fmt.Errorf("%w: what is kept has %d attributes already", history.ErrQuery, n)
	}
	if g.reader, err = events.Open(ctx, nil); err != nil {
		return nil, &EventsError{nil, err}
	}
	return g, nil
}

// Read reads events until the reader returns io.EOF, and returns their number. It can be called again once
// there are more. Each event is read once: after an error of ctx, or an EventsError, the next call
// continues there.
//
// Other errors are permanent: ErrPosition, history.ErrOrder for events out of order, or not behind a
// checkpoint, any from the provider, and any from opts.History. After such an error the history ends at the
// last checkpoint.
func (g *Growing[E]) Read(ctx context.Context) (events int, err error) {
	if err := g.begin(); err != nil {
		return 0, err
	}
	for ; ; events++ {
		if events%checkContext == 0 && ctx.Err() != nil {
			return events, ctx.Err()
		}
		switch err := g.next(); {
		case errors.Is(err, io.EOF):
			return events, nil
		case err != nil:
			return events, err
		}
	}
}

// begin begins a transaction, unless there is a permanent error.
func (g *Growing[E]) begin() error {
	switch {
	case g.err != nil:
		return g.err
	case g.reader == nil:
		return history.ErrDone
	}
	return g.builder.begin()
}

// fail records a permanent error, and drops all writes since the last commit.
func (g *Growing[E]) fail(err error) error {
	if err != nil {
		g.err = err
		g.abort()
	}
	return err
}

// next reads an event and makes its states, behind a checkpoint if one is due. It returns io.EOF only if
// there is no event.
func (g *Growing[E]) next() error {
	w, position := &g.writer, []byte(nil)
	if g.since >= g.opts.Every {
		var err error
		if position, err = g.position(); err != nil {
			return err
		}
	}
	at, event, err := g.reader.Next()
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if err != nil {
		return &EventsError{nil, err}
	}
	if at < w.at || g.marks.has(at) {
		return g.fail(fmt.Errorf("%w: event %d at %d, the history is at %d", history.ErrOrder, g.read, at, w.at))
	}
	if position != nil && at > w.at {
		if err := g.checkpoint(w.at, position); err != nil {
			return g.fail(err)
		}
		g.since = 0
	}
	w.at = at
	if err := g.provider(w, event); err != nil {
		return g.fail(fmt.Errorf("event %d at %d: %w", g.read, at, err))
	}
	g.read++
	g.since++
	return nil
}

// position returns the next event's position.
func (g *Growing[E]) position() ([]byte, error) {
	position, err := g.reader.Position()
	if err != nil {
		return nil, &EventsError{nil, err}
	}
	if len(position) > MaxPosition {
		return nil, g.fail(fmt.Errorf("%w: %d bytes", ErrPosition, len(position)))
	}
	return append([]byte{}, position...), nil // not nil
}

// Checkpoint makes a checkpoint at an instant up to which all events have been read. So the history is
// known up to there, however few events there are. At the last checkpoint it does nothing. The errors are
// history.ErrOrder for an instant before the last event or checkpoint, and those of Read.
func (g *Growing[E]) Checkpoint(at int64) error {
	if err := g.begin(); err != nil {
		return err
	}
	if at < g.writer.at {
		return fmt.Errorf("%w: a checkpoint at %d, the history is at %d", history.ErrOrder, at, g.writer.at)
	}
	if g.marks.has(at) {
		return nil
	}
	position, err := g.position()
	if err != nil {
		return err
	}
	g.writer.at, g.since = at, 0
	return g.fail(g.checkpoint(at, position))
}

// History returns the history up to the last checkpoint. It does not change as events come, and any number
// of goroutines may query it. Intervals that hold at the checkpoint end with it and are Open, and a query
// behind it has a NotYetError. Attributes that were made behind it are null. After Finish it is all of the
// history. It costs a copy of each attribute's state, some 56 bytes, and ends the transaction on
// opts.History, so that others can use that until the next call.
//
// The errors come from opts.History.
func (g *Growing[E]) History() (*History[E], error) {
	if err := g.commit(); err != nil {
		return nil, g.fail(err)
	}
	k, intervals := kept{view: g.view, end: g.marks.end(g.opts.Start)}, g.kept
	if !g.view.Closed() {
		k.ongoing = g.states(k.end)
		intervals += k.changed()
	}
	return &History[E]{k, g.history.Size(), intervals, g.marks, g.events, g.provider}, nil
}

// Finish makes the last checkpoint, at Options.End or the last event if that is later, where all intervals
// end. It closes the reader, and returns the whole history. It returns the errors of Close and Read.
func (g *Growing[E]) Finish() (*History[E], error) {
	if err := g.begin(); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	if err := g.fail(g.close(max(g.writer.at, g.opts.End))); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	if err := g.Close(); err != nil {
		return nil, err
	}
	return g.History()
}

// Close closes the reader. No event is read from then on, and History is unchanged. It does nothing after
// Finish. The error comes from the reader.
func (g *Growing[E]) Close() error {
	g.abort()
	if g.reader == nil {
		return nil
	}
	r := g.reader
	g.reader = nil
	return r.Close()
}
