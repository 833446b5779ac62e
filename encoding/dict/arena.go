package dict

// Bytes lie in blocks that never move, so readers need no lock. Block sizes double from the first to the
// last, because a store can have many small dictionaries. A longer value gets its own block.
const (
	firstBlock = 512
	lastBlock  = 64 << 10
)

// arena is append-only bytes for one writer and any number of concurrent readers.
type arena struct {
	blocks stable[[]byte]
	n      int // number of blocks
	room   int // bytes left in the last block
	size   int // bytes of all blocks
}

// keep copies value, which must not be empty, and returns its place.
func (a *arena) keep(value []byte) (block, offset uint32) {
	if size := a.take(len(value)); size > 0 {
		a.blocks.grow(a.n - 1)
		*a.blocks.at(a.n - 1) = make([]byte, size)
	}
	last := *a.blocks.at(a.n - 1)
	offset = uint32(len(last) - a.room - len(value))
	copy(last[offset:], value)
	return uint32(a.n - 1), offset
}

// take counts bytes as kept, and returns the size of the block to begin for them, 0 if they fit into the
// last block.
func (a *arena) take(bytes int) (size int) {
	if bytes > a.room {
		size = max(min(firstBlock<<min(a.n, 16), lastBlock), bytes)
		a.n, a.room, a.size = a.n+1, size, a.size+size
	}
	a.room -= bytes
	return size
}

// from returns a block's bytes from offset on.
func (a *arena) from(block, offset uint32) []byte { return (*a.blocks.at(int(block)))[offset:] }

const blockHeader = 24

// heap returns the arena's heap bytes.
func (a *arena) heap() int { return a.size + blockHeader*paged(a.n) }

// need bounds the growth in bytes when `bytes` bytes are kept.
func (a *arena) need(bytes int) int {
	if bytes <= a.room {
		return 0
	}
	// A value that does not fit into a block's rest wastes less than its length.
	step := min(lastBlock, max(firstBlock<<min(a.n, 16), 2*bytes))
	return 2*bytes + step + blockHeader*paged(2+2*bytes/lastBlock)
}
