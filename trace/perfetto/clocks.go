package perfetto

import (
	"math"
	"slices"

	"github.com/granarydb/granary/internal/protobuf"
)

// The clocks of Linux, by their numbers in traces. Those from firstSequenceClock on belong to a sequence, and those behind
// lastSequenceClock to all again.
const (
	realtime           = 1
	monotonic          = 3
	monotonicRaw       = 5
	boottime           = 6
	firstSequenceClock = 64
	lastSequenceClock  = 127
)

// clockKey names a clock. The sequence is 0 for a clock of all.
type clockKey struct{ sequence, id uint64 }

func clockOf(sequence, id uint64) clockKey {
	if id < firstSequenceClock || id > lastSequenceClock {
		sequence = 0
	}
	return clockKey{sequence, id}
}

// reading is what a clock says in a snapshot, in nanoseconds.
type reading struct {
	snapshot int
	nanos    int64
}

// clock has the readings of a clock, in the order of snapshots.
type clock struct {
	readings []reading
	unit     int64 // nanoseconds; 0 is 1
	// isDelta says that times are differences to the last one of the sequence.
	isDelta bool
	last    int64
	path    []*hop // to the trace's clock; nil: unknown
	tried   int    // number of snapshots at the last search for one
}

// hop is the way from a clock to another that is in the same snapshots: their readings, in order.
type hop struct {
	from, to   *clock
	seen       int // readings of from
	src, dst   []int64
	lastSearch int
}

// clocks relates clocks by snapshots.
type clocks struct {
	all       map[clockKey]*clock
	snapshots [][]clockKey
	main      uint64 // the trace's clock
	steps     int    // of searches
}

// maxSteps bounds the readings that searches look at. A clock that snapshots relate needs one search of few steps.
const maxSteps = 200_000

// maxClocks bounds the clocks of a snapshot. Perfetto has seven, and some of a sequence.
const maxClocks = 64

func newClocks() *clocks { return &clocks{all: map[clockKey]*clock{}} }

func (cs *clocks) get(k clockKey) *clock {
	c := cs.all[k]
	if c == nil {
		c = &clock{}
		cs.all[k] = c
	}
	return c
}

// mainClock returns the number of the trace's clock.
func (cs *clocks) mainClock() uint64 {
	if cs.main == 0 {
		return boottime
	}
	return cs.main
}

// snapshot reads a snapshot of clocks.
func (cs *clocks) snapshot(sequence uint64, data []byte) (bad bool) {
	m := protobuf.Read(data)
	var in []clockKey
	for m.Next() {
		switch {
		case m.Number == 1 && m.Wire == protobuf.Bytes && len(in) < maxClocks:
			if k, ok := cs.reading(sequence, m.Data); ok && !slices.Contains(in, k) {
				in = append(in, k)
			}
		case m.Number == 2 && cs.main == 0:
			cs.main = m.Value
		}
	}
	cs.snapshots = append(cs.snapshots, in)
	return m.Bad
}

func (cs *clocks) reading(sequence uint64, data []byte) (k clockKey, ok bool) {
	var id, at, unit uint64
	isDelta := false
	m := protobuf.Read(data)
	for m.Next() {
		switch m.Number {
		case 1:
			id = m.Value
		case 2:
			at = m.Value
		case 3:
			isDelta = m.Value != 0
		case 4:
			unit = m.Value
		}
	}
	k = clockOf(sequence, id)
	c := cs.get(k)
	c.unit, c.isDelta = int64(min(max(unit, 1), math.MaxInt32)), isDelta
	nanos, ok := scale(int64(at), c.unit)
	if m.Bad || !ok {
		return k, false
	}
	c.last = nanos
	c.readings = append(c.readings, reading{len(cs.snapshots), nanos})
	return k, true
}

// scale returns a product of times, and false if it has more than 62 bits.
func scale(n, unit int64) (int64, bool) {
	const most = math.MaxInt64 / 2
	unit = max(unit, 1)
	if n > most/unit || n < -most/unit {
		return 0, false
	}
	return n * unit, true
}

// toMain returns a time of the trace's clock for a time of another. It is false if no snapshots relate them.
func (cs *clocks) toMain(sequence, id uint64, t int64) (int64, bool) {
	k := clockOf(sequence, id)
	c := cs.get(k)
	nanos, ok := scale(t, c.unit)
	if !ok {
		return 0, false
	}
	if c.isDelta {
		if nanos, ok = add(nanos, c.last); !ok {
			return 0, false
		}
		c.last = nanos
	}
	if k == (clockKey{0, cs.mainClock()}) || len(cs.snapshots) == 0 && k.sequence == 0 {
		return nanos, true
	}
	if c.path == nil && c.tried < len(cs.snapshots) && cs.steps < maxSteps {
		c.path, c.tried = cs.search(k, clockKey{0, cs.mainClock()}), len(cs.snapshots)
	}
	if c.path == nil {
		return 0, false
	}
	for _, h := range c.path {
		if nanos, ok = h.convert(nanos); !ok {
			return 0, false
		}
	}
	return nanos, true
}

func add(a, b int64) (int64, bool) {
	const most = math.MaxInt64 / 2
	sum := a + b
	return sum, a <= most && a >= -most && b <= most && b >= -most && sum <= most && sum >= -most
}

// search returns the shortest way between two different clocks, or nil.
func (cs *clocks) search(from, to clockKey) []*hop {
	came := map[clockKey]clockKey{from: from}
	queue := []clockKey{from}
	seen := make([]bool, len(cs.snapshots))
	for len(queue) > 0 {
		k := queue[0]
		queue = queue[1:]
		for _, r := range cs.all[k].readings {
			if cs.steps++; r.snapshot >= len(seen) || seen[r.snapshot] {
				continue
			}
			seen[r.snapshot] = true
			for _, next := range cs.snapshots[r.snapshot] {
				if _, known := came[next]; known {
					continue
				}
				came[next] = k
				if next == to {
					return cs.hops(came, from, to)
				}
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// hops returns the way that a search came.
func (cs *clocks) hops(came map[clockKey]clockKey, from, to clockKey) (path []*hop) {
	for k := to; k != from; k = came[k] {
		path = append(path, &hop{from: cs.all[came[k]], to: cs.all[k]})
	}
	slices.Reverse(path)
	return path
}

// update adds the readings of later snapshots. Those of a clock that went back are not used.
func (h *hop) update() {
	to := h.to.readings
	for ; h.seen < len(h.from.readings); h.seen++ {
		r := h.from.readings[h.seen]
		i, ok := slices.BinarySearchFunc(to, r.snapshot, func(r reading, snapshot int) int { return r.snapshot - snapshot })
		if !ok || len(h.src) > 0 && r.nanos < h.src[len(h.src)-1] {
			continue
		}
		h.src, h.dst = append(h.src, r.nanos), append(h.dst, to[i].nanos)
	}
}

func (h *hop) convert(t int64) (int64, bool) {
	h.update()
	if len(h.src) == 0 {
		return 0, false
	}
	at := h.lastSearch
	if h.src[at] > t || at+1 < len(h.src) && h.src[at+1] <= t {
		at, _ = slices.BinarySearchFunc(h.src, t, func(src, t int64) int {
			if src <= t {
				return -1
			}
			return 1
		})
		at = max(at-1, 0)
		h.lastSearch = at
	}
	since, ok := add(t, -h.src[at])
	if !ok {
		return 0, false
	}
	return add(since, h.dst[at])
}

// offset returns what makes dates of the trace's times, or 0.
func (cs *clocks) offset() int64 {
	main, wall := cs.all[clockKey{0, cs.mainClock()}], cs.all[clockKey{0, realtime}]
	if main == nil || wall == nil {
		return 0
	}
	h := hop{from: main, to: wall}
	h.update()
	if len(h.src) == 0 {
		return 0
	}
	return h.dst[0] - h.src[0]
}
