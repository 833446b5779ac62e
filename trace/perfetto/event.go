package perfetto

import (
	"math"

	"github.com/granarydb/granary/internal/protobuf"
	"github.com/granarydb/granary/internal/tracks"
)

// The types of track events.
const (
	beginEvent   = 1
	endEvent     = 2
	instantEvent = 3
	counterEvent = 4
	stateEvent   = 5
)

// event is a track event. Its lists are used again for the next one.
type event struct {
	kind      uint64
	name      tracks.Text
	category  tracks.Text
	track     uint64
	hasTrack  bool
	flows     int
	legacy    []byte
	micros    int64 // if it has its own time
	hasMicros bool

	isCounted, isFloat bool // it has a value for its track
	value              int64
	float              float64

	extraTracks, extraFloatTracks []uint64
	extraValues, extraFloats      []uint64
}

// readEvent reads a track event of a sequence.
func (im *importer) readEvent(s *sequence, data []byte) (e *event, bad bool) {
	e = &im.event
	*e = event{
		extraTracks: e.extraTracks[:0], extraFloatTracks: e.extraFloatTracks[:0], extraValues: e.extraValues[:0], extraFloats: e.extraFloats[:0],
	}
	m := protobuf.Read(data)
	for m.Next() {
		switch m.Number {
		case 9:
			e.kind = m.Value
		case 10:
			e.name = s.names[m.Value]
		case 23:
			e.name = im.Text(m.Data)
		case 3:
			if list := protobuf.Read(m.Data); m.Wire == protobuf.Bytes {
				m.Value, _ = list.Varint()
			}
			if e.category == 0 {
				e.category = s.categories[m.Value]
			}
		case 22:
			if e.category == 0 {
				e.category = im.Text(m.Data)
			}
		case 11:
			e.track, e.hasTrack = m.Value, true
		case 1: // since the last event
			s.micros += int64(min(m.Value, math.MaxInt32))
			e.micros, e.hasMicros = s.micros, true
		case 16:
			e.micros, e.hasMicros = int64(min(m.Value, math.MaxInt64/4000)), true
		case 6:
			e.legacy = m.Data
		case 36, 42, 47, 48:
			e.flows++
		default:
			e.readValue(&m)
		}
	}
	return e, m.Bad
}

// readValue reads a value of a counter.
func (e *event) readValue(m *protobuf.Message) {
	switch m.Number {
	case 30:
		e.value, e.isCounted = int64(m.Value), true
	case 44:
		e.float, e.isCounted, e.isFloat = m.Float(), true, true
	case 31:
		e.extraTracks = m.Numbers(e.extraTracks, protobuf.Varint)
	case 12:
		e.extraValues = m.Numbers(e.extraValues, protobuf.Varint)
	case 45:
		e.extraFloatTracks = m.Numbers(e.extraFloatTracks, protobuf.Varint)
	case 46:
		e.extraFloats = m.Numbers(e.extraFloats, protobuf.Eight)
	}
}

// trackEvent takes a track event.
func (im *importer) trackEvent(s *sequence, h *header, data []byte) (bad bool) {
	if h.flags&2 != 0 && !s.isValid {
		im.Outcome.LeaveOut("events whose names are lost", 1)
		return false
	}
	e, bad := im.readEvent(s, data)
	if bad {
		return true
	}
	im.Outcome.LeaveOut("flows", e.flows)
	t, ok := im.time(s, h, e)
	if !ok {
		im.Outcome.LeaveOut("events without a time, or of clocks that nothing relates", 1)
		return false
	}
	on := im.trackOf(s, e)
	im.count(s, e, on, t)
	switch {
	case e.kind == beginEvent:
		im.Begin(im.nestOf(on, e.name), e.name, t)
	case e.kind == endEvent:
		im.End(im.nestOf(on, 0), 0, t)
	case e.kind == instantEvent:
		im.Instant(im.instantsOf(on, e.name), e.name, t)
	case e.kind == stateEvent:
		im.State(im.statesOf(on, e.name), e.name, t)
	case e.kind == counterEvent:
		if !e.isCounted {
			im.Outcome.LeaveOut("counters without a value", 1)
		}
	case e.legacy != nil:
		return im.legacy(s, e, on, t)
	default:
		im.Outcome.LeaveOut("track events of unknown types", 1)
	}
	return false
}

// trackOf returns the track of an event: its own, the default, or that of the sequence's thread.
func (im *importer) trackOf(s *sequence, e *event) *track {
	switch {
	case e.hasTrack:
		return im.track(e.track)
	case s.hasTrack:
		return im.track(s.track)
	case s.hasThread:
		return im.threadTrack(s.pid, s.tid)
	}
	return im.track(0)
}

// threadTrack returns the track of a thread that has no descriptor.
func (im *importer) threadTrack(pid, tid uint64) *track {
	th := im.thread(pid, tid)
	if th.track == nil {
		th.track = &track{thread: th, multiplier: 1}
		im.order = append(im.order, th.track)
	}
	return th.track
}

// count takes the values of an event.
func (im *importer) count(s *sequence, e *event, on *track, t int64) {
	if e.isCounted {
		if e.isFloat {
			im.CountFloat(im.counterOf(on), t, e.float*float64(on.multiplier))
		} else {
			im.add(s, on, t, e.value)
		}
	}
	of := e.extraTracks
	if len(of) == 0 {
		of = s.extra
	}
	for i, v := range e.extraValues[:min(len(e.extraValues), len(of))] {
		im.add(s, im.track(of[i]), t, int64(v))
	}
	of = e.extraFloatTracks
	if len(of) == 0 {
		of = s.extraOfFloats
	}
	for i, v := range e.extraFloats[:min(len(e.extraFloats), len(of))] {
		m := protobuf.Message{Value: v}
		on := im.track(of[i])
		im.CountFloat(im.counterOf(on), t, m.Float()*float64(on.multiplier))
	}
}

// add takes a whole number of a counter, perhaps a difference to the one before.
func (im *importer) add(s *sequence, on *track, t, value int64) {
	if on.isDelta {
		value += s.sums[on.uuid]
		s.sums[on.uuid] = value
	}
	if product := value * on.multiplier; on.multiplier == 1 || value == 0 || product/value == on.multiplier {
		im.Count(im.counterOf(on), t, product)
		return
	}
	im.CountFloat(im.counterOf(on), t, float64(value)*float64(on.multiplier))
}

// legacyEvent is an event in the terms of Chrome's JSON.
type legacyEvent struct {
	phase          byte
	name           tracks.Text
	micros         int64
	id             uint64
	isLocal        bool
	scope          tracks.Text
	pid, tid       uint64
	hasPID, hasTID bool
}

func (im *importer) readLegacy(s *sequence, data []byte) (l legacyEvent, bad bool) {
	m := protobuf.Read(data)
	for m.Next() {
		switch m.Number {
		case 1:
			l.name = s.names[m.Value]
		case 2:
			l.phase = byte(m.Value)
		case 3:
			l.micros = int64(m.Value)
		case 6, 11:
			l.id = m.Value
		case 10:
			l.id, l.isLocal = m.Value, true
		case 7:
			l.scope = im.Text(m.Data)
		case 18:
			l.pid, l.hasPID = m.Value, true
		case 19:
			l.tid, l.hasTID = m.Value, true
		}
	}
	return l, m.Bad
}

// legacy takes an event in the terms of Chrome's JSON.
func (im *importer) legacy(s *sequence, e *event, on *track, t int64) (bad bool) {
	l, bad := im.readLegacy(s, e.legacy)
	if bad {
		return true
	}
	name := e.name
	if name == 0 {
		name = l.name
	}
	if l.hasPID || l.hasTID {
		pid, tid := s.pid, s.tid
		if l.hasPID {
			pid = l.pid
		}
		if l.hasTID {
			tid = l.tid
		}
		on = im.threadTrack(pid, tid)
	}
	switch l.phase {
	case 'B':
		im.Begin(im.nestOf(on, name), name, t)
	case 'E':
		im.End(im.nestOf(on, 0), 0, t)
	case 'X':
		nanos, ok := scale(l.micros, 1000)
		end, fits := add(t, nanos)
		if !ok || !fits {
			im.Outcome.LeaveOut("events at impossible times", 1)
			return false
		}
		im.Slice(im.nestOf(on, name), name, t, end)
	case 'I', 'i', 'R':
		im.Instant(im.instantsOf(on, name), name, t)
	case 'b', 'S':
		im.Begin(im.async(e, &l, on), name, t)
	case 'e', 'F':
		im.End(im.async(e, &l, on), name, t)
	case 'n':
		im.Instant(im.Nest(im.Instants(im.category(e, on))), name, t)
	default:
		im.Outcome.LeaveOut("legacy events of other phases", 1)
	}
	return false
}
