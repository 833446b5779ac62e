package dict

import (
	"unsafe"

	"github.com/google/uuid"
)

// idBytes returns the bytes of ids for hashing. The caller must not change them.
//
// A uuid.UUID is an array of 16 bytes without padding or alignment, so a slice of n UUIDs is 16*n
// contiguous bytes; the result refers to the same memory and keeps it alive.
func idBytes(ids []uuid.UUID) []byte {
	if len(ids) == 0 {
		return nil
	}
	return unsafe.Slice(&ids[0][0], len(uuid.UUID{})*len(ids))
}
