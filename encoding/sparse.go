package encoding

import (
	"math/bits"
	"slices"
)

// rankEvery is the number of bits in a bitmap that share a rank.
const rankEvery = 512

// sparse is words that are mostly 0: the nonzero words, and a bitmap of their places.
//
//	bitmap  1 bit per word, 1 where it is kept
//	ranks   every 512 bits, how many words are kept before them
//	kept    the nonzero words
type sparse struct {
	bitmap []uint64
	ranks  []uint32
	kept   Words // flat
}

func sparseOf(words []uint64) *sparse {
	s := &sparse{
		bitmap: make([]uint64, (len(words)+63)/64),
		ranks:  make([]uint32, 0, (len(words)+rankEvery-1)/rankEvery),
	}
	d := takeDraft()
	defer d.done()
	kept := d.values[:0]
	for i, w := range words {
		if i%rankEvery == 0 {
			s.ranks = append(s.ranks, uint32(len(kept)))
		}
		if w != 0 {
			s.bitmap[i/64] |= 1 << (i % 64)
			kept = append(kept, w)
		}
	}
	s.kept, d.values = inBlocks(kept), kept
	return s
}

// rank returns the number of kept words before word i.
func (s *sparse) rank(i int) int {
	n := int(s.ranks[i/rankEvery])
	for k := i / rankEvery * (rankEvery / 64); k < i/64; k++ {
		n += bits.OnesCount64(s.bitmap[k])
	}
	return n + bits.OnesCount64(s.bitmap[i/64]&(1<<(i%64)-1))
}

func (s *sparse) at(i int) uint64 {
	if s.bitmap[i/64]>>(i%64)&1 == 0 {
		return 0
	}
	return s.kept.At(s.rank(i))
}

func (s *sparse) appendTo(dst []uint64, lo, hi int) []uint64 {
	if lo >= hi {
		return dst
	}
	var buf [blockLen]uint64
	from := s.rank(lo)
	left := buf[:0]
	for i := lo; i < hi; i++ {
		if s.bitmap[i/64]>>(i%64)&1 == 0 {
			dst = append(dst, 0)
			continue
		}
		if len(left) == 0 {
			left = s.kept.appendFlat(buf[:0], from, min(from+blockLen, s.kept.Len()))
			from += len(left)
		}
		dst, left = append(dst, left[0]), left[1:]
	}
	return dst
}

// rows replaces indexes of kept words, in order, with their rows.
func (s *sparse) rows(kept []int32) {
	at, before := 0, 0 // index of a bitmap word, and the number of kept words before it
	for i, k := range kept {
		if block := max(at*64/rankEvery, s.block(k)); block*rankEvery/64 > at {
			at, before = block*rankEvery/64, int(s.ranks[block])
		}
		n := bits.OnesCount64(s.bitmap[at])
		for ; before+n <= int(k); n = bits.OnesCount64(s.bitmap[at]) {
			before += n
			at++
		}
		word := s.bitmap[at]
		for range int(k) - before {
			word &= word - 1
		}
		kept[i] = int32(64*at + bits.TrailingZeros64(word))
	}
}

// block returns the index of the rank whose bits include kept word k.
func (s *sparse) block(k int32) int {
	next, _ := slices.BinarySearch(s.ranks, uint32(k)+1)
	return next - 1
}

func (s *sparse) size() int {
	const self = 112
	return self + 8*cap(s.bitmap) + 4*cap(s.ranks) + s.kept.Size()
}
