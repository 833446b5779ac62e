package arrowconv

import (
	"strings"
	"unsafe"

	"github.com/google/uuid"
)

// asUUIDs returns bytes, whose length is a multiple of 16, as UUIDs. A UUID is an array of 16 bytes,
// therefore it has no alignment, and any bytes are valid. The result keeps the bytes alive.
func asUUIDs(b []byte) []uuid.UUID {
	return unsafe.Slice((*uuid.UUID)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/uuidLen)
}

// allocate returns size bytes of the heap that are not cleared, or nil if they would not begin at a cache
// line. They are the memory of a strings.Builder that was grown to at least that size. Nothing else refers to
// the builder or its string, therefore no immutable memory is written. Bytes have no pointers that the
// collector would follow. The result keeps the memory alive.
func allocate(size int) []byte {
	var b strings.Builder
	b.Grow(size)
	b.WriteByte(0)
	if b.Cap() < size {
		return nil
	}
	if all := unsafe.Slice(unsafe.StringData(b.String()), size); aligned(all) {
		return all
	}
	return nil
}

// aligned reports whether bytes, at least one, begin at a cache line. It only reads the address.
func aligned(b []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%line == 0 }
