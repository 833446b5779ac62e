package partial

import (
	"context"
	"errors"
	"fmt"
)

// MaxPosition is the longest position of events, in bytes.
const MaxPosition = 1024

var (
	// ErrDiffers is returned if the events of a replay are not the events of the build, as far as
	// that shows: the kept intervals do not agree with them.
	ErrDiffers = errors.New("events differ from those of the build")
	// ErrPosition is returned by Build for a position longer than MaxPosition.
	ErrPosition = errors.New("position of events is too long")
)

// Events is where the events of a history are read, as often as they are needed. Any number
// of goroutines may open readers at once.
type Events[E any] interface {
	// Open returns a reader that stands at a position that Reader.Position returned, or
	// at the first event for nil. It must not change the position.
	Open(ctx context.Context, position []byte) (Reader[E], error)
}

// Reader reads events in the order of their times. It belongs to one goroutine.
type Reader[E any] interface {
	// Next returns the next event and its time, and io.EOF behind the last one. A time
	// must not be before that of the event before it. Of a trace that grows a later call may
	// return an event that came since.
	Next() (at int64, event E, err error)
	// Position returns where the event is that Next returns next, as at most MaxPosition
	// bytes, which are copied. State that the reader needs there is part of them.
	Position() ([]byte, error)
	Close() error
}

// Provider makes the states of an event, at the event's time. The writer is valid during the
// call. The states that it makes may depend on nothing but the event and the states that the
// writer has: a provider keeps no state of its own, or its events bring it along, in their
// position. It is called by several goroutines at once.
type Provider[E any] func(w *Writer, event E) error

// EventsError is an error of the reading of events, or of the provider during a replay.
type EventsError struct {
	// Position is where the reader was opened; nil is the first event.
	Position []byte
	Err      error
}

// Error returns the error with the begin of the position.
func (e *EventsError) Error() string {
	const most = 32
	if len(e.Position) > most {
		return fmt.Sprintf("events from position %x... (%d bytes): %v", e.Position[:most], len(e.Position), e.Err)
	}
	return fmt.Sprintf("events from position %x: %v", e.Position, e.Err)
}

// Unwrap returns the error below.
func (e *EventsError) Unwrap() error { return e.Err }
