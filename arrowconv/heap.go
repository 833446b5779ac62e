package arrowconv

import "github.com/apache/arrow/go/v14/arrow/memory"

// heap allocates from the Go heap like Arrow's own allocator, but does not clear large memory, because
// records of many lists are filled once, and clearing their memory first would take as long. It is safe for
// concurrent use.
type heap struct{ *memory.GoAllocator }

func newHeap() heap { return heap{memory.NewGoAllocator()} }

const (
	// uncleared is the size in bytes from which memory is not cleared. Smaller memory usually stays in the
	// caches until it is filled.
	uncleared = 1 << 20
	// line is a cache line's length. Arrow aligns memory to one.
	line = 64
)

// Allocate returns size bytes of undefined content.
func (h heap) Allocate(size int) []byte {
	if size >= uncleared {
		if b := allocate(size); b != nil {
			return b
		}
	}
	return h.GoAllocator.Allocate(size)
}

// Reallocate returns size bytes that begin with the bytes of b.
func (h heap) Reallocate(size int, b []byte) []byte {
	to := h.Allocate(size)
	copy(to, b)
	return to
}
