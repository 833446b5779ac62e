package arrowconv

import "github.com/apache/arrow/go/v14/arrow/memory"

// heap allocates from the Go heap as Arrow's own allocator does, but does not clear what
// is large: records of many lists are filled once, and clearing them first took as long.
// It is safe for concurrent use.
type heap struct{ *memory.GoAllocator }

func newHeap() heap { return heap{memory.NewGoAllocator()} }

const (
	// uncleared is from how many bytes on memory is not cleared: what is less mostly stays
	// in the processor's caches until it is filled.
	uncleared = 1 << 20
	// line is the length of a cache line. Arrow wants memory to begin with one.
	line = 64
)

// Allocate returns so many bytes. What they hold is undefined.
func (h heap) Allocate(size int) []byte {
	if size >= uncleared {
		if b := allocate(size); b != nil {
			return b
		}
	}
	return h.GoAllocator.Allocate(size)
}

// Reallocate returns so many bytes that begin with those of b.
func (h heap) Reallocate(size int, b []byte) []byte {
	to := h.Allocate(size)
	copy(to, b)
	return to
}
