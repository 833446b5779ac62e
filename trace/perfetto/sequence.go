package perfetto

import (
	"github.com/granarydb/granary/internal/protobuf"
	"github.com/granarydb/granary/internal/tracks"
)

// sequence has the state of the packets of one writer.
type sequence struct {
	id uint64
	// isValid is false until the sequence clears its state, and after packets of it were dropped.
	isValid    bool
	names      map[uint64]tracks.Text
	categories map[uint64]tracks.Text
	sums       map[uint64]int64 // of counters whose values are differences, by track

	// The defaults of its packets.
	clock         uint64
	track         uint64
	hasTrack      bool
	extra         []uint64 // tracks of whole numbers
	extraOfFloats []uint64

	// The thread and the times of events before tracks were invented.
	pid, tid  uint64
	hasThread bool
	micros    int64
}

func (s *sequence) clear() {
	s.isValid = true
	s.names, s.categories, s.sums = map[uint64]tracks.Text{}, map[uint64]tracks.Text{}, map[uint64]int64{}
	s.clock, s.track, s.hasTrack, s.extra, s.extraOfFloats = 0, 0, false, nil, nil
}

// setDefaults reads the defaults of packets, which replace the ones before.
func (s *sequence) setDefaults(data []byte) (bad bool) {
	s.clock, s.track, s.hasTrack, s.extra, s.extraOfFloats = 0, 0, false, nil, nil
	m := protobuf.Read(data)
	for m.Next() {
		switch {
		case m.Number == 58:
			s.clock = m.Value
		case m.Number == 11 && m.Wire == protobuf.Bytes:
			bad = s.setEventDefaults(m.Data) || bad
		}
	}
	return m.Bad || bad
}

func (s *sequence) setEventDefaults(data []byte) (bad bool) {
	m := protobuf.Read(data)
	for m.Next() {
		switch m.Number {
		case 11:
			s.track, s.hasTrack = m.Value, true
		case 31:
			s.extra = m.Numbers(s.extra, protobuf.Varint)
		case 45:
			s.extraOfFloats = m.Numbers(s.extraOfFloats, protobuf.Varint)
		}
	}
	return m.Bad
}

// intern reads the names and categories that packets refer to by numbers.
func (s *sequence) intern(t *tracks.Timeline, data []byte) (bad bool) {
	m := protobuf.Read(data)
	for m.Next() {
		if m.Wire != protobuf.Bytes || m.Number != 1 && m.Number != 2 {
			continue
		}
		to := s.names
		if m.Number == 1 {
			to = s.categories
		}
		var id uint64
		var name []byte
		entry := protobuf.Read(m.Data)
		for entry.Next() {
			switch entry.Number {
			case 1:
				id = entry.Value
			case 2:
				name = entry.Data
			}
		}
		bad = bad || entry.Bad
		to[id] = t.Text(name)
	}
	return m.Bad || bad
}
