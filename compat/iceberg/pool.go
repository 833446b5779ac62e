package iceberg

import (
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// pool is an allocator that reuses freed large blocks, because each column in a file needs some of the same
// sizes, and a collector would have hundreds of MB of them at a time. It is safe for concurrent use.
type pool struct {
	memory.Allocator
	mu   sync.Mutex
	free [poolClasses][][]byte // by class
}

// Blocks of class i have leastPooled<<i bytes. Others are not kept.
const (
	leastPooled = 32 << 10
	poolClasses = 12
)

func newPool() *pool { return &pool{Allocator: memory.NewGoAllocator()} }

// classOf returns the class of the smallest blocks with size bytes; false if there is none.
func classOf(size int) (class int, isPooled bool) {
	if size <= leastPooled/2 || size > leastPooled<<(poolClasses-1) {
		return 0, false
	}
	return max(0, bits.Len(uint(size-1))-bits.Len(uint(leastPooled-1))), true
}

// Allocate implements memory.Allocator. Blocks are zero.
func (p *pool) Allocate(size int) []byte {
	class, isPooled := classOf(size)
	if !isPooled {
		return p.Allocator.Allocate(size)
	}
	if b := p.take(class); b != nil {
		clear(b[:size])
		return b[:size]
	}
	return p.Allocator.Allocate(leastPooled << class)[:size]
}

// take returns a freed block, nil if there is none.
func (p *pool) take(class int) (b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free[class]); n > 0 {
		b, p.free[class] = p.free[class][n-1], p.free[class][:n-1]
	}
	return b
}

// Reallocate implements memory.Allocator.
func (p *pool) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		if size > len(b) {
			clear(b[len(b):size])
		}
		return b[:size]
	}
	out := p.Allocate(size)
	copy(out, b)
	p.Free(b)
	return out
}

// Free implements memory.Allocator.
func (p *pool) Free(b []byte) {
	if class, isPooled := classOf(cap(b)); isPooled && cap(b) == leastPooled<<class {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free[class] = append(p.free[class], b[:0])
	}
}
