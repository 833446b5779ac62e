package history

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
)

// tileEntries is the number of entries at which a tile is cut; those that end with its
// last are in it too, one a slot at most.
const (
	tileEntries    = 512
	maxTileEntries = tileEntries + laneWidth
)

// run is intervals that ended, on their way into tiles: columns as those of a block.
type run struct {
	at    []entry
	slots []uint8 // and nullEntry
}

// part returns the entries [lo, hi).
func (r run) part(lo, hi int) run { return run{r.at[lo:hi], r.slots[lo:hi]} }

// behind returns the entries from n on.
func (r run) behind(n int) run { return r.part(n, len(r.at)) }

// chunks is where the tiles of a history lie.
type chunks struct {
	tiles map[*chunk]int // how many each chunk has that were not dropped
	last  *chunk
	used  int // bytes of the last
}

// take returns zeroed memory for a tile.
func (c *chunks) take(size int) ([]byte, tileRef) {
	if c.last == nil || c.used+size+tileSlack > chunkBytes {
		c.last, c.used = new(chunk), 0
	}
	ref := tileRef{in: c.last, at: uint16(c.used)}
	c.used += size + tileSlack
	c.tiles[c.last]++
	return c.last[ref.at:], ref
}

// drop forgets a tile.
func (c *chunks) drop(r *tileRef) {
	if c.tiles[r.in]--; c.tiles[r.in] == 0 {
		delete(c.tiles, r.in)
		if r.in == c.last {
			c.last = nil
		}
	}
}

// bytes returns what all chunks take.
func (c *chunks) bytes() int64 { return int64(len(c.tiles)) * chunkBytes }

// sealers are used for a moment each; they are larger than many a history. Those that sealed
// more than keptEntries of a lane at once are not used again.
const keptEntries = 1 << 16

var sealers = sync.Pool{New: func() any { return new(sealer) }}

// sealer makes tiles. Its arrays are of one tile, in the order of slot, then end: what of an
// entry goes where in the tile is known before they are filled.
type sealer struct {
	flat  run // of a lane
	order []uint32
	highs [maxTileEntries]byte   // of the ends
	lows  [maxTileEntries]uint64 // of them, below the high bytes
	words [maxTileEntries]uint64 // less the least; if there are nulls, these are 0 and the others one more
	nulls [maxTileEntries]bool   // if that does not tell them
	codes [maxTileEntries]uint64 // places in a dictionary

	first [laneWidth + 1]int // entries of the slots before
	dict  tileWords
}

// cut returns how many of the entries, whose ends are in order, the next tile takes, 0 if
// they should wait for more. A tile ends where its span of time would need one more bit,
// and only where time advances.
func cut(at []entry, all bool) int {
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

// flatten returns what a lane has not sealed in the order of the ends, until the next
// call.
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
	b, ref := to.take(size)
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

// wordsOf is what the words of a tile's entries are like.
type wordsOf struct {
	least, most uint64 // as signed numbers; 0 if there are none
	first       uint64 // of the codes, that which is no null: 1 if there are nulls
	none        bool   // all are null
}

// fits says that a word less the least, and null, fit 64 bits.
func (of *wordsOf) fits() bool { return of.most-of.least+of.first >= of.first }

// count says where the entries of each slot begin, which slots there are, and of what words.
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

// spread puts the parts of the entries into the sealer's arrays, by slot: ends from a base
// on, with so many low bits.
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

// isWide says whether a slot has more entries than a byte counts.
func (s *sealer) isWide(mask uint64) bool {
	for m := mask; m != 0; m &= m - 1 {
		slot := bits.TrailingZeros64(m)
		if s.first[slot+1]-s.first[slot] > 255 {
			return true
		}
	}
	return false
}

// encode says how wide codes are: words less the least, or places in a dictionary of the tile
// where that takes fewer bits. A null is code 0, and the others are one more.
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

// tileWords is the distinct words of a tile: a small hash table that is emptied by
// counting up.
type tileWords struct {
	words []uint64
	table [4 * tileEntries]struct {
		round uint32
		place uint32
	}
	round uint32
}

func (d *tileWords) begin() {
	d.words = d.words[:0]
	if d.round++; d.round == 0 {
		clear(d.table[:])
		d.round = 1
	}
}

// place returns where a word is among the words, adding it if it is new.
func (d *tileWords) place(w uint64) uint32 {
	slots := uint64(len(d.table))
	for at := w * 0x9e3779b97f4a7c15 >> 40 % slots; ; at = (at + 1) % slots {
		e := &d.table[at]
		if e.round != d.round {
			e.round, e.place = d.round, uint32(len(d.words))
			d.words = append(d.words, w)
			return e.place
		}
		if d.words[e.place] == w {
			return e.place
		}
	}
}

// pack writes numbers of some bits, at most 64, behind each other, from an offset on. They
// have no other bits. It returns the offset behind them, in whole bytes; up to seven bytes
// from there on are zero then.
func pack(b []byte, at int, numbers []uint64, width uint) int {
	if width == 0 {
		return at
	}
	if width > 56 {
		return packWide(b, at, numbers, width)
	}
	behind := at + packedBytes(len(numbers), width)
	held, have := uint64(0), uint(0) // what is not in whole bytes: below 8 bits
	// Each step waits for the one before, so narrow numbers are put together first.
	for width <= 14 && len(numbers) >= 4 {
		x := numbers[0] | numbers[1]<<(width&63) | (numbers[2]|numbers[3]<<(width&63))<<(2*width&63)
		numbers = numbers[4:]
		held |= x << (have & 7)
		binary.LittleEndian.PutUint64(b[at:], held)
		have += 4 * width
		at += int(have >> 3)
		held >>= have & 0x38
		have &= 7
	}
	for width <= 28 && len(numbers) >= 2 {
		x := numbers[0] | numbers[1]<<(width&63)
		numbers = numbers[2:]
		held |= x << (have & 7)
		binary.LittleEndian.PutUint64(b[at:], held)
		have += 2 * width
		at += int(have >> 3)
		held >>= have & 0x38
		have &= 7
	}
	for _, x := range numbers {
		held |= x << (have & 7)
		binary.LittleEndian.PutUint64(b[at:], held)
		have += width
		at += int(have >> 3)
		held >>= have & 0x38
		have &= 7
	}
	return behind
}

// packWide is pack for numbers that do not fit a word behind seven bits.
func packWide(b []byte, at int, numbers []uint64, width uint) int {
	held, have := uint64(0), uint(0)
	for _, x := range numbers {
		held |= x << have
		if have += width; have < 64 {
			continue
		}
		binary.LittleEndian.PutUint64(b[at:], held)
		at += 8
		have -= 64
		held = x >> (width - have) // a shift by 64 gives 0
	}
	for ; have > 0; have -= min(have, 8) {
		b[at] = byte(held)
		held >>= 8
		at++
	}
	return at
}
