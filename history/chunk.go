package history

// chunk is memory for tiles. Tiles are written once, behind each other, and never
// straddle chunks.
type chunk [chunkBytes]byte

const (
	chunkBytes = 64 << 10
	// tileSlack is the number of zero bytes behind each tile. Readers load eight bytes at
	// a time, of which only the first may be the tile's. The sealer stores eight.
	tileSlack = 8
)

// chunks is the memory of the tiles of a history.
type chunks struct {
	tiles map[*chunk]int // the tiles of each chunk that were not dropped
	last  *chunk
	used  int // bytes of the last
}

// alloc returns zeroed memory for a tile.
func (c *chunks) alloc(size int) ([]byte, tileRef) {
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

// bytes returns the size of all chunks.
func (c *chunks) bytes() int64 { return int64(len(c.tiles)) * chunkBytes }

// unpack returns number i of those of width bits, at most 56, at an offset. mask is ones of
// the width.
func (c *chunk) unpack(at, i int, width uint, mask uint64) uint64 {
	bit := i * int(width)
	return c.load(at+bit>>3) >> (bit & 7) & mask
}

// unpackWide is unpack for any width.
func (c *chunk) unpackWide(at, i int, width uint) uint64 {
	if width <= 56 {
		return c.unpack(at, i, width, ones(width))
	}
	bit := i * int(width)
	at += bit >> 3
	shift := uint(bit & 7)
	x := c.load(at) >> shift
	if shift+width > 64 {
		x |= uint64(c[at+8]) << (64 - shift)
	}
	return x & ones(width)
}

// ones returns the number of width bits, all set.
func ones(width uint) uint64 { return 1<<width - 1 } // a shift by 64 gives 0

// packedBytes returns the bytes of n numbers of width bits.
func packedBytes(n int, width uint) int { return (n*int(width) + 7) / 8 }
