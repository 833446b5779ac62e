package encoding

import (
	"encoding/binary"
	"math/bits"
)

// packed is n words in the fewest bits that distinguish them. Each word is stored as its distance from the
// smallest, divided by the greatest common divisor of all distances (frame of reference). Distances wrap
// modulo 2^64, therefore one form serves signed and unsigned words.
type packed struct {
	bits  []uint64 // end to end, with one more word so that reading needs no bounds check
	min   uint64
	scale uint64 // 0 means 1
	n     uint32
	width uint8
}

// pack encodes words. It reads them three times and allocates once, or not at all if all words are equal.
func pack(words []uint64) packed {
	p := planOf(words)
	p.fill(make([]uint64, p.need()), words)
	return p
}

// planOf returns the packed form of words without the bits.
func planOf(words []uint64) packed {
	if len(words) == 0 {
		return packed{}
	}
	low, span := frame(words)
	p := packed{min: low, n: uint32(len(words))}
	if span == 0 {
		return p
	}
	if g := divisor(words, low); g > 1 {
		p.scale = g
		span /= g
	}
	p.width = uint8(bits.Len64(span))
	return p
}

// need returns the length of the bits in words.
func (p *packed) need() int {
	if p.width == 0 {
		return 0
	}
	return packedLen(int(p.n), int(p.width)) + 1
}

// packedLen returns the number of 64-bit words that n width-bit words take.
func packedLen(n, width int) int { return (n*width + 63) / 64 }

// fill sets the bits in dst, which must have the needed length and is kept.
func (p *packed) fill(dst, words []uint64) {
	if p.width == 0 {
		return
	}
	p.bits = dst[:p.need():p.need()]
	d := divide(p.scale)
	low, width := p.min, uint(p.width)
	var acc uint64
	var used uint
	out := 0
	if two := 2 * width; two <= 64 { // two at a time, for half as many checks for the end of a word
		for ; len(words) >= 2; words = words[2:] {
			v := d.exact(words[0]-low) | d.exact(words[1]-low)<<(width&63)
			acc |= v << (used & 63)
			if used += two; used >= 64 {
				dst[out] = acc
				out++
				used -= 64
				acc = v >> (two - used) // shifts of 64 bits or more yield 0
			}
		}
	}
	for _, w := range words {
		v := d.exact(w - low)
		acc |= v << (used & 63)
		if used += width; used >= 64 {
			dst[out] = acc
			out++
			used -= 64
			acc = v >> (width - used)
		}
	}
	dst[out] = acc
}

// frame returns the reference and the greatest distance from it, in the signed or the unsigned view,
// whichever has the smaller span.
func frame(words []uint64) (low, span uint64) {
	lowU, highU := words[0], words[0]
	rest := words
	for ; len(rest) >= 4; rest = rest[4:] { // four at a time, so that no comparison waits for the previous one
		a, b, c, d := rest[0], rest[1], rest[2], rest[3]
		lowU, highU = min(lowU, min(min(a, b), min(c, d))), max(highU, max(max(a, b), max(c, d)))
	}
	for _, w := range rest {
		lowU, highU = min(lowU, w), max(highU, w)
	}
	if highU>>63 == lowU>>63 { // one sign: both views are equal
		return lowU, highU - lowU
	}
	lowS, highS := int64(words[0]), int64(words[0])
	for _, w := range words {
		lowS, highS = min(lowS, int64(w)), max(highS, int64(w))
	}
	if spanS := uint64(highS) - uint64(lowS); spanS < highU-lowU {
		return uint64(lowS), spanS
	}
	return lowU, highU - lowU
}

// divisor returns the greatest common divisor of the distances from low, at least one of which is not 0. It
// is usually 1, which a few words already show.
func divisor(words []uint64, low uint64) uint64 {
	g, d := uint64(0), exactly{inverse: 1} // the divisor so far; 0 is a multiple of every number
	for _, w := range words {
		v := w - low
		if d.divides(v) {
			continue
		}
		for v != 0 {
			g, v = v, g%v
		}
		if g == 1 {
			return 1
		}
		d = divide(g)
	}
	return g
}

// exactly divides multiples of a number by it with one multiplication, by the inverse of its odd part
// modulo 2^64.
type exactly struct {
	inverse uint64
	twos    uint
	most    uint64 // number of multiples of the number in 64 bits
}

func divide(by uint64) exactly {
	if by <= 1 {
		return exactly{inverse: 1, most: ^uint64(0)}
	}
	twos := uint(bits.TrailingZeros64(by))
	odd := by >> twos
	inverse := odd // right in the lowest 3 bits; each step doubles them
	for range 5 {
		inverse *= 2 - odd*inverse
	}
	return exactly{inverse, twos, ^uint64(0) / by}
}

// divides reports whether v is a multiple. Multiplication by the inverse permutes the words and maps the
// multiples to the words up to most, because both are equally many. A missing factor of two rotates a bit
// to the top.
func (d exactly) divides(v uint64) bool {
	return bits.RotateLeft64(v*d.inverse, -int(d.twos)) <= d.most
}

func (d exactly) exact(v uint64) uint64 { return v >> (d.twos & 63) * d.inverse }

// unscaled returns word i as it was packed, in O(1).
func (p *packed) unscaled(i int) uint64 {
	bit := i * int(p.width)
	word, shift := bit>>6, uint(bit&63)
	return (p.bits[word]>>shift | p.bits[word+1]<<(64-shift)) & (^uint64(0) >> (64 - p.width))
}

// at returns word i in O(1).
func (p *packed) at(i int) uint64 {
	if p.width == 0 {
		return p.min
	}
	return p.min + p.unscaled(i)*max(p.scale, 1)
}

// appendTo appends the words [lo, hi) to dst.
func (p *packed) appendTo(dst []uint64, lo, hi int) []uint64 {
	if p.width == 0 {
		for range hi - lo {
			dst = append(dst, p.min)
		}
		return dst
	}
	start := len(dst)
	dst = grown(dst, hi-lo)
	unpack(dst[start:], p.bits, lo*int(p.width), uint(p.width))
	low, scale := p.min, max(p.scale, 1)
	for i, v := range dst[start:] {
		dst[start+i] = low + v*scale
	}
	return dst
}

// grown returns a slice with n more elements, which are not initialized.
func grown(s []uint64, n int) []uint64 {
	if len(s)+n <= cap(s) {
		return s[:len(s)+n]
	}
	return append(s, make([]uint64, n)...)
}

// unpack reads width-bit words from an offset in src, which has one more word after the last. A word up to 57
// bits wide lies within eight bytes from some byte on, therefore one load reads it, and eight w-bit words are
// w bytes. This takes half the time of joining two words. Narrow words, the usual case, are read four or
// eight per load, in half the time again.
func unpack(dst, src []uint64, bit int, width uint) {
	if width > 57 || !littleEndian {
		unpackWide(dst, src, bit, width)
		return
	}
	b := wordBytes(src)[bit>>3:]
	at := uint(bit & 7)
	var done int
	switch {
	case width <= 7: // up to 7 bits before them, and eight words
		done = unpackEights(dst, b, at, width)
	case width <= 14:
		done = unpackFours(dst, b, at, width)
	}
	dst, b = dst[done:], b[done/8*int(width):]
	unpackEach(dst, b, at, width)
}

// unpackEights reads words up to 7 bits wide, eight per load, from bit `at` of b on. It returns the number of
// words that it read, which is all except the last few.
func unpackEights(dst []uint64, b []byte, at, width uint) int {
	mask := ^uint64(0) >> (64 - width)
	w, n := width&7, len(dst)&^7
	for ; len(dst) >= 8; dst, b = dst[8:], b[width:] {
		d := dst[:8:8]
		v := binary.LittleEndian.Uint64(b) >> (at & 7)
		d[0] = v & mask
		v >>= w
		d[1] = v & mask
		v >>= w
		d[2] = v & mask
		v >>= w
		d[3] = v & mask
		v >>= w
		d[4] = v & mask
		v >>= w
		d[5] = v & mask
		v >>= w
		d[6] = v & mask
		v >>= w
		d[7] = v & mask
	}
	return n
}

// unpackFours is unpackEights for words up to 14 bits wide, four per load.
func unpackFours(dst []uint64, b []byte, at, width uint) int {
	mask := ^uint64(0) >> (64 - width)
	w, n := width&15, len(dst)&^7
	second := at + 4*width
	for ; len(dst) >= 8; dst, b = dst[8:], b[width:] {
		d := dst[:8:8]
		v := binary.LittleEndian.Uint64(b) >> (at & 7)
		u := binary.LittleEndian.Uint64(b[second>>3:]) >> (second & 7)
		d[0], d[4] = v&mask, u&mask
		v, u = v>>w, u>>w
		d[1], d[5] = v&mask, u&mask
		v, u = v>>w, u>>w
		d[2], d[6] = v&mask, u&mask
		v, u = v>>w, u>>w
		d[3], d[7] = v&mask, u&mask
	}
	return n
}

// unpackEach reads words up to 57 bits wide, one per load.
func unpackEach(dst []uint64, b []byte, bit, width uint) {
	mask := ^uint64(0) >> (64 - width)
	for ; len(dst) >= 8; dst, b = dst[8:], b[width:] {
		d, at := dst[:8:8], bit
		d[0] = binary.LittleEndian.Uint64(b) >> at & mask
		at += width
		d[1] = binary.LittleEndian.Uint64(b[at>>3:]) >> (at & 7) & mask
		at += width
		d[2] = binary.LittleEndian.Uint64(b[at>>3:]) >> (at & 7) & mask
		at += width
		d[3] = binary.LittleEndian.Uint64(b[at>>3:]) >> (at & 7) & mask
		at += width
		d[4] = binary.LittleEndian.Uint64(b[at>>3:]) >> (at & 7) & mask
		at += width
		d[5] = binary.LittleEndian.Uint64(b[at>>3:]) >> (at & 7) & mask
		at += width
		d[6] = binary.LittleEndian.Uint64(b[at>>3:]) >> (at & 7) & mask
		at += width
		d[7] = binary.LittleEndian.Uint64(b[at>>3:]) >> (at & 7) & mask
	}
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & mask
		bit += width
	}
}

// unpackWide is unpack for any width and byte order.
func unpackWide(dst, src []uint64, bit int, width uint) {
	mask := ^uint64(0) >> (64 - width)
	for i := range dst {
		word, shift := bit>>6, uint(bit&63)
		dst[i] = (src[word]>>shift | src[word+1]<<(64-shift)) & mask
		bit += int(width)
	}
}

func (p *packed) size() int { return 8 * cap(p.bits) }
