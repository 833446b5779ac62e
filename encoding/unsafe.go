package encoding

import "unsafe"

// Int64Words returns the words of values, which share their memory. They must not be changed,
// and they change with the values.
//
// An int64 and a uint64 have the same size and alignment, and FromInt64 keeps the bits; the
// result refers to the same memory and keeps it alive.
func Int64Words(values []int64) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}

// wordBytes returns the bytes of words in the byte order of this machine, for reading.
//
// n words in a slice are 8*n contiguous bytes, and bytes have no alignment; the result refers
// to the same memory and keeps it alive.
func wordBytes(words []uint64) []byte {
	if len(words) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))
}

// littleEndian reports whether the lowest byte of a word comes first, as on nearly all
// machines.
var littleEndian = wordBytes([]uint64{1})[0] == 1
