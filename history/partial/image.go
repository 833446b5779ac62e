package partial

import (
	"errors"
	"fmt"
	"math"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/fields"
)

// ErrImage is returned by Open for bytes that are no image of checkpoints, or one of another history, and by
// questions about what is kept in a file whose bytes are wrong although their checksums are right.
var ErrImage = errors.New("invalid image of checkpoints")

// AppendImage appends the checkpoints to dst, for Open, with a history that has what is kept: Kept, or one of
// its image. Some 3 bytes a checkpoint and its position. docs/format/history.md draws the bytes.
func (h *History[E]) AppendImage(dst []byte) []byte {
	w := fields.Writer{Data: dst}
	w.Uint(uint64(h.intervals))
	w.Uint(uint64(len(h.marks.times)))
	last := h.kept.Start()
	for _, t := range h.marks.times {
		w.Uint(uint64(t - last))
		last = t
	}
	for _, p := range h.marks.positions[1:] {
		w.Uint(uint64(len(p)))
		w.Raw(p)
	}
	return w.Data
}

// Open returns a history of what an earlier one kept, of which AppendImage made an image, and of the same events
// and provider. It keeps none of the bytes of the image.
//
// The error is ErrImage. Open checks that the checkpoints are instants of the kept history, in order, up to its
// end, so no bytes make a question panic, and takes memory of at most 64 times the image. Whether they are those of the
// kept history takes a checksum of both; whether the events are those of the build shows in replays, as
// ErrDiffers.
func Open[E any](kept *history.View, image []byte, events Events[E], provider Provider[E]) (*History[E], error) {
	if !kept.Instants() || !kept.Closed() || kept.Start() == math.MinInt64 {
		return nil, fmt.Errorf("%w: the kept history has no end", ErrImage)
	}
	h := &History[E]{kept: kept, events: events, provider: provider}
	r := fields.NewReader(image, ErrImage)
	r.In("checkpoints")
	h.intervals = int(r.Uint("intervals", math.MaxInt64))
	n := r.Count("checkpoints", 1)
	if n == 0 {
		r.Failf("there is none")
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	h.marks = marks{make([]int64, n), make([][]byte, n)}
	last := kept.Start()
	for i := range h.marks.times {
		step := r.Uint("time", uint64(kept.End()-last))
		if step == 0 && i > 0 {
			r.Failf("checkpoint %d is at the time of the one before it", i)
		}
		last += int64(step)
		h.marks.times[i] = last
	}
	for i := range n - 1 {
		h.marks.positions[i+1] = append([]byte{}, r.Text("position", MaxPosition)...) // not nil
	}
	if last != kept.End() || r.Left() > 0 {
		r.Failf("the last is at %d, the history ends at %d; %d bytes are left", last, kept.End(), r.Left())
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return h, nil
}
