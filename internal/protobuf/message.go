package protobuf

import "math"

// Wire is how a field is stored. Groups, which are obsolete, are malformed here.
type Wire int

// The ways to store a field.
const (
	Varint Wire = 0
	Eight  Wire = 1 // bytes
	Bytes  Wire = 2
	Four   Wire = 5 // bytes
)

// Message reads the fields of a message, one after the other. It belongs to one goroutine, and its bytes to its caller.
type Message struct {
	// Number, Wire, Value and Data are those of the field that Next found. Value is 0 for a field of bytes, and
	// Data is nil for a number. Data shares the message's memory.
	Number uint64
	Wire   Wire
	Value  uint64
	Data   []byte
	// Bad means that the message ended at malformed bytes.
	Bad bool

	data []byte
}

// Read returns a message of bytes, which must not change while it is read.
func Read(data []byte) Message { return Message{data: data} }

// Next finds the next field. It returns false after the last one, and at malformed bytes.
func (m *Message) Next() bool {
	if len(m.data) == 0 || m.Bad {
		return false
	}
	tag, ok := m.varint()
	m.Number, m.Wire, m.Value, m.Data = tag>>3, Wire(tag&7), 0, nil
	switch {
	case !ok || m.Number == 0:
		ok = false
	case m.Wire == Varint:
		m.Value, ok = m.varint()
	case m.Wire == Eight:
		ok = m.fixed(8)
	case m.Wire == Four:
		ok = m.fixed(4)
	case m.Wire == Bytes:
		var n uint64
		if n, ok = m.varint(); ok && n <= uint64(len(m.data)) {
			m.Data, m.data = m.data[:n], m.data[n:]
		} else {
			ok = false
		}
	default:
		ok = false
	}
	m.Bad = !ok
	return ok
}

// maxVarint is the number of bytes of a number at most.
const maxVarint = 10

// varint reads a number. Bits beyond 64 are lost, as in other readers.
func (m *Message) varint() (uint64, bool) {
	if len(m.data) > 0 && m.data[0] < 0x80 {
		v := uint64(m.data[0])
		m.data = m.data[1:]
		return v, true
	}
	var v uint64
	for i := range min(maxVarint, len(m.data)) {
		c := m.data[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			m.data = m.data[i+1:]
			return v, true
		}
	}
	return 0, false
}

func (m *Message) fixed(n int) bool {
	if len(m.data) < n {
		return false
	}
	for i := range n {
		m.Value |= uint64(m.data[i]) << (8 * i)
	}
	m.data = m.data[n:]
	return true
}

// Numbers appends the numbers of a repeated field, of which Next found one or a packed list. A list is of varints, or with
// Eight of numbers of 8 bytes. It sets Bad for a malformed list, and returns what is before that.
func (m *Message) Numbers(to []uint64, wire Wire) []uint64 {
	if m.Wire != Bytes {
		return append(to, m.Value)
	}
	for list := Read(m.Data); len(list.data) > 0; {
		var ok bool
		list.Value = 0
		if wire == Eight {
			ok = list.fixed(8)
		} else {
			list.Value, ok = list.varint()
		}
		if !ok {
			m.Bad = true
			break
		}
		to = append(to, list.Value)
	}
	return to
}

// Varint reads a number that stands alone, such as the first of a packed list. It reports false for malformed bytes.
func (m *Message) Varint() (uint64, bool) { return m.varint() }

// Float returns the value of a field of 8 bytes as a float.
func (m *Message) Float() float64 { return math.Float64frombits(m.Value) }
