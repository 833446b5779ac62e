package encoding

import (
	"unsafe"

	"github.com/google/uuid"
)

// idBytes returns the bytes of ids, to hash and not to change.
//
// A uuid.UUID is an array of 16 bytes, without padding or alignment, so n of them in a
// slice are 16*n bytes in a row; the result refers to the same memory and keeps it alive.
func idBytes(ids []uuid.UUID) []byte {
	if len(ids) == 0 {
		return nil
	}
	return unsafe.Slice(&ids[0][0], len(uuid.UUID{})*len(ids))
}

// Int64Words returns the words of values, in their memory: who is given them must not
// change them, and they change with the values.
//
// An int64 and a uint64 have the same size and alignment, and FromInt64 keeps the bits; the
// result refers to the same memory and keeps it alive.
func Int64Words(values []int64) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}

// wordBytes returns the bytes of words in the order of this machine, to read.
//
// n words in a slice are 8*n bytes in a row, and a byte may be anywhere; the result
// refers to the same memory and keeps it alive.
func wordBytes(words []uint64) []byte {
	if len(words) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))
}

// littleEndian says whether the lowest byte of a word comes first, as on all machines
// but a few.
var littleEndian = wordBytes([]uint64{1})[0] == 1
