package tile

import "unsafe"

// Chunk is memory for tiles. Tiles are written once, behind each other, and never straddle chunks.
type Chunk [ChunkBytes]byte

const (
	// ChunkBytes is the size of a chunk.
	ChunkBytes = 64 << 10
	// Slack is the number of zero bytes behind each tile, because readers load eight bytes at a time,
	// of which only the first may belong to the tile. The sealer stores eight.
	Slack = 8
)

// Chunks is the memory for a history's tiles.
type Chunks struct {
	Tiles map[*Chunk]int // number of tiles in each chunk that were not dropped
	Pages *Pages         // if not nil, chunks are its pages, and Tiles is empty
	last  *Chunk
	page  *page // page of the last chunk
	used  int   // used bytes of the last chunk
}

// Alloc gives a tile zeroed memory, and returns the memory.
func (c *Chunks) Alloc(r *Ref, size int) []byte {
	if c.last == nil || c.used+size+Slack > ChunkBytes {
		c.begin()
	}
	at := c.used
	c.used += size + Slack
	if c.page != nil {
		r.place(c.page, at)
	} else {
		r.in, r.At = unsafe.Pointer(c.last), uint16(at)
		c.Tiles[c.last]++
	}
	return c.last[at:]
}

func (c *Chunks) begin() {
	if c.Settle(); c.Pages != nil {
		c.page, c.last = c.Pages.begin()
	} else {
		c.last = new(Chunk)
	}
	c.used = 0
}

// Settle writes the last page, though it is not full.
func (c *Chunks) Settle() {
	if c.page != nil {
		c.Pages.finish(c.page, c.used)
		c.page, c.last = nil, nil
	}
}

// Drop forgets a tile. Pages stay.
func (c *Chunks) Drop(r *Ref) {
	if r.Flags&Apart != 0 {
		return
	}
	in := (*Chunk)(r.in)
	if c.Tiles[in]--; c.Tiles[in] == 0 {
		delete(c.Tiles, in)
		if in == c.last {
			c.last = nil
		}
	}
}

// Bytes returns the size of all chunks in memory.
func (c *Chunks) Bytes() int64 {
	if c.Pages != nil {
		return c.Pages.bytes.Load()
	}
	return int64(len(c.Tiles)) * ChunkBytes
}

// Unpack returns number i of packed numbers with width bits, at most 56, at an offset. mask has the low
// width bits set.
func (c *Chunk) Unpack(at, i int, width uint, mask uint64) uint64 {
	bit := i * int(width)
	return c.Load(at+bit>>3) >> (bit & 7) & mask
}

// UnpackWide is Unpack for any width.
func (c *Chunk) UnpackWide(at, i int, width uint) uint64 {
	if width <= 56 {
		return c.Unpack(at, i, width, Ones(width))
	}
	bit := i * int(width)
	at += bit >> 3
	shift := uint(bit & 7)
	x := c.Load(at) >> shift
	if shift+width > 64 {
		x |= uint64(c[at+8]) << (64 - shift)
	}
	return x & Ones(width)
}

// Ones returns a number with the low width bits set.
func Ones(width uint) uint64 { return 1<<width - 1 } // a shift by 64 gives 0

// PackedBytes returns the bytes that n numbers with width bits take.
func PackedBytes(n int, width uint) int { return (n*int(width) + 7) / 8 }
