package tile

import (
	"encoding/binary"
	"unsafe"
)

// RefSize is the size of a directory entry on the heap, in bytes.
const RefSize = int64(unsafe.Sizeof(Ref{}))

// Load returns the eight bytes at an offset.
//
// The offset is in a tile or its slack: at most ChunkBytes-8, because Slack is eight bytes behind each
// tile, and never below 0. This package wrote the tile's header, in memory, so no input can make an offset.
func (c *Chunk) Load(at int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(unsafe.Pointer(c), at))[:])
}
