package dict

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync"
)

// ListsWith returns the set of present lists that contain any of the given elements. Both sets are bitmaps
// of codes: bit code%64 of word code/64. It reads each list only where it differs from the previous one,
// for 10 to 25 ns a list. It calls stop every 16,384 lists; a result after stop returned true is
// incomplete. Besides the result it needs a byte an element, which is pooled if the elements are not many.
func (d *Lists) ListsWith(elements []uint64, stop func() bool) []uint64 {
	const often = 1 << 14 // a multiple of restart
	n := d.Len()
	m := newMarks(d.Elements(), elements) // after Len, so that all elements of these lists have a place
	defer m.done()
	found := make([]uint64, n/64+1)
	for lo := 0; lo < n && !stop(); lo += often {
		d.lists.with(found, lo, min(lo+often, n), m)
	}
	return found
}

// marks is a set of codes with a byte each, 1 for members, so that a test is one load and no branch. It has
// a byte for each code of two bytes, or else a larger power of two, so that any bytes read as a code are a
// valid index.
type marks struct {
	of  []byte
	set []uint64 // the marked codes
}

// keptMarks bounds the size of pooled marks.
const keptMarks = 1 << 20

var marksKept = sync.Pool{New: func() any { return &marks{of: make([]byte, 1<<16)} }}

// newMarks marks the codes of a set up to `most`.
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

// done clears the marks and returns the bytes to the pool.
func (m *marks) done() {
	m.put(0)
	m.set = nil
	if len(m.of) <= keptMarks {
		marksKept.Put(m)
	}
}

// with sets bit i+1 of found for each list i in [lo, hi) that has a marked code. It does not test codes
// again that a list shares with the previous list. The list at lo must be stored whole.
func (f *frontCoded) with(found []uint64, lo, hi int, m *marks) {
	first := math.MaxInt // index of the first marked code in the current list
	var block []byte     // block of the current list, and its number
	number := -1
	for lo < hi {
		page := lo / pageLen * pageLen
		end := min(page+pageLen, hi)
		has := uint64(0) // bits of the page's lists
		for k, place := range f.places.page(lo)[lo-page : end-page] {
			if number != int(place>>16) {
				number, block = int(place>>16), f.bytes.from(place>>16, 0)
			}
			at := int(place & math.MaxUint16)
			shared, own, width := int(block[at]), int(block[at+1]>>widthBits), int(block[at+1]&(1<<widthBits-1))+1
			if at += 2; shared|int(block[at-1]) >= 0x80 { // rare
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
			has |= bit(first < math.MaxInt) << k
		}
		has <<= lo - page
		found[page/64] |= has << 1
		if has>>63 != 0 {
			found[page/64+1] |= 1
		}
		lo = end
	}
}

// first returns the index of the first marked code among the n codes of width bytes at the end of b, n if
// none is marked. Codes of two and three bytes are tested eight at a time, into bits with the first code
// highest, because list lengths are unpredictable, and a mispredicted branch costs more than a few surplus
// codes. If fewer than eight codes are left, the eight begin before them and the surplus bits are dropped.
// Nothing is read behind the codes, where a writer may be active.
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

// firstOfTwo is first for two-byte codes.
func (m *marks) firstOfTwo(b []byte, n int) int {
	of := (*[1 << 16]byte)(m.of)
	for at, left := len(b)-2*n, n; ; at, left = at+16, left-8 {
		short := 8 - left // missing to eight; at least 0, branch-free
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

// firstOfThree is first for three-byte codes.
func (m *marks) firstOfThree(b []byte, n int) int {
	of, mask := m.of, min(uint32(len(m.of)), 1<<24)-1
	for at, left := len(b)-3*n, n; ; at, left = at+24, left-8 {
		short := 8 - left // missing to eight; at least 0, branch-free
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

// bit returns 1 for true.
func bit(yes bool) uint64 {
	if yes {
		return 1
	}
	return 0
}
