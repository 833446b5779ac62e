package encoding

import (
	"encoding/binary"
	"unsafe"
)

// Int64Words returns values as words in the same memory. The words must not be changed, and change with the
// values.
//
// An int64 and a uint64 have the same size and alignment, and FromInt64 keeps the bits; the result refers
// to the same memory and keeps it alive.
func Int64Words(values []int64) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}

// wordBytes returns words as bytes in this machine's byte order, for reading.
//
// n words in a slice are 8*n contiguous bytes, and bytes have no alignment; the result refers to the same
// memory and keeps it alive.
func wordBytes(words []uint64) []byte {
	if len(words) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))
}

// bytesWords returns bytes as words, 8 bytes per word, the lowest byte first. The words share the bytes'
// memory if this machine has the same byte order and the bytes are aligned like words. Otherwise they are a
// copy.
//
// 8*n bytes in a slice are contiguous, and n words have the same size and no invalid value; the alignment
// is checked. The result refers to the same memory and keeps it alive.
func bytesWords(b []byte) []uint64 {
	n := len(b) / 8
	if first := unsafe.Pointer(unsafe.SliceData(b)); littleEndian && uintptr(first)%unsafe.Alignof(uint64(0)) == 0 {
		return unsafe.Slice((*uint64)(first), n)
	}
	words := make([]uint64, n)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return words
}

// littleEndian reports whether the lowest byte of a word comes first, as on nearly all machines.
var littleEndian = wordBytes([]uint64{1})[0] == 1
