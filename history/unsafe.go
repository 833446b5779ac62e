package history

import "unsafe"

// textOf returns bytes of a dictionary as a string, without a copy.
//
// The bytes of an encoding.Dict never change and never move, and the string refers to
// the same memory and keeps it alive: so it is as immutable as a string must be.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf returns the bytes of a string to read, without a copy: an encoding.Dict looks
// at them, and copies what it keeps.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// What the parts of a lane take on the heap, in bytes.
const (
	tileRefSize = int64(unsafe.Sizeof(tileRef{}))
	blockSize   = int64(unsafe.Sizeof(block{}))
	laneSize    = int64(unsafe.Sizeof(lane{}))
	sealedSize  = int64(unsafe.Sizeof(sealed{}))
	workSize    = int64(unsafe.Sizeof(laneWork{}))
	ongoingSize = int64(unsafe.Sizeof(ongoing{}))
)
