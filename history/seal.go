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
	ends  []int64
	words []uint64
	slots []uint8 // and nullEntry
}

// part returns the entries [lo, hi).
func (r run) part(lo, hi int) run { return run{r.ends[lo:hi], r.words[lo:hi], r.slots[lo:hi]} }

// behind returns the entries from n on.
func (r run) behind(n int) run { return r.part(n, len(r.ends)) }

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
	ref := tileRef{in: c.last, at: uint32(c.used)}
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

// sealer makes tiles. Its slices are of one tile, in the order of slot, then end.
type sealer struct {
	flat  run // of a lane
	order []uint32
	ends  [maxTileEntries]int64
	words [maxTileEntries]uint64
	nulls [maxTileEntries]bool
	codes [maxTileEntries]uint64

	first [laneWidth + 1]int // entries of the slots before
	dict  tileWords
}

// cut returns how many of the entries, whose ends are in order, the next tile takes, 0 if
// they should wait for more. A tile ends where its span of time would need one more bit,
// and only where time advances.
func cut(ends []int64, all bool) int {
	for n := tileEntries / 2; n < len(ends); n++ {
		before, end := ends[n-1], ends[n]
		if end == before {
			continue
		}
		if n >= tileEntries || bits.Len64(uint64(end-ends[0])) > bits.Len64(uint64(before-ends[0])) {
			return n
		}
	}
	if all {
		return len(ends)
	}
	return 0
}

// flatten returns what a lane has not sealed in the order of the ends, until the next
// call.
func (s *sealer) flatten(work *laneWork) run {
	f := &s.flat
	f.ends, f.words, f.slots = f.ends[:0], f.words[:0], f.slots[:0]
	for left, i := work.entries.n, 0; left > 0; left, i = left-blockLen, i+1 {
		b, n := work.entries.blocks[i], min(left, blockLen)
		f.ends = append(f.ends, b.ends[:n]...)
		f.words = append(f.words, b.words[:n]...)
		f.slots = append(f.slots, b.slots[:n]...)
	}
	if work.mixed {
		s.sort()
	}
	return *f
}

// sort brings the flat entries into the order of the ends. Those of one slot are in order.
func (s *sealer) sort() {
	s.order = s.order[:0]
	for i := range s.flat.ends {
		s.order = append(s.order, uint32(i))
	}
	old := run{slices.Clone(s.flat.ends), slices.Clone(s.flat.words), slices.Clone(s.flat.slots)}
	slices.SortStableFunc(s.order, func(a, b uint32) int { return cmp.Compare(old.ends[a], old.ends[b]) })
	for i, from := range s.order {
		s.flat.ends[i], s.flat.words[i], s.flat.slots[i] = old.ends[from], old.words[from], old.slots[from]
	}
}

// tile writes a tile of entries in the order of their ends.
func (s *sealer) tile(to *chunks, entries run) tileRef {
	n := len(entries.ends)
	mask := s.bySlot(entries)
	last := entries.ends[n-1]
	width := uint(max(1, bits.Len64(uint64(last-entries.ends[0]))))
	low := uint(0)
	if width > 8 {
		low = width - 8
	}
	base := last - int64(ones(width))

	flags, code, words, least := s.encode(n)
	counts := bits.OnesCount64(mask)
	if s.isWide(mask) {
		flags |= tileWide
		counts *= 2
	}
	size := headerSize + counts + n + packedBytes(n, low) + packedBytes(len(s.dict.words), words) + packedBytes(n, code)
	b, ref := to.take(size)
	ref.last, ref.mask, ref.n = last, mask, uint32(n)

	b[headEnds], b[headFlags], b[headCode], b[headWord] = byte(width), flags, byte(code), byte(words)
	binary.LittleEndian.PutUint16(b[headWords:], uint16(len(s.dict.words)))
	binary.LittleEndian.PutUint64(b[headLeast:], least)
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
	out := packer{b: b, at: at + n}
	for i, end := range s.ends[:n] {
		x := uint64(end - base)
		b[at+i] = byte(x >> low)
		out.put(x&ones(low), low)
	}
	out.flush()
	for _, w := range s.dict.words {
		out.put(w-least, words)
	}
	out.flush()
	for _, c := range s.codes[:n] {
		out.put(c, code)
	}
	out.flush()
	return ref
}

// bySlot puts the entries into the sealer's slices, by slot, and returns the slots.
func (s *sealer) bySlot(entries run) (mask uint64) {
	var next [laneWidth]int
	for _, slot := range entries.slots {
		next[slot%laneWidth]++
	}
	n := 0
	for slot, count := range next {
		s.first[slot], next[slot] = n, n
		n += count
		if count > 0 {
			mask |= 1 << slot
		}
	}
	s.first[laneWidth] = n
	for i, slot := range entries.slots {
		at := next[slot%laneWidth]
		next[slot%laneWidth]++
		s.ends[at], s.words[at], s.nulls[at] = entries.ends[i], entries.words[i], slot&nullEntry != 0
	}
	return mask
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

// encode fills codes: words less the least, or places in a dictionary of the tile
// where that takes fewer bits. A null is code 0, and the others are one more.
func (s *sealer) encode(n int) (flags byte, code, words uint, least uint64) {
	least, most, values := s.bounds(n)
	s.dict.words = s.dict.words[:0]
	one := uint64(0)
	if values < n {
		flags, one = tileNulls, 1
	}
	if values == 0 {
		clear(s.codes[:n])
		return flags, 0, 0, 0
	}
	span := most - least
	plain := span + one
	code = uint(bits.Len64(plain))
	fits := plain >= span // else it takes 65 bits
	if code > 4 || !fits {
		words = uint(bits.Len64(span))
		if s.index(n, code, words, fits) {
			flags |= tileDict
			code = uint(bits.Len64(uint64(len(s.dict.words)) - 1 + one))
			return flags, code, words, least
		}
	}
	for i, w := range s.words[:n] {
		s.codes[i] = w - least + one
		if s.nulls[i] {
			s.codes[i] = 0
		}
	}
	return flags, code, 0, least
}

// bounds returns the least and the greatest word as signed numbers, and how many
// entries have one.
func (s *sealer) bounds(n int) (least, most uint64, values int) {
	lo, hi := int64(0), int64(0)
	for i, w := range s.words[:n] {
		if s.nulls[i] {
			continue
		}
		if v := int64(w); values == 0 {
			lo, hi = v, v
		} else {
			lo, hi = min(lo, v), max(hi, v)
		}
		values++
	}
	return uint64(lo), uint64(hi), values
}

// index makes a dictionary of the words and fills codes, if that is smaller than codes
// of the given width, or if those do not fit.
func (s *sealer) index(n int, code, words uint, fits bool) bool {
	d := &s.dict
	d.begin()
	one := uint64(0)
	if slices.Contains(s.nulls[:n], true) {
		one = 1
	}
	for i, w := range s.words[:n] {
		if s.nulls[i] {
			s.codes[i] = 0
			continue
		}
		s.codes[i] = uint64(d.place(w)) + one
		if fits && len(d.words)*int(words) > n*int(code) {
			d.words = d.words[:0]
			return false
		}
	}
	width := bits.Len64(uint64(len(d.words)) - 1 + one)
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

// packer writes numbers of some bits behind each other.
type packer struct {
	b    []byte
	at   int
	held uint64
	bits uint
}

// put appends a number of width bits, at most 64; it has no others.
func (p *packer) put(x uint64, width uint) {
	p.held |= x << p.bits
	p.bits += width
	if p.bits < 64 {
		return
	}
	binary.LittleEndian.PutUint64(p.b[p.at:], p.held)
	p.at += 8
	p.bits -= 64
	p.held = x >> (width - p.bits) // a shift by 64 gives 0
}

// flush writes what is left, in whole bytes.
func (p *packer) flush() {
	for n := uint(0); n < p.bits; n += 8 {
		p.b[p.at] = byte(p.held >> n)
		p.at++
	}
	p.held, p.bits = 0, 0
}
