package encoding

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync"
)

// ListsWith returns the set of the lists that are there and have one of some elements.
// Both are sets of codes: bit code%64 of word code/64. It looks at each list as far as it
// differs from the one before: 10 to 25 ns a list. Every 16,384 lists it asks whether to
// stop; what it returns then is incomplete. Beside the result it works in a byte an element,
// which is kept for the next call if they are not many.
func (d *ListDict) ListsWith(elements []uint64, stop func() bool) []uint64 {
	const often = 1 << 14 // a multiple of restart
	n := d.Len()
	m := newMarks(d.Elements(), elements) // after Len: so all elements of these lists have a place
	defer m.done()
	found := make([]uint64, n/64+1)
	for lo := 0; lo < n && !stop(); lo += often {
		d.lists.with(found, lo, min(lo+often, n), m)
	}
	return found
}

// marks is a set of codes with a byte each, 1 for those in it: to test one takes a load and
// nothing that a processor has to guess. There is one for each code of two bytes, and
// otherwise a power of two of them, so that any bytes taken for a code are a place.
type marks struct {
	of  []byte
	set []uint64 // what is marked
}

// keptMarks bounds what is kept for the next use.
const keptMarks = 1 << 20

var marksKept = sync.Pool{New: func() any { return &marks{of: make([]byte, 1<<16)} }}

// newMarks marks those of the codes up to most that are in a set.
func newMarks(most int, set []uint64) *marks {
	m := marksKept.Get().(*marks)
	if most >= len(m.of) {
		m.of = make([]byte, 1<<bits.Len(uint(most)))
	}
	m.set = set
	m.put(1)
	return m
}

// put sets the bytes of all codes in the set.
func (m *marks) put(mark byte) {
	for i, word := range m.set {
		for ; word != 0; word &= word - 1 {
			if code := 64*i + bits.TrailingZeros64(word); code < len(m.of) {
				m.of[code] = mark
			}
		}
	}
}

// done gives back the bytes, of which none is marked.
func (m *marks) done() {
	m.put(0)
	m.set = nil
	if len(m.of) <= keptMarks {
		marksKept.Put(m)
	}
}

// with sets bit i+1 of found for each list i of [lo, hi) that has a code which is marked.
// What a list shares with the one before it is not looked at again; that at lo shares
// nothing.
func (f *frontCoded) with(found []uint64, lo, hi int, m *marks) {
	first := math.MaxInt // index in the list at hand of the first such code
	var block []byte     // what lists at hand are in, by number
	number := -1
	for lo < hi {
		page := lo / pageLen * pageLen
		end := min(page+pageLen, hi)
		has := uint64(0) // those of the page, by bit
		for k, place := range f.places.page(lo)[lo-page : end-page] {
			if number != int(place>>16) {
				number, block = int(place>>16), f.bytes.from(place>>16, 0)
			}
			at := int(place & math.MaxUint16)
			shared, own, width := int(block[at]), int(block[at+1]>>widthBits), int(block[at+1]&(1<<widthBits-1))+1
			if at += 2; shared|int(block[at-1]) >= 0x80 { // seldom
				var codes narrow
				shared, own, codes = opened(block[at-2:])
				width, at = codes.width, len(block)-len(codes.bytes)
			}
			if first >= shared {
				first = math.MaxInt
				if i := m.first(block[:at+own*width], own, width); i < own {
					first = shared + i
				}
			}
			has |= FromBool(first < math.MaxInt) << k
		}
		has <<= lo - page
		found[page/64] |= has << 1
		if has>>63 != 0 {
			found[page/64+1] |= 1
		}
		lo = end
	}
}

// first returns which of the n codes of some bytes each that b ends with is the first that
// is marked, n if none is. Codes of two and three bytes are looked at eight together, and
// what is found is bits, the first of them the highest: no processor can guess how many codes
// a list has, and to guess wrong costs more than a few codes too many. The last eight begin
// before the codes if there are fewer; the bits of what lies there are dropped. Nothing is
// read behind the codes, where others may be written meanwhile.
func (m *marks) first(b []byte, n, width int) int {
	switch {
	case width == 2 && len(b) >= 16:
		return m.firstOfTwo(b, n)
	case width == 3 && len(b) >= 24:
		return m.firstOfThree(b, n)
	}
	codes := narrow{b[len(b)-n*width:], width}
	for k := range n {
		if m.of[codes.at(k)] != 0 {
			return k
		}
	}
	return n
}

// firstOfTwo is first of codes of two bytes.
func (m *marks) firstOfTwo(b []byte, n int) int {
	of := (*[1 << 16]byte)(m.of)
	for at, left := len(b)-2*n, n; ; at, left = at+16, left-8 {
		short := 8 - left // of eight; at least 0, by no guess
		short &^= short >> 63
		w := (*[16]byte)(b[at-2*short:])
		hits := uint(of[binary.LittleEndian.Uint16(w[0:])])
		hits = 2*hits + uint(of[binary.LittleEndian.Uint16(w[2:])])
		hits = 2*hits + uint(of[binary.LittleEndian.Uint16(w[4:])])
		hits = 2*hits + uint(of[binary.LittleEndian.Uint16(w[6:])])
		hits = 2*hits + uint(of[binary.LittleEndian.Uint16(w[8:])])
		hits = 2*hits + uint(of[binary.LittleEndian.Uint16(w[10:])])
		hits = 2*hits + uint(of[binary.LittleEndian.Uint16(w[12:])])
		hits = 2*hits + uint(of[binary.LittleEndian.Uint16(w[14:])])
		if hits &= 0xff >> (short & 63); hits != 0 || left <= 8 {
			return n - left + 8 - short - bits.Len(hits)
		}
	}
}

// firstOfThree is first of codes of three bytes.
func (m *marks) firstOfThree(b []byte, n int) int {
	of, mask := m.of, min(uint32(len(m.of)), 1<<24)-1
	for at, left := len(b)-3*n, n; ; at, left = at+24, left-8 {
		short := 8 - left // of eight; at least 0, by no guess
		short &^= short >> 63
		w := (*[24]byte)(b[at-3*short:])
		hits := uint(of[binary.LittleEndian.Uint32(w[0:])&mask])
		hits = 2*hits + uint(of[binary.LittleEndian.Uint32(w[3:])&mask])
		hits = 2*hits + uint(of[binary.LittleEndian.Uint32(w[6:])&mask])
		hits = 2*hits + uint(of[binary.LittleEndian.Uint32(w[9:])&mask])
		hits = 2*hits + uint(of[binary.LittleEndian.Uint32(w[12:])&mask])
		hits = 2*hits + uint(of[binary.LittleEndian.Uint32(w[15:])&mask])
		hits = 2*hits + uint(of[binary.LittleEndian.Uint32(w[18:])&mask])
		hits = 2*hits + uint(of[binary.LittleEndian.Uint32(w[20:])>>8&mask])
		if hits &= 0xff >> (short & 63); hits != 0 || left <= 8 {
			return n - left + 8 - short - bits.Len(hits)
		}
	}
}
