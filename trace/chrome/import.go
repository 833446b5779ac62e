package chrome

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/granarydb/granary/internal/tracks"
	"github.com/granarydb/granary/trace"
)

// Import reads a whole trace, writes it into a target, and closes its history. The errors are ErrFormat, those of in and of the
// target, and ctx's. After an error the target has the committed states, and may be in a transaction. Reading and
// writing take less than a microsecond an event together.
func Import(ctx context.Context, in io.Reader, to trace.Target) (trace.Outcome, error) {
	s, r := newScanner(in), newImporter()
	if err := r.read(ctx, s); err != nil {
		return trace.Outcome{}, err
	}
	switch {
	case s.err == nil:
	case s.done != nil && !errors.Is(s.done, io.EOF):
		return trace.Outcome{}, s.done
	case r.events == 0:
		return trace.Outcome{}, fmt.Errorf("%w: %w", ErrFormat, s.err)
	default:
		r.Outcome.Lost = fmt.Errorf("%w: %w", ErrFormat, s.err)
	}
	r.name()
	r.Shift(r.offset)
	outcome, err := r.WriteTo(ctx, to)
	if errors.Is(err, tracks.ErrNoStates) {
		err = fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return outcome, err
}

// topNames are names at the top of the object that no other JSON has. PyTorch has its list behind much else.
var topNames = map[string]bool{
	"traceEvents": true, "displayTimeUnit": true, "deviceProperties": true, "systemTraceEvents": true, "controllerTraceDataKey": true,
}

// Magic reports whether head is the start of a trace: an object with a name at its top that only such traces have, or a
// list of events.
func Magic(head []byte) bool {
	s := scanBytes(bytes.TrimPrefix(head, []byte(byteOrderMark)))
	found := false
	if s.next() == '{' {
		s.each(func(key []byte) {
			found = found || topNames[string(key)]
			s.skip()
		})
		return found
	}
	if s.next() != '[' {
		return false
	}
	s.at++
	if s.more(']') && s.next() == '{' {
		s.each(func(key []byte) {
			found = found || string(key) == "ph"
			s.skip()
		})
	}
	return found
}
