package encoding

import (
	"unsafe"

	"github.com/google/uuid"
)

// idBytes returns the bytes of ids, to hash and not to change.
//
// It is the only use of unsafe in the package. A uuid.UUID is an array of 16
// bytes, without padding or alignment, so n of them in a slice are 16*n bytes in a
// row; the result refers to the same memory and keeps it alive.
func idBytes(ids []uuid.UUID) []byte {
	if len(ids) == 0 {
		return nil
	}
	return unsafe.Slice(&ids[0][0], len(uuid.UUID{})*len(ids))
}
