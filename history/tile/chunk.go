package tile

// Chunk is memory for tiles. Tiles are written once, behind each other, and never
// straddle chunks.
type Chunk [ChunkBytes]byte

const (
	// ChunkBytes is the size of a chunk.
	ChunkBytes = 64 << 10
	// Slack is the number of zero bytes behind each tile. Readers load eight bytes at
	// a time, of which only the first may be the tile's. The sealer stores eight.
	Slack = 8
)

// Chunks is the memory of the tiles of a history.
type Chunks struct {
	Tiles map[*Chunk]int // the tiles of each chunk that were not dropped
	last  *Chunk
	used  int // bytes of the last
}

// Alloc returns zeroed memory for a tile.
func (c *Chunks) Alloc(size int) ([]byte, Ref) {
	if c.last == nil || c.used+size+Slack > ChunkBytes {
		c.last, c.used = new(Chunk), 0
	}
	ref := Ref{In: c.last, At: uint16(c.used)}
	c.used += size + Slack
	c.Tiles[c.last]++
	return c.last[ref.At:], ref
}

// Drop forgets a tile.
func (c *Chunks) Drop(r *Ref) {
	if c.Tiles[r.In]--; c.Tiles[r.In] == 0 {
		delete(c.Tiles, r.In)
		if r.In == c.last {
			c.last = nil
		}
	}
}

// Bytes returns the size of all chunks.
func (c *Chunks) Bytes() int64 { return int64(len(c.Tiles)) * ChunkBytes }

// Unpack returns number i of those of width bits, at most 56, at an offset. mask is ones of
// the width.
func (c *Chunk) Unpack(at, i int, width uint, mask uint64) uint64 {
	bit := i * int(width)
	return c.Load(at+bit>>3) >> (bit & 7) & mask
}

// UnpackWide is unpack for any width.
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

// Ones returns the number of width bits, all set.
func Ones(width uint) uint64 { return 1<<width - 1 } // a shift by 64 gives 0

// PackedBytes returns the bytes of n numbers of width bits.
func PackedBytes(n int, width uint) int { return (n*int(width) + 7) / 8 }
