package history

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
)

// sealers are used for a moment each, and each is larger than many a history. One that
// sealed more than keptEntries of a lane at once is not used again.
var sealers = sync.Pool{New: func() any { return new(sealer) }}

// sealer makes tiles. Its arrays are of one tile, in the order of slot, then end: the layout
// of the tile is known before they are filled.
type sealer struct {
	flat  run // of a lane
	order []uint32
	highs [maxTileEntries]byte   // of the ends
	lows  [maxTileEntries]uint64 // of them, below the high bytes
	words [maxTileEntries]uint64 // less the least; if there are nulls, these are 0 and the others one more
	nulls [maxTileEntries]bool   // if the words do not tell them
	codes [maxTileEntries]uint64 // places in a dictionary

	first [laneWidth + 1]int // entries of the slots before
	dict  tileWords
}

// nextTile returns the number of entries that the next tile takes, or 0 if they should wait
// for more. Their ends are in order. A tile ends where its span of time would need one more
// bit, and only where time advances.
func nextTile(at []entry, all bool) int {
	for n := tileEntries / 2; n < len(at); n++ {
		before, end := at[n-1].end, at[n].end
		if end == before {
			continue
		}
		if n >= tileEntries || bits.Len64(uint64(end-at[0].end)) > bits.Len64(uint64(before-at[0].end)) {
			return n
		}
	}
	if all {
		return len(at)
	}
	return 0
}

// flatten returns the unsealed entries of a lane in the order of their ends. They are valid
// until the next call.
func (s *sealer) flatten(work *laneWork) run {
	n := work.entries.n
	f := &s.flat
	if cap(f.at) < n {
		f.at, f.slots = make([]entry, n, 2*n), make([]uint8, n, 2*n)
	}
	f.at, f.slots = f.at[:n], f.slots[:n]
	for i, b := range work.entries.blocks[:(n+blockLen-1)/blockLen] {
		copy(f.at[i*blockLen:], b.at[:])
		copy(f.slots[i*blockLen:], b.slots[:])
	}
	if work.mixed {
		s.sort()
	}
	return *f
}

// sort brings the flat entries into the order of the ends. Those of one slot are in order.
func (s *sealer) sort() {
	s.order = s.order[:0]
	for i := range s.flat.at {
		s.order = append(s.order, uint32(i))
	}
	old := run{slices.Clone(s.flat.at), slices.Clone(s.flat.slots)}
	slices.SortStableFunc(s.order, func(a, b uint32) int { return cmp.Compare(old.at[a].end, old.at[b].end) })
	for i, from := range s.order {
		s.flat.at[i], s.flat.slots[i] = old.at[from], old.slots[from]
	}
}

// tile writes a tile of entries in the order of their ends.
func (s *sealer) tile(to *chunks, entries run) tileRef {
	n := len(entries.at)
	mask, of := s.count(entries)
	last := entries.at[n-1].end
	width := uint(max(1, bits.Len64(uint64(last-entries.at[0].end))))
	low := uint(0)
	if width > 8 {
		low = width - 8
	}
	s.spread(entries, last-int64(ones(width)), low, of)
	flags, code, words := s.encode(n, of)
	counts := bits.OnesCount64(mask)
	if s.isWide(mask) {
		flags |= tileWide
		counts *= 2
	}
	size := headerSize + counts + n + packedBytes(n, low) + packedBytes(len(s.dict.words), words) + packedBytes(n, code)
	b, ref := to.alloc(size)
	ref.last, ref.mask, ref.n = last, mask, uint16(n)
	ref.layout = layout{ends: uint8(width), code: uint8(code), word: uint8(words), flags: flags}

	binary.LittleEndian.PutUint16(b[headWords:], uint16(len(s.dict.words)))
	binary.LittleEndian.PutUint64(b[headLeast:], of.least)
	at := headerSize
	for m := mask; m != 0; m &= m - 1 {
		slot := bits.TrailingZeros64(m)
		count := s.first[slot+1] - s.first[slot]
		b[at] = byte(count)
		at++
		if flags&tileWide != 0 {
			b[at] = byte(count >> 8)
			at++
		}
	}
	at += copy(b[at:], s.highs[:n])
	at = pack(b, at, s.lows[:n], low)
	at = pack(b, at, s.dict.words, words)
	codes := &s.words
	if flags&tileDict != 0 {
		codes = &s.codes
	}
	pack(b, at, codes[:n], code)
	return ref
}

// wordsOf is the range of the words of a tile's entries.
type wordsOf struct {
	least, most uint64 // as signed numbers; 0 if there are none
	first       uint64 // least code of a value: 1 if there are nulls, else 0
	none        bool   // all are null
}

// fits reports whether the words less the least, and null, fit 64 bits.
func (of *wordsOf) fits() bool { return of.most-of.least+of.first >= of.first }

// count finds the first entry of each slot, the mask of the slots, and the range of words.
func (s *sealer) count(entries run) (mask uint64, of wordsOf) {
	var counts [laneWidth]int
	from := entries.at[:len(entries.slots)]
	v := int64(0) // the last that is not null; before that, the first
	of.none = true
	for i, slot := range entries.slots {
		if slot < nullEntry {
			v, of.none = int64(from[i].word), false
			break
		}
	}
	lo, hi, seen := v, v, uint8(0)
	for i, slot := range entries.slots {
		counts[slot%laneWidth]++
		seen |= slot
		word := int64(from[i].word)
		if slot < nullEntry {
			v = word
		}
		lo, hi = min(lo, v), max(hi, v)
	}
	n := 0
	for slot, count := range counts {
		s.first[slot] = n
		n += count
		mask |= one(count > 0) << slot
	}
	s.first[laneWidth] = n
	of.least, of.most, of.first = uint64(lo), uint64(hi), one(seen >= nullEntry)
	return mask, of
}

// spread puts the parts of the entries into the sealer's arrays, by slot. Ends are counted
// from a base, and have low bits below their high bytes.
func (s *sealer) spread(entries run, base int64, low uint, of wordsOf) {
	var next [laneWidth]int
	copy(next[:], s.first[:])
	lowest, zero := ones(low), of.least-of.first
	from := entries.at[:len(entries.slots)]
	for i, slot := range entries.slots {
		at := next[slot%laneWidth]
		next[slot%laneWidth] = at + 1
		x, word := uint64(from[i].end-base), from[i].word-zero
		if slot >= nullEntry {
			word = 0
		}
		s.highs[at], s.lows[at], s.words[at] = byte(x>>(low&63)), x&lowest, word
	}
	if of.fits() {
		return
	}
	copy(next[:], s.first[:])
	for _, slot := range entries.slots {
		at := next[slot%laneWidth]
		next[slot%laneWidth] = at + 1
		s.nulls[at] = slot >= nullEntry
	}
}

// isWide reports whether a slot has more entries than a byte counts.
func (s *sealer) isWide(mask uint64) bool {
	for m := mask; m != 0; m &= m - 1 {
		slot := bits.TrailingZeros64(m)
		if s.first[slot+1]-s.first[slot] > 255 {
			return true
		}
	}
	return false
}

// encode chooses the width of codes. Codes are words less the least, or places in a dictionary
// of the tile where that takes fewer bits. A null is code 0, and the others are one more.
func (s *sealer) encode(n int, of wordsOf) (flags byte, code, words uint) {
	s.dict.words = s.dict.words[:0]
	if of.first > 0 {
		flags = tileNulls
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
	return flags | tileDict, uint(bits.Len64(uint64(len(s.dict.words)) - 1 + of.first)), words
}

// index makes a dictionary of the words and fills codes, if that is smaller than codes
// of the given width, or if those do not fit.
func (s *sealer) index(n int, of wordsOf, code, words uint) bool {
	d := &s.dict
	d.begin()
	first, fits := of.first, of.fits()
	for i, word := range s.words[:n] {
		if word < first && (fits || s.nulls[i]) {
			s.codes[i] = 0
			continue
		}
		s.codes[i] = uint64(d.place(word-first)) + first
		if fits && len(d.words)*int(words) > n*int(code) {
			d.words = d.words[:0]
			return false
		}
	}
	width := bits.Len64(uint64(len(d.words)) - 1 + first)
	if fits && len(d.words)*int(words)+n*width >= n*int(code) {
		d.words = d.words[:0]
		return false
	}
	return true
}
