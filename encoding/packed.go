package encoding

import "math/bits"

// packed is n words in the fewest bits that hold their distance from the
// smallest of them (frame of reference). Distances wrap modulo 2^64, so one
// form serves signed and unsigned words.
type packed struct {
	bits  []uint64
	min   uint64
	n     int
	width uint8
}

// pack encodes words. It reads them twice and allocates once, or not at all
// when all words are equal.
func pack(words []uint64) packed {
	if len(words) == 0 {
		return packed{}
	}
	low, span := frame(words)
	p := packed{min: low, n: len(words), width: uint8(bits.Len64(span))}
	if p.width == 0 {
		return p
	}
	p.bits = make([]uint64, (p.n*int(p.width)+63)/64)
	for i, w := range words {
		p.put(i, w-low)
	}
	return p
}

// frame returns the reference and the largest distance from it: of the signed
// and the unsigned view, the one with the smaller span.
func frame(words []uint64) (low, span uint64) {
	lowU, highU := words[0], words[0]
	lowS, highS := int64(words[0]), int64(words[0])
	for _, w := range words {
		lowU, highU = min(lowU, w), max(highU, w)
		lowS, highS = min(lowS, int64(w)), max(highS, int64(w))
	}
	if spanS := uint64(highS) - uint64(lowS); spanS < highU-lowU {
		return uint64(lowS), spanS
	}
	return lowU, highU - lowU
}

func (p *packed) put(i int, distance uint64) {
	bit := i * int(p.width)
	word, shift := bit>>6, uint(bit&63)
	p.bits[word] |= distance << shift
	if shift+uint(p.width) > 64 {
		p.bits[word+1] |= distance >> (64 - shift)
	}
}

// at returns word i in O(1).
func (p *packed) at(i int) uint64 {
	if p.width == 0 {
		return p.min
	}
	bit := i * int(p.width)
	word, shift := bit>>6, uint(bit&63)
	v := p.bits[word] >> shift
	if shift+uint(p.width) > 64 {
		v |= p.bits[word+1] << (64 - shift)
	}
	return p.min + v&(^uint64(0)>>(64-p.width))
}

func (p *packed) size() int { return 8 * len(p.bits) }
