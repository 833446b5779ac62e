package summary

import (
	"encoding/binary"
	"math"

	"github.com/granarydb/granary/history"
)

// node summarizes consecutive intervals of one attribute.
type node struct {
	count  uint64 // intervals
	null   uint64 // instants without a value
	time   uint64 // instants with a value
	states []state
	many   bool // more states than fit: numbers is used instead of states
	numbers
}

// state is a value and the instants that an attribute had it. 0 instants mean 2^64.
type state struct{ word, time uint64 }

// mostStates bounds the states in a node.
const mostStates = 16

func (n *node) reset() {
	*n = node{states: n.states[:0]}
}

func (n *node) add(kind history.Kind, word uint64, null bool, time uint64) {
	n.count++
	if null {
		n.null += time
		return
	}
	n.addState(kind, word, time)
}

// addState adds instants with a value.
func (n *node) addState(kind history.Kind, word, time uint64) {
	n.time += time
	if !n.many {
		for i := range n.states {
			if n.states[i].word == word {
				n.states[i].time += time
				return
			}
		}
		if len(n.states) < mostStates {
			n.states = append(n.states, state{word, time})
			return
		}
		n.crowd(kind)
	}
	n.numbers.add(kind, word, time)
}

// crowd replaces states by numbers.
func (n *node) crowd(kind history.Kind) {
	n.many = true
	for _, s := range n.states {
		n.numbers.add(kind, s.word, s.time)
	}
	n.states = n.states[:0]
}

// merge adds a later node.
func (n *node) merge(kind history.Kind, m *node) {
	n.count += m.count
	n.null += m.null
	if !m.many {
		for _, s := range m.states {
			n.addState(kind, s.word, s.time)
		}
		return
	}
	if !n.many {
		n.crowd(kind)
	}
	n.time += m.time
	n.numbers.merge(kind, &m.numbers)
}

// append appends a node's bytes. kind is the values' kind.
//
//	uvarint  2 * intervals, and 1 if there are many states
//	uvarint  instants without a value
//	uvarint  states; if many, instants with a value
//	         each state: its word, uvarint instants; if many, numbers
func (n *node) append(b []byte, kind history.Kind) []byte {
	count := 2 * n.count
	if n.many {
		count++
	}
	b = binary.AppendUvarint(b, count)
	b = binary.AppendUvarint(b, n.null)
	if n.many {
		return n.numbers.append(binary.AppendUvarint(b, n.time), kind)
	}
	b = binary.AppendUvarint(b, uint64(len(n.states)))
	for _, s := range n.states {
		b = binary.AppendUvarint(appendWord(b, kind, s.word), s.time)
	}
	return b
}

func (n *node) read(b []byte, kind history.Kind) {
	n.reset()
	count, b := uvarint(b)
	n.count, n.many = count/2, count%2 == 1
	n.null, b = uvarint(b)
	states, b := uvarint(b)
	if n.many {
		n.time = states
		n.numbers.read(b, kind)
		return
	}
	for range states {
		var s state
		s.word, b = readWord(b, kind)
		s.time, b = uvarint(b)
		n.time += s.time
		n.states = append(n.states, s)
	}
}

// uvarint reads a number that append has written.
func uvarint(b []byte) (x uint64, rest []byte) {
	x, n := binary.Uvarint(b)
	return x, b[n:]
}

func appendWord(b []byte, kind history.Kind, word uint64) []byte {
	switch kind {
	case history.KindFloat:
		return binary.LittleEndian.AppendUint64(b, word)
	case history.KindInt:
		return binary.AppendVarint(b, int64(word))
	}
	return binary.AppendUvarint(b, word)
}

func readWord(b []byte, kind history.Kind) (word uint64, rest []byte) {
	switch kind {
	case history.KindFloat:
		return binary.LittleEndian.Uint64(b), b[8:]
	case history.KindInt:
		x, n := binary.Varint(b)
		return uint64(x), b[n:]
	}
	return uvarint(b)
}

// numbers are the least and the greatest value, and the values' sum by time.
type numbers struct {
	some     bool // a number was added
	min, max uint64
	sum      integral
}

// isNumber reports whether values of a kind have a sum.
func isNumber(kind history.Kind) bool { return kind >= history.KindBool && kind <= history.KindFloat }

// add adds a value that held for `time` instants. Texts have no numbers.
func (n *numbers) add(kind history.Kind, word, time uint64) {
	switch kind {
	case history.KindFloat:
		f := math.Float64frombits(word)
		n.extend(kind, word, word)
		n.sum.addFloat(f, time)
	case history.KindInt, history.KindBool:
		n.extend(kind, word, word)
		n.sum.addInt(int64(word), time)
	case history.KindNull, history.KindString, history.KindBytes:
	}
}

// extend includes a range of values in the least and the greatest. A NaN is left out if there is another
// float, and -0 becomes 0.
func (n *numbers) extend(kind history.Kind, low, high uint64) {
	if kind == history.KindFloat {
		low, high = math.Float64bits(math.Float64frombits(low)+0), math.Float64bits(math.Float64frombits(high)+0)
	}
	switch {
	case !n.some:
		n.some, n.min, n.max = true, low, high
	case kind == history.KindFloat:
		a, b := math.Float64frombits(low), math.Float64frombits(high)
		if least := math.Float64frombits(n.min); a < least || math.IsNaN(least) {
			n.min = low
		}
		if most := math.Float64frombits(n.max); b > most || math.IsNaN(most) {
			n.max = high
		}
	default:
		n.min, n.max = uint64(min(int64(n.min), int64(low))), uint64(max(int64(n.max), int64(high)))
	}
}

func (n *numbers) merge(kind history.Kind, m *numbers) {
	if !m.some {
		return
	}
	n.extend(kind, m.min, m.max)
	n.sum.merge(kind, &m.sum)
}

func (n *numbers) append(b []byte, kind history.Kind) []byte {
	if !isNumber(kind) {
		return b
	}
	return n.sum.append(appendWord(appendWord(b, kind, n.min), kind, n.max), kind)
}

func (n *numbers) read(b []byte, kind history.Kind) {
	if !isNumber(kind) {
		return
	}
	n.some = true
	n.min, b = readWord(b, kind)
	n.max, b = readWord(b, kind)
	n.sum.read(b, kind)
}
