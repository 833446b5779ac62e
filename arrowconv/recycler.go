package arrowconv

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v14/arrow/memory"
)

// recycler is an allocator for a sequence of records of similar size. A record reuses a released record's
// memory, which therefore does not have to be cleared, paged in or collected. It is safe for concurrent use,
// because a record may be released in any goroutine.
type recycler struct {
	from memory.Allocator

	mu     sync.Mutex
	free   map[int][]freed // by length, earliest freed first
	frees  uint64
	kept   int // free bytes
	closed bool
}

// freed is memory for reuse.
type freed struct {
	bytes []byte
	since uint64 // number of earlier frees
}

// mostKept bounds the memory kept for later records: two of the largest records of a scan.
const mostKept = 64 << 20

func newRecycler(from memory.Allocator) *recycler {
	return &recycler{from: from, free: map[int][]freed{}}
}

// Allocate returns at least size bytes.
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

// sizeClass rounds a size up to one of four lengths for each power of two, and at least to a cache line.
func sizeClass(size int) int {
	step := max(line, 1<<max(0, bits.Len(uint(size-1))-3))
	return (size + step - 1) / step * step
}

// Reallocate returns at least size bytes that begin with the bytes of b, and frees b.
func (r *recycler) Reallocate(size int, b []byte) []byte {
	to := r.Allocate(size)
	copy(to, b)
	r.Free(b)
	return to
}

// Free keeps memory for a later request of its size, unless the recycler is closed or the memory is too
// large. Beyond mostKept it gives up the memory that has been free for longest, because a growing buffer
// leaves sizes that are not requested again.
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

// freeOldest gives up the memory that has been free for longest. The caller holds mu.
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

// close frees the kept memory. Memory that is freed later is not kept.
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
