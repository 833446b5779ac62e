package perfetto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/granarydb/granary/internal/tracks"
	"github.com/granarydb/granary/trace"
)

// Import reads a whole trace, writes it into a target, and closes its history. The errors are ErrFormat, those of in and of
// the target, and ctx's. After an error the target has the committed states, and may be in a transaction.
func Import(ctx context.Context, in io.Reader, to trace.Target) (trace.Outcome, error) {
	im := newImporter()
	switch err := im.read(ctx, newPackets(in)); {
	case errors.Is(err, io.EOF):
	case !errors.Is(err, ErrFormat) || im.packets == 0:
		return trace.Outcome{}, err
	default:
		im.Outcome.Lost = err
	}
	im.schedule()
	im.put()
	im.Shift(im.clocks.offset())
	outcome, err := im.WriteTo(ctx, to)
	if errors.Is(err, tracks.ErrNoStates) {
		err = fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return outcome, err
}

// category returns the track of a category of asynchronous slices, in the process of a track.
func (im *importer) category(e *event, on *track) tracks.Track {
	p := im.asyncProcess(on)
	name := cmp.Or(im.String(e.category), "no category")
	return im.Child(im.Child(im.placeProcess(p), "Async"), name)
}

// asyncProcess returns the process of asynchronous slices.
func (im *importer) asyncProcess(on *track) *process {
	if p := im.processOfTrack(on); p != nil {
		return p
	}
	return im.processOf(0)
}

// async returns the nest of an asynchronous slice. One of all processes is shown where it begins.
func (im *importer) async(e *event, l *legacyEvent, on *track) tracks.Nest {
	key := asyncKey{category: e.category, scope: l.scope, id: l.id, isLocal: l.isLocal}
	nests := im.global
	if l.isLocal {
		nests = im.asyncProcess(on).async
	}
	nest, ok := nests[key]
	if !ok {
		nest = im.Nest(im.category(e, on))
		nests[key] = nest
	}
	return nest
}
