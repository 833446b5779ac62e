package partial

import (
	"context"
	"errors"
	"fmt"
)

// MaxPosition is the greatest length of a position, in bytes.
const MaxPosition = 1024

var (
	// ErrDiffers is returned if a replay's events differ from the build's, as far as the kept intervals
	// show it.
	ErrDiffers = errors.New("events differ from those of the build")
	// ErrPosition is returned by Build for a position longer than MaxPosition.
	ErrPosition = errors.New("position of events is too long")
)

// Events opens readers of a history's events, as often as they are needed. Any number of goroutines may
// open readers at once.
type Events[E any] interface {
	// Open returns a reader at a position from Reader.Position, or at the first event for nil. It must
	// not change the position.
	Open(ctx context.Context, position []byte) (Reader[E], error)
}

// Reader reads events in the order of their times. It belongs to one goroutine.
type Reader[E any] interface {
	// Next returns the next event and its time, and io.EOF behind the last event. Times must not
	// decrease.
	Next() (at int64, event E, err error)
	// Position returns the position of the event that Next returns next, in at most MaxPosition bytes,
	// which are copied. It includes all state that the reader needs there.
	Position() ([]byte, error)
	Close() error
}

// Provider makes an event's states, at the event's time. The writer is valid during the call. The states
// may depend only on the event and the writer's states: a provider keeps no state of its own, unless its
// events carry it in their position. It is called by several goroutines at once.
type Provider[E any] func(w *Writer, event E) error

// EventsError is an error from reading events, or from the provider during a replay.
type EventsError struct {
	// Position is where the reader was opened; nil means the first event.
	Position []byte
	Err      error
}

// Error returns the error with the start of the position, if there is one.
func (e *EventsError) Error() string {
	const most = 32
	if e.Position == nil {
		return e.Err.Error()
	}
	if len(e.Position) > most {
		return fmt.Sprintf("events from position %x... (%d bytes): %v", e.Position[:most], len(e.Position), e.Err)
	}
	return fmt.Sprintf("events from position %x: %v", e.Position, e.Err)
}

// Unwrap returns the wrapped error.
func (e *EventsError) Unwrap() error { return e.Err }
