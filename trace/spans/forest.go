package spans

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/granarydb/granary/internal/tracks"
	"github.com/granarydb/granary/trace"
)

// ErrFormat means that the bytes are no spans, or none that have a time.
var ErrFormat = errors.New("bad file of OTLP spans")

// forest collects spans, and turns them into tracks at the end, because a parent often comes after its children.
type forest struct {
	*tracks.Timeline
	services map[tracks.Text]*service
	spans    []span
	byID     map[spanID]int32
}

// spanID names a span, by bytes or by digits as the file has them.
type spanID struct{ trace, span string }

type service struct {
	track    tracks.Track
	instants tracks.Nest
}

// span is a span that waits for its parent.
type span struct {
	start, end int64
	name       tracks.Text
	of         *service
	parent     spanID
	nest       tracks.Nest
	isDone     bool
}

func newForest() *forest {
	f := &forest{Timeline: tracks.New(), services: map[tracks.Text]*service{}, byID: map[spanID]int32{}}
	f.Nest(tracks.Outermost) // noNest
	return f
}

// Import reads spans, writes them into a target, and closes its history. The errors are ErrFormat, those of in and of the target,
// and ctx's. After an error the target has the committed states, and may be in a transaction.
func Import(ctx context.Context, in io.Reader, to trace.Target) (trace.Outcome, error) {
	f := newForest()
	switch err := f.read(ctx, in); {
	case err == nil:
	case !errors.Is(err, ErrFormat) || len(f.spans) == 0:
		return trace.Outcome{}, err
	default:
		f.Outcome.Lost = err
	}
	f.nest()
	outcome, err := f.WriteTo(ctx, to)
	if errors.Is(err, tracks.ErrNoStates) {
		err = fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return outcome, err
}

// service returns the service with a name.
func (f *forest) service(name []byte) *service {
	text := f.Text(name)
	if text == 0 {
		text = f.Text([]byte("unknown"))
	}
	s := f.services[text]
	if s == nil {
		track := f.Child(f.Child(tracks.Outermost, "Services"), f.String(text))
		s = &service{track: track, instants: f.Nest(f.Instants(track))}
		f.services[text] = s
	}
	return s
}

// add takes a span. Of spans with one id the first is the parent of others.
func (f *forest) add(of *service, id, parent spanID, name tracks.Text, start, end int64) {
	if id.span != "" {
		if _, known := f.byID[id]; !known {
			f.byID[id] = int32(len(f.spans))
		}
	}
	f.spans = append(f.spans, span{start: start, end: end, name: name, of: of, parent: parent, nest: f.Nest(of.track)})
}

// noNest is the first nest, which has no slices.
const noNest = tracks.Nest(0)

// nest adds the slices of all spans, parents first.
func (f *forest) nest() {
	var path []int32
	for i := range f.spans {
		path = f.ancestors(path[:0], int32(i))
		for _, j := range slices.Backward(path) {
			s := &f.spans[j]
			inside := noNest
			if parent, ok := f.byID[s.parent]; ok && f.spans[parent].of == s.of {
				inside = f.spans[parent].nest
			}
			f.Inside(s.nest, inside)
			f.Slice(s.nest, s.name, s.start, s.end)
		}
	}
}

// ancestors appends a span and those of its parents that have no slice yet, and marks them, which also ends a circle.
func (f *forest) ancestors(path []int32, i int32) []int32 {
	for !f.spans[i].isDone {
		f.spans[i].isDone = true
		path = append(path, i)
		parent, ok := f.byID[f.spans[i].parent]
		if !ok {
			break
		}
		i = parent
	}
	return path
}
