package history

import (
	"encoding/binary"
	"math/bits"
)

// tileEntries is the number of entries at which a tile ends. The entries that end with its
// last are in it too, one a slot at most.
const (
	tileEntries    = 512
	maxTileEntries = tileEntries + laneWidth
)

// tileRef is the directory's entry of a tile: 32 bytes. It has the layout, so that a query
// loads the parts of the tile at once, without waiting for its header.
type tileRef struct {
	last int64  // latest end in the tile
	mask uint64 // the slots that have an end in it
	in   *chunk
	at   uint16
	n    uint16 // entries
	layout
}

// layout is the widths of a tile's numbers in bits, and flags.
type layout struct {
	ends  uint8 // of an end, from 1
	code  uint8 // of a value's code
	word  uint8 // of a word of the dictionary
	flags uint8
}

// Offsets of a tile's header, little endian.
const (
	headLeast  = 0 // u64: the least word
	headWords  = 8 // u16: words in the dictionary
	headerSize = 10
)

// Flags of a layout.
const (
	tileNulls = 1 << iota // code 0 is null, the others are one more
	tileDict              // codes are of the tile's dictionary
	tileWide              // counts are of two bytes
)

// tile is a tile opened for reading. Entries are in the order of slot, then end. Offsets
// are from the beginning of the chunk.
type tile struct {
	in     *chunk
	mask   uint64
	base   int64  // ends are relative to it; it may be before all of int64, around its corner
	span   uint64 // greatest number that an end can be
	n      int
	low    uint   // bits of an end below its high byte
	lowest uint64 // the mask of low bits
	layout
	head   int // the header
	high   int // the high bytes
	lows   int // the low bits
	values int // the dictionary, or the codes
}

// open finds the offsets of the parts without a look at the tile. It writes in place, as a
// returned struct would be copied: see View.at for the cost.
func (t *tile) open(r *tileRef) {
	t.in, t.head = r.in, int(r.at)
	t.mask = r.mask
	t.n = int(r.n)
	t.layout = r.layout
	width := uint(r.ends)
	t.span = ones(width)
	t.base = r.last - int64(t.span)
	present := bits.OnesCount64(r.mask)
	t.high = t.head + headerSize + present
	if r.flags&tileWide != 0 {
		t.high += present
	}
	t.low = max(width, 8) - 8
	t.lowest = ones(t.low)
	t.lows = t.high + t.n
	t.values = t.lows + packedBytes(t.n, t.low)
}

// count returns the number of entries of the slot of a rank.
func (t *tile) count(rank int) int {
	if t.flags&tileWide != 0 {
		return int(binary.LittleEndian.Uint16(t.in[t.head+headerSize+2*rank:]))
	}
	return int(t.in[t.head+headerSize+rank])
}

// slot returns the entries [lo, hi) of a slot that the tile has.
func (t *tile) slot(slot uint) (lo, hi int) {
	rank := bits.OnesCount64(t.mask & (1<<slot - 1))
	if t.flags&tileWide != 0 {
		for r := range rank {
			lo += t.count(r)
		}
		return lo, lo + t.count(rank)
	}
	r := t.head + headerSize
	for ; rank >= 8; rank -= 8 {
		lo += sumBytes(t.in.load(r))
		r += 8
	}
	lo += sumBytes(t.in.load(r) & ones(8*uint(rank)))
	return lo, lo + int(t.in[r+rank])
}

// sumBytes returns the sum of eight bytes.
func sumBytes(x uint64) int {
	const even = 0x00ff00ff00ff00ff
	return int((x&even + x>>8&even) * 0x0001000100010001 >> 48)
}

// ordinal returns the end of an entry, counted from the base.
func (t *tile) ordinal(i int) uint64 {
	x := uint64(t.in[t.high+i])
	if t.low > 0 {
		x = x<<t.low | t.in.unpack(t.lows, i, t.low, t.lowest)
	}
	return x
}

// end returns the end of an entry.
func (t *tile) end(i int) int64 { return t.base + int64(t.ordinal(i)) }

// search returns the first of the entries [lo, hi), of one slot, that ends at or after a
// time, or hi. The time is not after the last end of the tile.
func (t *tile) search(lo, hi int, at int64) int {
	x := uint64(at - t.base)
	if x > t.span {
		return lo // it is before the base
	}
	for hi-lo > 32 {
		mid := int(uint(lo+hi) >> 1)
		if t.ordinal(mid) < x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	high := x >> t.low
	for ; lo < hi; lo += 8 {
		if ge := atLeast(t.in.load(t.high+lo), high*everyByte); ge != 0 {
			lo += bits.TrailingZeros64(ge) >> 3
			break
		}
	}
	lo = min(lo, hi)
	for x &= t.lowest; lo < hi && uint64(t.in[t.high+lo]) == high && t.in.unpack(t.lows, lo, t.low, t.lowest) < x; {
		lo++
	}
	return lo
}

// everyByte times a byte has it in all eight.
const everyByte = 0x0101010101010101

// atLeast returns the top bit of each byte of x that is at least that of y: without
// borrows from its neighbours.
func atLeast(x, y uint64) uint64 {
	const tops = 0x8080808080808080
	d := (x | tops) - (y &^ tops)
	return (x&^y | ^(x^y)&d) & tops
}

// codes is the place and the layout of a tile's values.
type codes struct {
	in    *chunk
	least uint64
	at    int  // offset of the codes
	width uint // bits of a code
	flags byte
	dict  int  // offset of the dictionary
	words uint // bits of its words
}

// codes returns the place and the layout of the values.
func (t *tile) codes() (c codes) {
	c.in = t.in
	c.flags, c.width = t.flags, uint(t.code)
	c.least = t.in.load(t.head + headLeast)
	c.at = t.values
	if c.flags&tileDict != 0 {
		c.dict, c.words = t.values, uint(t.word)
		c.at += packedBytes(int(binary.LittleEndian.Uint16(t.in[t.head+headWords:])), c.words)
	}
	return c
}

// value returns the word of an entry, or null.
func (c *codes) value(i int) (word uint64, null bool) {
	if c.flags == 0 && c.width <= 56 {
		return c.least + c.in.unpack(c.at, i, c.width, ones(c.width)), false
	}
	code := c.in.unpackWide(c.at, i, c.width)
	if c.flags&tileNulls != 0 {
		if code == 0 {
			return 0, true
		}
		code--
	}
	if c.flags&tileDict != 0 {
		code = c.in.unpackWide(c.dict, int(code), c.words)
	}
	return c.least + code, false
}

// value returns the word of an entry, or null: codes and its value, for one.
func (t *tile) value(i int) (word uint64, null bool) {
	flags, width := t.flags, uint(t.code)
	if flags&tileDict != 0 || width > 56 {
		c := t.codes()
		return c.value(i)
	}
	code := t.in.unpack(t.values, i, width, ones(width))
	if flags&tileNulls != 0 {
		if code == 0 {
			return 0, true
		}
		code--
	}
	return t.in.load(t.head+headLeast) + code, false
}
