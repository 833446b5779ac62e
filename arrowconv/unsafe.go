package arrowconv

import (
	"unsafe"

	"github.com/google/uuid"
)

// asUUIDs returns bytes, of which there are a multiple of 16, as UUIDs. A UUID is an array
// of 16 bytes: it has no alignment, and any bytes are one. The result keeps the bytes alive.
func asUUIDs(b []byte) []uuid.UUID {
	return unsafe.Slice((*uuid.UUID)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/uuidLen)
}
