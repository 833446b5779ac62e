package arrowconv

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v14/arrow/memory"
)

// recycler is an allocator of records of about one size, made one after the other: what
// a record gives back serves the next, so that neither has memory to be cleared and paged
// in anew, nor to be collected. It is safe for concurrent use: whoever was given a record
// releases it.
type recycler struct {
	from memory.Allocator

	mu     sync.Mutex
	free   map[int][]freed // by length, those that were freed first in front
	frees  uint64
	kept   int // bytes that are free
	closed bool
}

// freed is memory to be used again.
type freed struct {
	bytes []byte
	since uint64 // how many were freed before
}

// mostKept bounds the memory that is kept for the next record: two of the largest that a
// scan makes.
const mostKept = 64 << 20

func newRecycler(from memory.Allocator) *recycler {
	return &recycler{from: from, free: map[int][]freed{}}
}

// Allocate returns at least so many bytes.
func (r *recycler) Allocate(size int) []byte {
	size = sizeClass(max(1, size))
	r.mu.Lock()
	defer r.mu.Unlock()
	free := r.free[size]
	if len(free) == 0 {
		return r.from.Allocate(size)
	}
	last := len(free) - 1
	b := free[last].bytes
	free[last] = freed{}
	r.free[size] = free[:last]
	r.kept -= size
	return b
}

// sizeClass rounds a size up to one of four lengths for each power of two, of at least
// a cache line.
func sizeClass(size int) int {
	step := max(line, 1<<max(0, bits.Len(uint(size-1))-3))
	return (size + step - 1) / step * step
}

// Reallocate returns at least so many bytes that begin with those of b, which it frees.
func (r *recycler) Reallocate(size int, b []byte) []byte {
	to := r.Allocate(size)
	copy(to, b)
	r.Free(b)
	return to
}

// Free keeps memory for the next who asks for as much, unless the recycler is closed or it
// is too large. What is too much then goes back, the longest free first: while a buffer
// grows it leaves memory of sizes that nobody asks for again.
func (r *recycler) Free(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(b) == 0 || len(b) > mostKept {
		r.from.Free(b)
		return
	}
	r.free[len(b)] = append(r.free[len(b)], freed{b, r.frees})
	r.frees++
	r.kept += len(b)
	for r.kept > mostKept {
		r.freeOldest()
	}
}

// freeOldest gives back what has been free for longest. The caller holds mu.
func (r *recycler) freeOldest() {
	oldest, since := 0, r.frees
	for size, free := range r.free {
		if len(free) > 0 && free[0].since < since {
			oldest, since = size, free[0].since
		}
	}
	r.from.Free(r.free[oldest][0].bytes)
	r.free[oldest] = slices.Delete(r.free[oldest], 0, 1)
	r.kept -= oldest
}

// close frees what it keeps. What is freed later is not kept.
func (r *recycler) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, free := range r.free {
		for _, f := range free {
			r.from.Free(f.bytes)
		}
	}
	r.free, r.closed = nil, true
}
