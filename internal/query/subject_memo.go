package query

import (
	"math/bits"

	"github.com/granarydb/granary/encoding"
)

// subjectMemo caches subjects in a hash table. The table is emptied when it would outgrow the
// processor's cache.
type subjectMemo struct {
	slots []knownSubject
	used  int
	shift uint8 // from a hash to its slot
}

type knownSubject struct {
	word uint64
	from uint32 // subjectKey, or 0 if free
	to   uint32
}

const (
	firstSubjects = 1 << 6
	mostSubjects  = 1 << 16
)

// subjectKey returns the key for a subject and a word that may be null. It is never 0.
func subjectKey(subject uint32, null bool) uint32 {
	return (subject<<1 | uint32(encoding.FromBool(null))) + 1
}

// find returns the cached result for a subject and a word.
func (m *subjectMemo) find(from uint32, word uint64) (to uint32, known bool) {
	if m.used == 0 {
		return 0, false
	}
	s := &m.slots[m.slot(from, word)]
	return s.to, s.from != 0
}

// slot returns the slot of a subject and a word, or a free slot for them.
func (m *subjectMemo) slot(from uint32, word uint64) int {
	const odd, golden = 0xbf58476d1ce4e5b9, 0x9e3779b97f4a7c15
	i := int((word + uint64(from)*odd) * golden >> m.shift)
	for m.slots[i].from != 0 && (m.slots[i].from != from || m.slots[i].word != word) {
		i = (i + 1) & (len(m.slots) - 1)
	}
	return i
}

// add caches the result for a subject and a word. They must be new.
func (m *subjectMemo) add(from uint32, word uint64, to uint32) {
	if 2*m.used >= len(m.slots) {
		m.grow()
	}
	m.slots[m.slot(from, word)] = knownSubject{word, from, to}
	m.used++
}

// grow enlarges the table, or empties it if it has its greatest size.
func (m *subjectMemo) grow() {
	if len(m.slots) >= mostSubjects {
		clear(m.slots)
		m.used = 0
		return
	}
	old := m.slots
	size := max(firstSubjects, 4*len(old))
	m.slots, m.shift = make([]knownSubject, size), uint8(65-bits.Len(uint(size)))
	for _, s := range old {
		if s.from != 0 {
			m.slots[m.slot(s.from, s.word)] = s
		}
	}
}
