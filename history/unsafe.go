package history

import "unsafe"

// textOf returns an interner's bytes as a string, without a copy.
//
// The bytes of a names.Texts never change and never move. The string refers to the same memory and keeps it
// alive, so it is as immutable as a string must be.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// The sizes of a lane's parts on the heap, in bytes.
const (
	blockSize     = int64(unsafe.Sizeof(block{}))
	laneSize      = int64(unsafe.Sizeof(lane{}))
	sealedSize    = int64(unsafe.Sizeof(sealed{}))
	workSize      = int64(unsafe.Sizeof(laneWork{}))
	ongoingSize   = int64(unsafe.Sizeof(ongoing{}))
	shapeLaneSize = int64(unsafe.Sizeof(shapeLane{})) + 3*8 // with its place in the map, which is half to fully used
)

// This does not compile once a lane is larger than two cache lines, because building was 5 % slower with
// lanes of 144 bytes.
const _ = uint(128 - laneSize)
