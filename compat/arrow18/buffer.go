package arrow18

import (
	"sync/atomic"

	memory14 "github.com/apache/arrow/go/v14/arrow/memory"

	memory18 "github.com/apache/arrow-go/v18/arrow/memory"
)

// owner gives a v14 buffer back when the v18 buffer over its bytes goes: to v18
// it is the allocator of that memory.
type owner struct {
	memory18.GoAllocator
	shared atomic.Pointer[memory14.Buffer]
}

// Free gives the v14 buffer back, once.
func (o *owner) Free([]byte) {
	if b := o.shared.Swap(nil); b != nil {
		b.Release()
	}
}

// Reallocate moves to memory of its own, as the shared bytes cannot grow. It
// is called only if somebody resizes a buffer of an array, which is against
// the rules of Arrow: then the memory stays sound, no more.
func (o *owner) Reallocate(size int, b []byte) []byte {
	own := o.Allocate(size)
	copy(own, b)
	o.Free(b)
	return own
}

// shareBuffers returns v18 buffers over the bytes of v14 ones, each with a
// reference to its own.
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
