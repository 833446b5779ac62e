package tile

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Slots is the number of slots in a lane.
const Slots = 64

const (
	// Entries is the number of entries at which a tile ends. Entries with the same end as the last are
	// in it too, at most one a slot.
	Entries = 512
	// MostEntries is the greatest number of entries in a tile.
	MostEntries = Entries + Slots
)

// Ref is a tile's directory entry: 32 bytes. It has the layout, so that a query loads the tile's parts at
// once, without waiting for its header.
type Ref struct {
	Last int64          // latest end in the tile
	Mask uint64         // slots that have an end in it
	in   unsafe.Pointer // the tile's Chunk, or with Apart its page
	At   uint16
	N    uint16 // number of entries
	Widths
}

func (r *Ref) place(p *page, at int) {
	r.in, r.At = unsafe.Pointer(p), uint16(at)
	r.Flags |= Apart
}

// Widths is a tile's layout: the widths of its numbers in bits, and flags.
type Widths struct {
	Ends  uint8 // bits in an end, from 1
	Code  uint8 // bits in a value's code
	Word  uint8 // bits in a dictionary word
	Flags uint8
}

// Offsets in a tile's header, little endian.
const (
	HeadLeast  = 0 // u64: the least word
	HeadWords  = 8 // u16: words in the dictionary
	HeaderSize = 10
)

// Flags of a layout.
const (
	Nulls      = 1 << iota // code 0 is null, the others are one more
	Dictionary             // codes are places in the tile's dictionary
	Wide                   // counts have two bytes
)

// Tile is a tile opened for reading. It is safe for concurrent use once it is open. Entries are in the
// order of slot, then end. Offsets are from the beginning of the chunk.
type Tile struct {
	In     *Chunk
	Mask   uint64
	Base   int64  // ends are relative to it; it may wrap around below the least int64
	Span   uint64 // greatest number that an end can be
	N      int
	Low    uint   // bits in an end below its high byte
	Lowest uint64 // mask of the low bits
	Widths
	Head   int // offset of the header
	High   int // offset of the high bytes
	Lows   int // offset of the low bits
	Values int // offset of the dictionary, or the codes
}

// Open finds the offsets of the parts without reading the tile. It writes in place, because a returned
// struct would be copied: see View.at for the cost. A tile that is apart may have to be read, and checked;
// a failure is a panic, which Catch turns into an error.
func (t *Tile) Open(r *Ref) {
	t.Head = int(r.At)
	t.Widths = r.Widths
	if r.Flags&Apart == 0 {
		t.In = (*Chunk)(r.in)
	} else {
		t.In = r.chunk()
		t.Flags &^= Apart
	}
	t.Mask = r.Mask
	t.N = int(r.N)
	width := uint(r.Ends)
	t.Span = Ones(width)
	t.Base = r.Last - int64(t.Span)
	present := bits.OnesCount64(r.Mask)
	t.High = t.Head + HeaderSize + present
	if r.Flags&Wide != 0 {
		t.High += present
	}
	t.Low = max(width, 8) - 8
	t.Lowest = Ones(t.Low)
	t.Lows = t.High + t.N
	t.Values = t.Lows + PackedBytes(t.N, t.Low)
}

// Count returns the number of entries for the slot with a rank.
func (t *Tile) Count(rank int) int {
	if t.Flags&Wide != 0 {
		return int(binary.LittleEndian.Uint16(t.In[t.Head+HeaderSize+2*rank:]))
	}
	return int(t.In[t.Head+HeaderSize+rank])
}

// Slot returns the entries [lo, hi) of a slot, which the tile must have.
func (t *Tile) Slot(slot uint) (lo, hi int) {
	rank := bits.OnesCount64(t.Mask & (1<<slot - 1))
	if t.Flags&Wide != 0 {
		for r := range rank {
			lo += t.Count(r)
		}
		return lo, lo + t.Count(rank)
	}
	r := t.Head + HeaderSize
	for ; rank >= 8; rank -= 8 {
		lo += sumBytes(t.In.Load(r))
		r += 8
	}
	lo += sumBytes(t.In.Load(r) & Ones(8*uint(rank)))
	return lo, lo + int(t.In[r+rank])
}

// sumBytes returns the sum of x's eight bytes.
func sumBytes(x uint64) int {
	const even = 0x00ff00ff00ff00ff
	return int((x&even + x>>8&even) * 0x0001000100010001 >> 48)
}

// Ordinal returns an entry's end, counted from the base.
func (t *Tile) Ordinal(i int) uint64 {
	x := uint64(t.In[t.High+i])
	if t.Low > 0 {
		x = x<<t.Low | t.In.Unpack(t.Lows, i, t.Low, t.Lowest)
	}
	return x
}

// End returns an entry's end.
func (t *Tile) End(i int) int64 { return t.Base + int64(t.Ordinal(i)) }

// Search returns the first of the entries [lo, hi), all in one slot, that ends at or after a time, or hi.
// The time must not be after the tile's last end.
func (t *Tile) Search(lo, hi int, at int64) int {
	x := uint64(at - t.Base)
	if x > t.Span {
		return lo // it is before the base
	}
	for hi-lo > 32 {
		mid := int(uint(lo+hi) >> 1)
		if t.Ordinal(mid) < x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	high := x >> t.Low
	for ; lo < hi; lo += 8 {
		if ge := AtLeast(t.In.Load(t.High+lo), high*EveryByte); ge != 0 {
			lo += bits.TrailingZeros64(ge) >> 3
			break
		}
	}
	lo = min(lo, hi)
	for x &= t.Lowest; lo < hi && uint64(t.In[t.High+lo]) == high && t.In.Unpack(t.Lows, lo, t.Low, t.Lowest) < x; {
		lo++
	}
	return lo
}

// EveryByte times a byte has that byte in all eight places.
const EveryByte = 0x0101010101010101

// AtLeast returns the top bit of each byte in x that is at least y's, without borrows from its neighbours.
func AtLeast(x, y uint64) uint64 {
	const tops = 0x8080808080808080
	d := (x | tops) - (y &^ tops)
	return (x&^y | ^(x^y)&d) & tops
}

// Coded is the place and the layout of a tile's values.
type Coded struct {
	In    *Chunk
	Least uint64
	At    int  // offset of the codes
	Width uint // bits in a code
	Flags byte
	Dict  int  // offset of the dictionary
	Words uint // bits in a dictionary word
}

// Codes returns the place and the layout of the values.
func (t *Tile) Codes() (c Coded) {
	c.In = t.In
	c.Flags, c.Width = t.Flags, uint(t.Code)
	c.Least = t.In.Load(t.Head + HeadLeast)
	c.At = t.Values
	if c.Flags&Dictionary != 0 {
		c.Dict, c.Words = t.Values, uint(t.Word)
		c.At += PackedBytes(int(binary.LittleEndian.Uint16(t.In[t.Head+HeadWords:])), c.Words)
	}
	return c
}

// Value returns an entry's word, or null.
func (c *Coded) Value(i int) (word uint64, null bool) {
	if c.Flags == 0 && c.Width <= 56 {
		return c.Least + c.In.Unpack(c.At, i, c.Width, Ones(c.Width)), false
	}
	code := c.In.UnpackWide(c.At, i, c.Width)
	if c.Flags&Nulls != 0 {
		if code == 0 {
			return 0, true
		}
		code--
	}
	if c.Flags&Dictionary != 0 {
		code = c.In.UnpackWide(c.Dict, int(code), c.Words)
	}
	return c.Least + code, false
}

// Value returns an entry's word, or null, like Codes and Value for a single entry.
func (t *Tile) Value(i int) (word uint64, null bool) {
	flags, width := t.Flags, uint(t.Code)
	if flags&Dictionary != 0 || width > 56 {
		c := t.Codes()
		return c.Value(i)
	}
	code := t.In.Unpack(t.Values, i, width, Ones(width))
	if flags&Nulls != 0 {
		if code == 0 {
			return 0, true
		}
		code--
	}
	return t.In.Load(t.Head+HeadLeast) + code, false
}

// Size returns the tile's bytes.
func (t *Tile) Size() int {
	c := t.Codes()
	return c.At + PackedBytes(t.N, c.Width) - t.Head
}

// Size returns the bytes of a tile whose header is in data, or -1.
func (r *Ref) Size(data []byte) int {
	if len(data) < HeaderSize {
		return -1
	}
	n, counts, words := int(r.N), bits.OnesCount64(r.Mask), int(binary.LittleEndian.Uint16(data[HeadWords:]))
	if r.Flags&Wide != 0 {
		counts *= 2
	}
	if (r.Flags&Dictionary != 0) != (words > 0) {
		return -1
	}
	return HeaderSize + counts + n + PackedBytes(n, max(8, uint(r.Ends))-8) + PackedBytes(words, uint(r.Word)) + PackedBytes(n, uint(r.Code))
}

// End is an interval's end, and its value's word.
type End struct {
	End  int64
	Word uint64
}

// Null is a flag in a slot's byte: the value is null.
const Null = 1 << 7

// Run is ended intervals on their way into tiles, as columns like in a block.
type Run struct {
	At    []End
	Slots []uint8 // slot, and Null
}

// Part returns the entries [lo, hi).
func (r Run) Part(lo, hi int) Run { return Run{r.At[lo:hi], r.Slots[lo:hi]} }

// Behind returns the entries from n on.
func (r Run) Behind(n int) Run { return r.Part(n, len(r.At)) }

// One returns 1 for true, to add without a branch.
func One(b bool) (n uint64) {
	if b {
		n = 1
	}
	return n
}
