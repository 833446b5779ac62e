package perfetto

import "math"

// The wire types of protocol buffers. Groups are not read: Perfetto has none.
const (
	wireVarint = 0
	wireEight  = 1
	wireBytes  = 2
	wireFour   = 5
)

// message reads the fields of a message, one after the other. Its bytes belong to its caller. After the last field, and
// after malformed bytes (bad), next returns false.
type message struct {
	data []byte
	bad  bool

	number uint64 // of the field
	wire   int
	value  uint64 // if it is a number
	bytes  []byte // if it has bytes
}

func read(data []byte) message { return message{data: data} }

func (m *message) next() bool {
	if len(m.data) == 0 || m.bad {
		return false
	}
	tag, ok := m.varint()
	m.number, m.wire, m.value, m.bytes = tag>>3, int(tag&7), 0, nil
	switch {
	case !ok || m.number == 0:
		ok = false
	case m.wire == wireVarint:
		m.value, ok = m.varint()
	case m.wire == wireEight:
		ok = m.fixed(8)
	case m.wire == wireFour:
		ok = m.fixed(4)
	case m.wire == wireBytes:
		var n uint64
		if n, ok = m.varint(); ok && n <= uint64(len(m.data)) {
			m.bytes, m.data = m.data[:n], m.data[n:]
		} else {
			ok = false
		}
	default:
		ok = false
	}
	m.bad = !ok
	return ok
}

// varint reads a number. Bits beyond 64 are lost, as in other readers.
func (m *message) varint() (uint64, bool) {
	if len(m.data) > 0 && m.data[0] < 0x80 {
		v := uint64(m.data[0])
		m.data = m.data[1:]
		return v, true
	}
	var v uint64
	for i := range min(10, len(m.data)) {
		c := m.data[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			m.data = m.data[i+1:]
			return v, true
		}
	}
	return 0, false
}

func (m *message) fixed(n int) bool {
	if len(m.data) < n {
		return false
	}
	for i := range n {
		m.value |= uint64(m.data[i]) << (8 * i)
	}
	m.data = m.data[n:]
	return true
}

// numbers appends the numbers of a repeated field, of which m.next found one or a packed list. A list is of varints, or with
// wireEight of numbers of 8 bytes.
func (m *message) numbers(to []uint64, wire int) []uint64 {
	if m.wire != wireBytes {
		return append(to, m.value)
	}
	for list := read(m.bytes); len(list.data) > 0; {
		var ok bool
		list.value = 0
		if wire == wireEight {
			ok = list.fixed(8)
		} else {
			list.value, ok = list.varint()
		}
		if !ok {
			m.bad = true
			break
		}
		to = append(to, list.value)
	}
	return to
}

func (m *message) float() float64 { return math.Float64frombits(m.value) }
