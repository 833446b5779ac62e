package partial

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/fields"
)

// ErrImage is returned by Open for bytes that are not an image of checkpoints, or belong to another
// history, and by queries of a kept history in a file whose bytes are wrong although their checksums are
// right.
var ErrImage = errors.New("invalid image of checkpoints")

// AppendImage appends the checkpoints to dst, for Open with a history of the kept intervals: Kept, or a
// history from its image. It takes some 3 bytes a checkpoint and its position. If the history goes on, it
// also appends the intervals that hold at its end, some 6 bytes each. docs/format/history.md draws the
// bytes.
func (h *History[E]) AppendImage(dst []byte) []byte {
	w := fields.Writer{Data: dst}
	w.Uint(uint64(h.intervals))
	if h.kept.goesOn() {
		w.Uint(0)
	}
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
	if h.kept.goesOn() {
		h.kept.appendOngoing(&w)
	}
	return w.Data
}

// appendOngoing appends the ongoing intervals of attributes that changed.
func (k *kept) appendOngoing(w *fields.Writer) {
	w.Uint(uint64(k.changed()))
	next := 0
	for a, in := range k.ongoing {
		if !k.isChanged(a) {
			continue
		}
		w.Uint(uint64(a - next))
		w.Uint(uint64(k.end - in.Start))
		next = a + 1
		switch v := in.Value; v.Kind() {
		case history.KindNull:
			w.Uint(uint64(history.KindNull))
		case history.KindBool:
			w.Uint(uint64(history.KindBool))
			w.Uint(uint64(v.Compare(history.Bool(false)))) // false 0, true 1
		case history.KindInt:
			w.Uint(uint64(history.KindInt))
			w.Int(uint64(v.Int()))
		case history.KindFloat:
			w.Uint(uint64(history.KindFloat))
			w.Raw(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v.Float())))
		default: // string or bytes
			w.Uint(uint64(v.Kind()))
			w.Text(v.Text())
		}
	}
}

// Open returns the history from its kept intervals, the image that AppendImage made, and the same events
// and provider. It keeps none of the image's bytes.
//
// The error is ErrImage. Open checks that the checkpoints are instants of the kept history, in order, up to
// its end. So no bytes make a query panic, and memory is at most 64 times both images. Only a checksum of
// both shows whether the checkpoints belong to the kept history. Whether the events are the build's shows
// in replays, as ErrDiffers.
func Open[E any](view *history.View, image []byte, events Events[E], provider Provider[E]) (*History[E], error) {
	if view.Start() == math.MinInt64 || view.Closed() && !view.Instants() {
		return nil, fmt.Errorf("%w: the kept history has no start or end", ErrImage)
	}
	h := &History[E]{kept: kept{view: view}, events: events, provider: provider}
	r := fields.NewReader(image, ErrImage)
	r.In("checkpoints")
	h.intervals = int(r.Uint("intervals", math.MaxInt64))
	n := r.Count("checkpoints", 1)
	goesOn := n == 0
	if goesOn {
		n = r.Count("checkpoints of a history that goes on", 1)
	}
	if r.Err() == nil && goesOn == view.Closed() {
		r.Failf("the kept history is closed: %v", view.Closed())
	}
	h.marks.read(&r, &h.kept, n)
	if goesOn {
		h.kept.readOngoing(&r)
	}
	if r.Left() > 0 {
		r.Failf("%d bytes are left", r.Left())
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return h, nil
}

// read reads n checkpoints of the kept history, and its end.
func (m *marks) read(r *fields.Reader, k *kept, n int) {
	if r.Err() != nil {
		return
	}
	m.times = make([]int64, n)
	last, most := k.view.Start(), int64(math.MaxInt64)
	if !k.goesOn() {
		most = k.view.End()
	}
	for i := range m.times {
		step := r.Uint("time", uint64(most)-uint64(last))
		if step == 0 && i > 0 {
			r.Failf("checkpoint %d is at the time of the one before it", i)
		}
		last = int64(uint64(last) + step)
		m.times[i] = last
	}
	if k.end = m.end(k.view.Start()); k.end != most && !k.goesOn() || k.view.Instants() && k.view.End() > k.end {
		r.Failf("the last is at %d, the history ends at %d", k.end, k.view.End())
	}
	if k.goesOn() {
		n++ // behind the last
	}
	m.positions = make([][]byte, n)
	for i := range m.positions[1:] {
		m.positions[i+1] = append([]byte{}, r.Text("position", MaxPosition)...) // not nil
	}
}

// readOngoing reads the ongoing intervals.
func (k *kept) readOngoing(r *fields.Reader) {
	r.In("ongoing intervals")
	start, next := k.view.Start(), 0
	n := r.Count("intervals", 3)
	if r.Err() != nil {
		return
	}
	k.ongoing = make([]history.Interval, k.view.Len())
	for a := range k.ongoing {
		k.ongoing[a] = history.Interval{Start: start, End: k.end, Open: true}
	}
	for ; n > 0 && r.Err() == nil; n-- {
		a := r.Uint("attribute", math.MaxUint32) + uint64(next)
		if a >= uint64(len(k.ongoing)) || k.end < start {
			r.Failf("attribute %d of %d, up to %d", a, len(k.ongoing), k.end)
			return
		}
		in := &k.ongoing[a]
		in.Start = int64(uint64(k.end) - r.Uint("length", uint64(k.end)-uint64(start)))
		in.Value = readValue(r)
		if next = int(a) + 1; !k.isChanged(int(a)) {
			r.Failf("attribute %d never changed", a)
		}
	}
}

// readValue reads a value.
func readValue(r *fields.Reader) history.Value {
	switch kind := history.Kind(r.Uint("kind", uint64(history.KindBytes))); kind {
	case history.KindBool:
		return history.Bool(r.Uint("bool", 1) == 1)
	case history.KindInt:
		return history.Int(int64(r.Int("int")))
	case history.KindFloat:
		if b := r.Raw("float", 8); b != nil {
			return history.Float(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
	case history.KindString:
		text := string(r.Text("string", mostText))
		if !utf8.ValidString(text) {
			r.Failf("a string that is no UTF-8")
		}
		return history.String(text)
	case history.KindBytes:
		return history.Bytes(r.Text("bytes", mostText))
	}
	return history.Value{}
}
