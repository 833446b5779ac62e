package tile

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// Sealer makes tiles. Its arrays hold one tile, in the order of slot, then end, because the tile's layout
// must be known before it is written.
type Sealer struct {
	flat  Run // a lane's entries
	order []uint32
	highs [arrayLen]byte      // high bytes of the ends
	lows  [arrayLen]uint64    // the ends' bits below the high bytes
	words [arrayLen]uint64    // minus the least; if there are nulls, these are 0 and the others one more
	nulls [MostEntries]bool   // if the words do not show them
	codes [MostEntries]uint64 // places in a dictionary

	first [Slots + 1]int // first entry of each slot
	dict  distinct
}

// arrayLen is a power of two, so that spread needs no check of places. Tile checks their number.
const arrayLen = 1024

// Next returns the number of entries for the next tile, or 0 if they should wait for more. Their ends must
// be in order. A tile ends where its span of time would need one more bit, and only where time advances.
func Next(at []End, all bool) int {
	for n := Entries / 2; n < len(at); n++ {
		before, end := at[n-1].End, at[n].End
		if end == before {
			continue
		}
		if n >= Entries || bits.Len64(uint64(end-at[0].End)) > bits.Len64(uint64(before-at[0].End)) {
			return n
		}
	}
	if all {
		return len(at)
	}
	return 0
}

// Room returns memory for a lane's entries, valid until the next call.
func (s *Sealer) Room(n int) Run {
	f := &s.flat
	if cap(f.At) < n {
		f.At, f.Slots = make([]End, n, 2*n), make([]uint8, n, 2*n)
	}
	f.At, f.Slots = f.At[:n], f.Slots[:n]
	return *f
}

// Kept returns the sealer's room in entries.
func (s *Sealer) Kept() int { return cap(s.flat.At) }

// Sort sorts the entries in the room by end. Within a slot they are already in order.
func (s *Sealer) Sort() {
	s.order = s.order[:0]
	for i := range s.flat.At {
		s.order = append(s.order, uint32(i))
	}
	old := Run{slices.Clone(s.flat.At), slices.Clone(s.flat.Slots)}
	slices.SortStableFunc(s.order, func(a, b uint32) int { return cmp.Compare(old.At[a].End, old.At[b].End) })
	for i, from := range s.order {
		s.flat.At[i], s.flat.Slots[i] = old.At[from], old.Slots[from]
	}
}

// Tile writes a tile of entries, which must be ordered by end.
func (s *Sealer) Tile(to *Chunks, entries Run) Ref {
	n := len(entries.At)
	mask, of := s.count(entries)
	last := entries.At[n-1].End
	width := uint(max(1, bits.Len64(uint64(last-entries.At[0].End))))
	low := uint(0)
	if width > 8 {
		low = width - 8
	}
	s.spread(entries, last-int64(Ones(width)), low, of)
	flags, code, words := s.encode(n, of)
	counts := bits.OnesCount64(mask)
	if of.wide {
		flags |= Wide
		counts *= 2
	}
	size := HeaderSize + counts + n + PackedBytes(n, low) + PackedBytes(len(s.dict.words), words) + PackedBytes(n, code)
	ref := Ref{Last: last, Mask: mask, N: uint16(n)}
	ref.Widths = Widths{Ends: uint8(width), Code: uint8(code), Word: uint8(words), Flags: flags}
	b := to.Alloc(&ref, size)

	binary.LittleEndian.PutUint16(b[HeadWords:], uint16(len(s.dict.words)))
	binary.LittleEndian.PutUint64(b[HeadLeast:], of.least)
	at := HeaderSize
	for m := mask; m != 0; m &= m - 1 {
		slot := bits.TrailingZeros64(m)
		count := s.first[slot+1] - s.first[slot]
		b[at] = byte(count)
		at++
		if flags&Wide != 0 {
			b[at] = byte(count >> 8)
			at++
		}
	}
	at += copy(b[at:], s.highs[:n:MostEntries])
	at = pack(b, at, s.lows[:n], low)
	at = pack(b, at, s.dict.words, words)
	codes := s.words[:n]
	if flags&Dictionary != 0 {
		codes = s.codes[:n]
	}
	pack(b, at, codes, code)
	return ref
}

// wordsOf is the range of a tile's words.
type wordsOf struct {
	least, most uint64 // as signed numbers; 0 if there are none
	first       uint64 // least code of a value: 1 if there are nulls, else 0
	none        bool   // all are null
	wide        bool   // a slot has more entries than a byte counts
}

// fits reports whether the words minus the least, and null, fit in 64 bits.
func (of *wordsOf) fits() bool { return of.most-of.least+of.first >= of.first }

// count finds each slot's first entry, the mask of slots, and the range of words.
func (s *Sealer) count(entries Run) (mask uint64, of wordsOf) {
	var counts [Slots]int
	from := entries.At[:len(entries.Slots)]
	v := int64(0) // the last that is not null; before that, the first
	of.none = true
	for i, slot := range entries.Slots {
		if slot < Null {
			v, of.none = int64(from[i].Word), false
			break
		}
	}
	lo, hi, seen := v, v, uint8(0)
	for i, slot := range entries.Slots {
		counts[slot%Slots]++
		seen |= slot
		word := int64(from[i].Word)
		if slot < Null {
			v = word
		}
		lo, hi = min(lo, v), max(hi, v)
	}
	n := 0
	for slot, count := range counts {
		s.first[slot] = n
		n += count
		mask |= One(count > 0) << slot
		of.wide = of.wide || count > 255
	}
	s.first[Slots] = n
	of.least, of.most, of.first = uint64(lo), uint64(hi), One(seen >= Null)
	return mask, of
}

// spread puts the entries' parts into the sealer's arrays, by slot. Ends are counted from base, and have
// `low` bits below their high bytes.
func (s *Sealer) spread(entries Run, base int64, low uint, of wordsOf) {
	var next [Slots]int
	copy(next[:], s.first[:])
	lowest, zero := Ones(low), of.least-of.first
	from := entries.At[:len(entries.Slots)]
	for i, slot := range entries.Slots {
		at := next[slot%Slots] & (arrayLen - 1)
		next[slot%Slots] = at + 1
		x, word := uint64(from[i].End-base), from[i].Word-zero
		if slot >= Null {
			word = 0
		}
		s.highs[at], s.lows[at], s.words[at] = byte(x>>(low&63)), x&lowest, word
	}
	if of.fits() {
		return
	}
	copy(next[:], s.first[:])
	for _, slot := range entries.Slots {
		at := next[slot%Slots]
		next[slot%Slots] = at + 1
		s.nulls[at] = slot >= Null
	}
}

// encode chooses the width of codes. Codes are words minus the least, or places in the tile's dictionary
// where that takes fewer bits. A null is code 0, and the others are one more.
func (s *Sealer) encode(n int, of wordsOf) (flags byte, code, words uint) {
	s.dict.words = s.dict.words[:0]
	if of.first > 0 {
		flags = Nulls
	}
	if of.none {
		return flags, 0, 0
	}
	code = uint(bits.Len64(of.most - of.least + of.first))
	if code <= 4 && of.fits() {
		return flags, code, 0
	}
	words = uint(bits.Len64(of.most - of.least))
	if !s.index(n, of, code, words) {
		return flags, code, 0
	}
	return flags | Dictionary, uint(bits.Len64(uint64(len(s.dict.words)) - 1 + of.first)), words
}

// index makes a dictionary of the words and fills codes, if that is smaller than codes with the given
// width, or if those do not fit.
func (s *Sealer) index(n int, of wordsOf, code, words uint) bool {
	d := &s.dict
	d.begin()
	first, fits := of.first, of.fits()
	most := n // distinct words
	if fits {
		most = mostDistinct(n, first, code, words)
	}
	for i, word := range s.words[:n] {
		if word < first && (fits || s.nulls[i]) {
			s.codes[i] = 0
			continue
		}
		s.codes[i] = uint64(d.place(word-first)) + first
		if len(d.words) > most {
			d.words = d.words[:0]
			return false
		}
	}
	return true
}

// mostDistinct returns the most words in a dictionary that is smaller than n codes with the given width.
func mostDistinct(n int, first uint64, code, words uint) (most int) {
	for width := bits.Len64(first); width < int(code); width++ {
		room := (n*(int(code)-width) - 1) / int(words)
		if room < 1 {
			break
		}
		most = max(most, min(room, 1<<width-int(first)))
	}
	return most
}
