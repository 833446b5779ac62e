package arrow18

import (
	"sync/atomic"

	memory14 "github.com/apache/arrow/go/v14/arrow/memory"

	memory18 "github.com/apache/arrow-go/v18/arrow/memory"
)

// owner releases a v14 buffer together with the v18 buffer over its bytes. In v18 it is the allocator of that
// memory.
type owner struct {
	memory18.GoAllocator
	shared atomic.Pointer[memory14.Buffer]
}

// Free releases the v14 buffer, once.
func (o *owner) Free([]byte) {
	if b := o.shared.Swap(nil); b != nil {
		b.Release()
	}
}

// Reallocate moves the bytes to separate memory, because the shared bytes cannot grow. It is called only if a
// caller resizes a buffer of an array, against the rules of Arrow. The memory stays valid, but the resized
// buffer no longer follows the v14 buffer.
func (o *owner) Reallocate(size int, b []byte) []byte {
	own := o.Allocate(size)
	copy(own, b)
	o.Free(b)
	return own
}

// shareBuffers returns v18 buffers over the bytes of v14 buffers. Each holds a reference to
// its v14 buffer.
func shareBuffers(from []*memory14.Buffer) []*memory18.Buffer {
	owners := make([]owner, len(from))
	to := make([]*memory18.Buffer, len(from))
	for i, b := range from {
		if b == nil {
			continue
		}
		b.Retain()
		owners[i].shared.Store(b)
		to[i] = memory18.NewBufferWithAllocator(b.Bytes(), &owners[i])
	}
	return to
}
