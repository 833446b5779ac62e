package history

import (
	"encoding/binary"
	"math/bits"
)

// chunk is memory for tiles. Tiles are written once, behind each other, and never
// straddle chunks.
type chunk [chunkBytes]byte

const (
	chunkBytes = 64 << 10
	// tileSlack is bytes behind each tile that are never written: readers load eight
	// bytes at a time, and of those only the first may be the tile's.
	tileSlack = 8
)

// tileRef is the directory's entry of a tile: 32 bytes.
type tileRef struct {
	last int64  // latest end in the tile
	mask uint64 // the slots that have an end in it
	in   *chunk
	at   uint32
	n    uint32 // entries
}

// Offsets of a tile's header, little endian.
const (
	headEnds   = 0 // u8: bits of an end, from 1
	headFlags  = 1 // u8
	headCode   = 2 // u8: bits of a value's code
	headWord   = 3 // u8: bits of a word of the dictionary
	headWords  = 4 // u16: words in the dictionary
	headLeast  = 8 // u64: the least word
	headerSize = 16
)

// Flags of a header.
const (
	tileNulls = 1 << iota // code 0 is null, the others are one more
	tileDict              // codes are of the tile's dictionary
	tileWide              // counts are of two bytes
)

// tile is a tile opened for reading. Entries are in the order of slot, then end.
type tile struct {
	b      []byte // from the header to the end of the chunk
	mask   uint64
	base   int64  // ends are relative to it; it may be before all of int64, around its corner
	span   uint64 // greatest number that an end can be
	n      int
	low    uint // bits of an end below its high byte
	wide   bool
	high   int // offset of the high bytes
	lows   int // offset of the low bits
	values int // offset of the dictionary, or of the codes
}

// open reads the header.
func (r *tileRef) open() (t tile) {
	t.b = r.in[r.at:]
	t.mask = r.mask
	t.n = int(r.n)
	width := uint(t.b[headEnds])
	t.span = ones(width)
	t.base = r.last - int64(t.span)
	t.high = headerSize + bits.OnesCount64(r.mask)
	if t.b[headFlags]&tileWide != 0 {
		t.wide = true
		t.high += bits.OnesCount64(r.mask)
	}
	if width > 8 {
		t.low = width - 8
	}
	t.lows = t.high + t.n
	t.values = t.lows + packedBytes(t.n, t.low)
	return t
}

// ones returns a number of width bits, all set.
func ones(width uint) uint64 { return 1<<width - 1 } // a shift by 64 gives 0

// packedBytes returns the bytes of n numbers of width bits.
func packedBytes(n int, width uint) int { return (n*int(width) + 7) / 8 }

// unpack returns number i of those of width bits, at most 56, at an offset.
func unpack(b []byte, at, i int, width uint) uint64 {
	bit := i * int(width)
	return binary.LittleEndian.Uint64(b[at+bit>>3:]) >> (bit & 7) & ones(width)
}

// unpackWide is unpack for any width.
func unpackWide(b []byte, at, i int, width uint) uint64 {
	if width <= 56 {
		return unpack(b, at, i, width)
	}
	bit := i * int(width)
	b = b[at+bit>>3:]
	shift := uint(bit & 7)
	x := binary.LittleEndian.Uint64(b) >> shift
	if shift+width > 64 {
		x |= uint64(b[8]) << (64 - shift)
	}
	return x & ones(width)
}

// count returns how many entries the slot of a rank has.
func (t *tile) count(rank int) int {
	if t.wide {
		return int(binary.LittleEndian.Uint16(t.b[headerSize+2*rank:]))
	}
	return int(t.b[headerSize+rank])
}

// slot returns the entries [lo, hi) of a slot that the tile has.
func (t *tile) slot(slot uint) (lo, hi int) {
	rank := bits.OnesCount64(t.mask & (1<<slot - 1))
	if t.wide {
		for r := range rank {
			lo += t.count(r)
		}
	} else {
		r := headerSize
		for ; rank >= 8; rank -= 8 {
			lo += sumBytes(binary.LittleEndian.Uint64(t.b[r:]))
			r += 8
		}
		lo += sumBytes(binary.LittleEndian.Uint64(t.b[r:]) & ones(8*uint(rank)))
		return lo, lo + int(t.b[r+rank])
	}
	return lo, lo + t.count(rank)
}

// sumBytes returns the sum of eight bytes.
func sumBytes(x uint64) int {
	const even = 0x00ff00ff00ff00ff
	return int((x&even + x>>8&even) * 0x0001000100010001 >> 48)
}

// ordinal returns the end of an entry as it is kept: from the base.
func (t *tile) ordinal(i int) uint64 {
	x := uint64(t.b[t.high+i])
	if t.low > 0 {
		x = x<<t.low | unpack(t.b, t.lows, i, t.low)
	}
	return x
}

// end returns the end of an entry.
func (t *tile) end(i int) int64 { return t.base + int64(t.ordinal(i)) }

// search returns the first of the entries [lo, hi), of one slot, that ends at or
// after a time; hi if none does.
func (t *tile) search(lo, hi int, at int64) int {
	x := uint64(at - t.base)
	if x > t.span {
		return lo // it is before the base: the caller asks for none after the last
	}
	if hi-lo > 32 {
		for lo < hi {
			mid := int(uint(lo+hi) >> 1)
			if t.ordinal(mid) < x {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		return lo
	}
	xh := x >> t.low
	lo = t.searchHigh(lo, hi, byte(xh))
	if t.low == 0 {
		return lo
	}
	x &= ones(t.low)
	for lo < hi && uint64(t.b[t.high+lo]) == xh && unpack(t.b, t.lows, lo, t.low) < x {
		lo++
	}
	return lo
}

// searchHigh returns the first of the entries [lo, hi) whose high byte is at least y:
// eight at a time, each compared in its own byte of a word.
func (t *tile) searchHigh(lo, hi int, y byte) int {
	const tops = 0x8080808080808080
	ys := uint64(y) * 0x0101010101010101
	for ; lo < hi; lo += 8 {
		x := binary.LittleEndian.Uint64(t.b[t.high+lo:])
		// The top bit of each byte: without borrows from its neighbours, x >= y.
		d := (x | tops) - (ys &^ tops)
		if ge := (x&^ys | ^(x^ys)&d) & tops; ge != 0 {
			return min(hi, lo+bits.TrailingZeros64(ge)>>3)
		}
	}
	return hi
}

// value returns the word of an entry, or null.
func (t *tile) value(i int) (word uint64, null bool) {
	flags := t.b[headFlags]
	width := uint(t.b[headCode])
	least := binary.LittleEndian.Uint64(t.b[headLeast:])
	if flags == 0 {
		return least + unpackWide(t.b, t.values, i, width), false
	}
	codes := t.values
	words := uint(t.b[headWord])
	if flags&tileDict != 0 {
		codes += packedBytes(int(binary.LittleEndian.Uint16(t.b[headWords:])), words)
	}
	code := unpackWide(t.b, codes, i, width)
	if flags&tileNulls != 0 {
		if code == 0 {
			return 0, true
		}
		code--
	}
	if flags&tileDict != 0 {
		code = unpackWide(t.b, t.values, int(code), words)
	}
	return least + code, false
}
