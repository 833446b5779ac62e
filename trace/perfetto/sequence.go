package perfetto

import "github.com/granarydb/granary/internal/tracks"

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
	m := read(data)
	for m.next() {
		switch {
		case m.number == 58:
			s.clock = m.value
		case m.number == 11 && m.wire == wireBytes:
			bad = s.setEventDefaults(m.bytes) || bad
		}
	}
	return m.bad || bad
}

func (s *sequence) setEventDefaults(data []byte) (bad bool) {
	m := read(data)
	for m.next() {
		switch m.number {
		case 11:
			s.track, s.hasTrack = m.value, true
		case 31:
			s.extra = m.numbers(s.extra, wireVarint)
		case 45:
			s.extraOfFloats = m.numbers(s.extraOfFloats, wireVarint)
		}
	}
	return m.bad
}

// intern reads the names and categories that packets refer to by numbers.
func (s *sequence) intern(t *tracks.Timeline, data []byte) (bad bool) {
	m := read(data)
	for m.next() {
		if m.wire != wireBytes || m.number != 1 && m.number != 2 {
			continue
		}
		to := s.names
		if m.number == 1 {
			to = s.categories
		}
		var id uint64
		var name []byte
		entry := read(m.bytes)
		for entry.next() {
			switch entry.number {
			case 1:
				id = entry.value
			case 2:
				name = entry.bytes
			}
		}
		bad = bad || entry.bad
		to[id] = t.Text(name)
	}
	return m.bad || bad
}
