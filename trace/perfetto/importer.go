package perfetto

import (
	"context"
	"errors"

	"github.com/granarydb/granary/internal/protobuf"
	"github.com/granarydb/granary/internal/tracks"
)

// importer turns packets into tracks.
type importer struct {
	*tracks.Timeline
	*places
	clocks    *clocks
	sequences map[uint64]*sequence
	sched     []schedEvent
	comms     map[uint64]tracks.Text // names of threads, by the scheduler
	packets   int
	event     event
}

func newImporter() *importer {
	t := tracks.New()
	return &importer{Timeline: t, places: newPlaces(t), clocks: newClocks(), sequences: map[uint64]*sequence{}, comms: map[uint64]tracks.Text{}}
}

// read reads all packets. It returns io.EOF at the end of a whole trace, or why there is no next packet.
func (im *importer) read(ctx context.Context, p *packets) error {
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		packet, err := p.Next()
		if err != nil {
			return err
		}
		compressed := im.packet(packet)
		if compressed == nil {
			continue
		}
		err = p.inflate(compressed, func(inner []byte) error {
			if im.packet(inner) != nil {
				im.Outcome.LeaveOut("compressed packets in compressed packets", 1)
			}
			return ctx.Err()
		})
		switch {
		case errors.Is(err, errBomb) || ctx.Err() != nil:
			return err
		case err != nil:
			im.Outcome.LeaveOut("compressed packets that break off", 1)
		}
	}
}

// header has the fields of a packet that the rest of it needs.
type header struct {
	sequence        uint64
	flags           uint64
	time, clock     uint64
	hasTime         bool
	clears, dropped bool
	defaults        []byte
	interned        []byte
	compressed      []byte
}

// contents are the fields of packets that add reads, in the place of the header's.
var contents = map[uint64]bool{1: true, 2: true, 6: true, 11: true, 43: true, 44: true, 60: true}

// silent are fields about the recording itself, without states.
var silent = map[uint64]bool{
	3: true, 33: true, 34: true, 35: true, 36: true, 45: true, 46: true, 64: true, 79: true, 87: true, 89: true, 51: true, 78: true, 7: true,
}

// packet reads a packet. It returns the bytes of a compressed one, which has other packets.
func (im *importer) packet(data []byte) (compressed []byte) {
	var h header
	m := protobuf.Read(data)
	others := false
	for m.Next() {
		switch m.Number {
		case 8:
			h.time, h.hasTime = m.Value, true
		case 10:
			h.sequence = m.Value
		case 13:
			h.flags = m.Value
		case 12:
			h.interned = m.Data
		case 41:
			h.clears = m.Value != 0
		case 42:
			h.dropped = m.Value != 0
		case 50:
			h.compressed = m.Data
		case 58:
			h.clock = m.Value
		case 59:
			h.defaults = m.Data
		default:
			others = others || m.Wire == protobuf.Bytes && !contents[m.Number] && !silent[m.Number]
		}
	}
	im.packets++
	if m.Bad {
		im.Outcome.LeaveOut("packets that cannot be read", 1)
		return nil
	}
	if h.compressed != nil {
		return h.compressed
	}
	if others {
		im.Outcome.LeaveOut("packets of other data", 1)
	}
	if im.contents(&h, data) {
		im.Outcome.LeaveOut("packets that cannot be read", 1)
	}
	return nil
}

// sequence returns the state of a packet's sequence, changed by the packet.
func (im *importer) sequence(h *header) (s *sequence, bad bool) {
	s = im.sequences[h.sequence]
	if s == nil {
		s = &sequence{id: h.sequence}
		s.clear()
		s.isValid = false
		im.sequences[h.sequence] = s
	}
	if h.clears || h.flags&1 != 0 {
		s.clear()
	} else if h.dropped {
		s.isValid = false
	}
	if h.defaults != nil {
		bad = s.setDefaults(h.defaults)
	}
	if h.interned != nil && s.isValid {
		bad = s.intern(im.Timeline, h.interned) || bad
	}
	return s, bad
}

// contents reads what a packet is about, which may stand before the fields of its header.
func (im *importer) contents(h *header, data []byte) (bad bool) {
	s, bad := im.sequence(h)
	m := protobuf.Read(data)
	for m.Next() {
		if m.Wire != protobuf.Bytes {
			continue
		}
		switch m.Number {
		case 1:
			bad = im.ftrace(m.Data) || bad
		case 2:
			bad = im.processTree(m.Data) || bad
		case 6:
			bad = im.clocks.snapshot(h.sequence, m.Data) || bad
		case 11:
			bad = im.trackEvent(s, h, m.Data) || bad
		case 43:
			bad = im.process(m.Data, nil) || bad
		case 44:
			bad = im.threadOf(s, m.Data) || bad
		case 60:
			bad = im.descriptor(m.Data) || bad
		case 133:
			im.Outcome.LeaveOut("packets compressed with zstd", 1)
		}
	}
	return bad
}

// threadOf makes a thread that of the sequence's later events.
func (im *importer) threadOf(s *sequence, data []byte) (bad bool) {
	var d threadDescriptor
	if bad = d.read(data); bad {
		return true
	}
	s.pid, s.tid, s.hasThread, s.micros = d.pid, d.tid, true, int64(d.micros)
	im.thread(d.pid, d.tid).named(im.Text(d.name))
	return false
}

// time returns the time of a track event in the trace's clock.
func (im *importer) time(s *sequence, h *header, e *event) (int64, bool) {
	switch {
	case e.hasMicros:
		return im.clocks.toMain(s.id, monotonic, e.micros*1000)
	case !h.hasTime || h.time > 1<<62:
		return 0, false
	}
	clock := h.clock
	if clock == 0 {
		clock = s.clock
	}
	if clock == 0 {
		clock = im.clocks.mainClock()
	}
	return im.clocks.toMain(s.id, clock, int64(h.time))
}
