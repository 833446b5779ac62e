package partial

import (
	"errors"
	"fmt"
	"math"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/fields"
)

// ErrImage is returned by Open for bytes that are not an image of checkpoints, or belong to another
// history, and by queries of a kept history in a file whose bytes are wrong although their checksums are
// right.
var ErrImage = errors.New("invalid image of checkpoints")

// AppendImage appends the checkpoints to dst, for Open with a history of the kept intervals: Kept, or a
// history from its image. It takes some 3 bytes a checkpoint and its position. docs/format/history.md draws
// the bytes.
func (h *History[E]) AppendImage(dst []byte) []byte {
	w := fields.Writer{Data: dst}
	w.Uint(uint64(h.intervals))
	w.Uint(uint64(len(h.marks.times)))
	last := h.kept.view.Start()
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

// Open returns the history from its kept intervals, the image that AppendImage made, and the same events
// and provider. It keeps none of the image's bytes.
//
// The error is ErrImage. Open checks that the checkpoints are instants of the kept history, in order, up to
// its end. So no bytes make a query panic, and memory is at most 64 times both images. Only a checksum of
// both shows whether the checkpoints belong to the kept history. Whether the events are the build's shows
// in replays, as ErrDiffers.
func Open[E any](view *history.View, image []byte, events Events[E], provider Provider[E]) (*History[E], error) {
	if view.Start() == math.MinInt64 || !view.Closed() || !view.Instants() {
		return nil, fmt.Errorf("%w: the kept history has no start or end", ErrImage)
	}
	h := &History[E]{kept: kept{view}, events: events, provider: provider}
	r := fields.NewReader(image, ErrImage)
	r.In("checkpoints")
	h.intervals = int(r.Uint("intervals", math.MaxInt64))
	h.marks.read(&r, view)
	if r.Left() > 0 {
		r.Failf("%d bytes are left", r.Left())
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return h, nil
}

// read reads the checkpoints of the kept history.
func (m *marks) read(r *fields.Reader, view *history.View) {
	n := r.Count("checkpoints", 1)
	if n == 0 {
		r.Failf("there is no checkpoint")
		return
	}
	m.times = make([]int64, n)
	last, end := view.Start(), view.End()
	for i := range m.times {
		step := r.Uint("time", uint64(end)-uint64(last))
		if step == 0 && i > 0 {
			r.Failf("checkpoint %d is at the time of the one before it", i)
		}
		last = int64(uint64(last) + step)
		m.times[i] = last
	}
	if last != end {
		r.Failf("the last is at %d, the history ends at %d", last, end)
	}
	m.positions = make([][]byte, n)
	for i := range m.positions[1:] {
		m.positions[i+1] = append([]byte{}, r.Text("position", MaxPosition)...) // not nil
	}
}
