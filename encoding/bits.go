package encoding

import (
	"bytes"
	"encoding/binary"
)

// Bits sets a bit of dst for each row in [lo, hi), from the lowest bit of dst[0] on: a row's bit is of[word],
// which is 0 or 1. Every word must be an index of `of`. dst must have room for all bits; the bits after the
// last row in its last word become 0. Bits panics unless 0 <= lo <= hi <= Len. It allocates no more than
// Append does, and 1 KiB for the sparse and lookup layouts.
//
// Sliced words up to 11 bits wide cost 0.3 to 0.8 ns per row if `of` selects up to four ranges, as it does
// for ordinals of times in order. Words packed end to end cost 0.8 to 1.5 ns if `of` selects one range, or
// two ranges and words are up to 7 bits wide. All other words cost 2 ns.
func (w *Words) Bits(dst []uint64, lo, hi int, of []byte) {
	if lo < 0 || lo > hi || hi > int(w.n) {
		panic("encoding: rows out of range")
	}
	out := bitWriter{dst: dst[:(hi-lo+63)/64], of: of}
	clear(out.dst)
	switch {
	case w.form == nil:
		w.packed.bitsTo(&out, lo, hi)
	case w.layout == layoutRuns:
		w.form.runs.bitsTo(&out, lo, hi)
	case w.form.blocks != nil:
		w.form.blocks.bitsTo(&out, lo, hi)
	default:
		var buf [blockLen]uint64
		for ; lo < hi; lo += blockLen {
			out.words(w.Append(buf[:0], lo, min(lo+blockLen, hi)))
		}
	}
}

// bitWriter sets the rows' bits in order.
type bitWriter struct {
	dst []uint64 // 0 from bit n on
	n   int      // rows written
	of  []byte
}

// put sets the bits of up to 64 rows; the bits above them are 0.
func (o *bitWriter) put(bits uint64, rows int) {
	at, shift := o.n/64, uint(o.n%64)
	o.dst[at] |= bits << shift
	if int(shift)+rows > 64 {
		o.dst[at+1] |= bits >> (64 - shift)
	}
	o.n += rows
}

// fill sets the bits of `rows` rows to the same bit.
func (o *bitWriter) fill(bit byte, rows int) {
	for ; rows > 0; rows -= 64 {
		n := min(rows, 64)
		o.put(-uint64(bit)>>(64-n), n)
	}
}

// words sets the bits of rows by their words.
func (o *bitWriter) words(words []uint64) {
	for len(words) > 0 {
		n := min(len(words), 64)
		o.put(o.bitsOf(words[:n]), n)
		words = words[n:]
	}
}

// bitsOf returns the bits of up to 64 words.
func (o *bitWriter) bitsOf(words []uint64) (bits uint64) {
	bit := func(word uint64) uint64 { return uint64(o.of[word]) }
	at := 0
	for ; len(words) >= 8; words, at = words[8:], at+8 { // no operation waits for the previous one
		w := words[:8:8]
		low := bit(w[0]) | bit(w[1])<<1 | bit(w[2])<<2 | bit(w[3])<<3
		high := bit(w[4]) | bit(w[5])<<1 | bit(w[6])<<2 | bit(w[7])<<3
		bits |= (low | high<<4) << (at & 63)
	}
	for i, word := range words {
		bits |= bit(word) << ((at + i) & 63)
	}
	return bits
}

func (p *packed) bitsTo(o *bitWriter, lo, hi int) {
	if p.width == 0 {
		if lo < hi {
			o.fill(o.of[p.min], hi-lo)
		}
		return
	}
	var yes wordRanges
	if p.scale <= 1 {
		yes.find(o.of, p.min, uint(p.width), false)
	}
	if !yes.found {
		var buf [blockLen]uint64
		for ; lo < hi; lo += blockLen {
			o.words(p.appendTo(buf[:0], lo, min(lo+blockLen, hi)))
		}
		return
	}
	for ; lo < hi; lo += 64 {
		rows := min(hi-lo, 64)
		o.put(yes.bits(p.bits, lo*int(p.width), rows), rows)
	}
}

func (r *runs) bitsTo(o *bitWriter, lo, hi int) {
	if lo >= hi {
		return
	}
	var buf [blockLen]uint64
	for run := r.find(lo); lo < hi; {
		for _, value := range r.values.appendFlat(buf[:0], run, min(run+blockLen, int(r.ends.n))) {
			end := min(int(r.ends.at(run)), hi)
			if lo < end {
				o.fill(o.of[value], end-lo)
				lo = end
			}
			run++
		}
	}
}

func (b *blocks) bitsTo(o *bitWriter, lo, hi int) {
	var buf [blockLen]uint64
	var yes wordRanges
	for lo < hi {
		i, skip := lo/blockLen, lo%blockLen
		rows := min(blockLen-skip, hi-lo)
		if two, ok := b.bitsOf(o.of, i, &yes); ok {
			for left := rows; left > 0; {
				n := min(64-skip%64, left)
				o.put(two[skip/64]>>(skip%64)&(^uint64(0)>>(64-n)), n)
				skip, left = skip+n, left-n
			}
		} else {
			o.words(b.read(buf[:], i)[skip : skip+rows])
		}
		lo += rows
	}
}

// bitsOf returns block i's bits; ok is false if its words have to be read. yes holds the ranges of the
// previous block, which are reused if the block has the same window, as most have.
func (b *blocks) bitsOf(of []byte, i int, yes *wordRanges) (two [2]uint64, ok bool) {
	if !b.order.isWords() || b.scale != 1 {
		return two, false
	}
	width, base := uint(b.widths.at(i)), b.low+b.bases.at(i)
	if !yes.looked || base != yes.base || width != yes.width {
		yes.find(of, base, width, b.order == sliced)
	}
	if !yes.found {
		return two, false
	}
	n := min(blockLen, b.n-i*blockLen)
	src := b.bits[b.starts.at(i):]
	two[0] = yes.bits(src, 0, min(n, 64))
	if n > 64 {
		two[1] = yes.bits(src, 64*int(width), n-64)
	}
	packed, end := b.order.bitsLen(n, int(width)), int(b.starts.at(i+1)-b.starts.at(i))
	for _, both := range src[packed:end] {
		for ; both>>placeBits != 0; both >>= 32 { // the last word may hold only one exception (see blocks)
			place, high := both&(blockLen-1), both<<32>>32>>placeBits
			bit := uint64(of[base+(b.order.get(src, int(place), width)|high<<width)])
			two[place/64] = two[place/64]&^(1<<(place%64)) | bit<<(place%64)
		}
	}
	return two, true
}

// get returns the packed bits of word i in a block, without its exception.
func (o order) get(src []uint64, i int, width uint) uint64 {
	if o == sliced {
		return slicedAt(src, i, width)
	}
	return get64(src, i*int(width), width)
}

// get64 returns the `width` bits at offset bit. src has one more word after them.
func get64(src []uint64, bit int, width uint) uint64 {
	if width == 0 {
		return 0
	}
	word, shift := bit>>6, uint(bit&63)
	return (src[word]>>shift | src[word+1]<<(64-shift)) & (^uint64(0) >> (64 - width))
}

// wordRanges is a set of ranges of words within a block's window. Words are compared with it while they are
// packed: sliced words 64 at once, words packed end to end eight or four at once. Words packed end to end are
// spread to lanes of 8 or 16 bits with the highest bit free. That bit is set in one lane before another lane
// is subtracted: it stays set if the first lane is not less than the second, and no lane borrows from its
// neighbour.
type wordRanges struct {
	base     uint64 // first word of the window
	width    uint
	sliced   bool // layout of the words
	looked   bool // find has run; all fields are zero before it
	found    bool // false: too many ranges, or words too wide
	n        int
	from, to [slicedMost]uint64 // one word per lane; both ends are inclusive
}

const (
	narrowBits = 7 // the widest words that fit lanes of 8 bits
	// rangeBits is the greatest width of words that are compared. Lanes of 16 bits hold up to 14 bits, four
	// words per load, but finding ranges in so wide a window takes as long as looking up the words.
	rangeBits = 11
	// Greatest numbers of ranges for which comparing is faster than looking up the words, for words up to
	// narrowBits wide and for wider words. The number is small because each range spreads the words out
	// again.
	narrowMost = 2
	wideMost   = 1
	slicedMost = 4 // for sliced words
	lanes8     = 0x0101010101010101
	lanes16    = 0x0001000100010001
)

// find collects the ranges of words that `of` accepts, in the width-bit window from base on.
func (r *wordRanges) find(of []byte, base uint64, width uint, isSliced bool) {
	r.base, r.width, r.sliced, r.looked, r.found, r.n = base, width, isSliced, true, false, 0
	if width > rangeBits || !isSliced && !littleEndian {
		return
	}
	of = of[base:min(uint64(len(of)), base+1<<width)]
	lanes, most := uint64(lanes8), narrowMost
	switch {
	case isSliced:
		lanes, most = 1, slicedMost
	case width > narrowBits:
		lanes, most = lanes16, wideMost
	}
	for at := 0; ; r.n++ {
		skip := bytes.IndexByte(of[at:], 1)
		if skip < 0 {
			r.found = true
			return
		}
		if r.n == most {
			return
		}
		at += skip
		r.from[r.n] = uint64(at) * lanes
		if skip = bytes.IndexByte(of[at:], 0); skip < 0 {
			skip = len(of) - at
		}
		at += skip
		r.to[r.n] = uint64(at-1) * lanes
	}
}

// bits returns the bits of up to 64 words at offset bit in src.
func (r *wordRanges) bits(src []uint64, bit, rows int) (bits uint64) {
	for i := range r.n {
		switch {
		case r.width == 0: // base itself, which is in range
			bits = ^uint64(0)
		case r.sliced:
			bits |= slicedInRange(src[bit/64:bit/64+int(r.width)], r.from[i], r.to[i])
		case r.width <= narrowBits:
			bits |= inRange8(wordBytes(src), uint(bit), r.width, rows, r.from[i], r.to[i])
		default:
			bits |= inRange16(wordBytes(src), uint(bit), r.width, rows, r.from[i], r.to[i])
		}
	}
	return bits & (^uint64(0) >> (64 - rows))
}

// inRange8 compares words up to 7 bits wide, eight per load.
func inRange8(b []byte, bit, width uint, rows int, from, to uint64) (bits uint64) {
	const high = 0x80 * lanes8
	half := ^uint64(0) >> (64 - 4*width)
	quarters := (^uint64(0) >> (64 - 2*width)) * (1<<32 + 1)
	eighths := (^uint64(0) >> (64 - width)) * lanes16
	to |= high
	for at := 0; at < rows; at += 8 {
		v := binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7)
		bit += 8 * width
		v = v&half | v>>(4*width&63)&half<<32
		v = v&quarters | v>>(2*width&63)&quarters<<16
		v = v&eighths | v>>(width&63)&eighths<<8
		bits |= ((v | high - from) & (to - v) & high >> 7 * 0x0102040810204080) >> 56 << (at & 63)
	}
	return bits
}

// inRange16 compares words up to 14 bits wide, four per load.
func inRange16(b []byte, bit, width uint, rows int, from, to uint64) (bits uint64) {
	const high = 0x8000 * lanes16
	half := ^uint64(0) >> (64 - 2*width)
	quarters := (^uint64(0) >> (64 - width)) * (1<<32 + 1)
	to |= high
	for at := 0; at < rows; at += 4 {
		v := binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7)
		bit += 4 * width
		v = v&half | v>>(2*width&63)&half<<32
		v = v&quarters | v>>(width&63)&quarters<<16
		bits |= ((v | high - from) & (to - v) & high >> 15 * 0x0001000200040008) >> 48 & 15 << (at & 63)
	}
	return bits
}
