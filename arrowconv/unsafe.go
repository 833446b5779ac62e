package arrowconv

import (
	"strings"
	"unsafe"

	"github.com/google/uuid"
)

// asUUIDs returns bytes, of which there are a multiple of 16, as UUIDs. A UUID is an array
// of 16 bytes: it has no alignment, and any bytes are one. The result keeps the bytes alive.
func asUUIDs(b []byte) []uuid.UUID {
	return unsafe.Slice((*uuid.UUID)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/uuidLen)
}

// allocate returns so many bytes of the heap that are not cleared, nil if they would not
// begin where a cache line does. They are the memory of a strings.Builder that has grown to
// hold at least as many, of which its string is the first. Nobody else has the builder or the
// string, so nothing that may not change is written, and bytes hold no pointers that the
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

// aligned says whether bytes, of which there are some, begin where a cache line does. It
// looks at the address only.
func aligned(b []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%line == 0 }
