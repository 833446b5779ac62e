package arrowconv

import (
	"github.com/apache/arrow/go/v14/arrow/bitutil"
	"github.com/apache/arrow/go/v14/arrow/memory"
)

// buffer is Arrow memory that grows at its end, at least by doubling, until it
// is handed over to an array.
type buffer struct {
	mem memory.Allocator
	buf *memory.Buffer // nil while empty
}

// grow appends n bytes and returns them. What they hold is undefined: an
// allocator need not clear memory.
func (b *buffer) grow(n int) []byte {
	if n == 0 {
		return nil
	}
	b.reserve(n)
	have := b.buf.Len()
	b.buf.ResizeNoShrink(have + n)
	return b.buf.Bytes()[have:]
}

// reserve makes room for n more bytes, so that growing by as much in small
// steps copies nothing.
func (b *buffer) reserve(n int) {
	if b.buf == nil {
		b.buf = memory.NewResizableBuffer(b.mem)
	}
	if need := b.buf.Len() + n; need > b.buf.Cap() {
		b.buf.Reserve(max(need, 2*b.buf.Cap()))
	}
}

// bytes returns the content. It is valid until the next grow.
func (b *buffer) bytes() []byte {
	if b.buf == nil {
		return nil
	}
	return b.buf.Bytes()
}

// take hands the content over. The caller releases it.
func (b *buffer) take() *memory.Buffer {
	buf := b.buf
	if buf == nil {
		return memory.NewBufferBytes([]byte{})
	}
	b.buf = nil
	return buf
}

func (b *buffer) release() {
	if b.buf != nil {
		b.buf.Release()
		b.buf = nil
	}
}

// validity says which rows of a column are null. It holds no bits until the
// first null; then every bit that no null has cleared is 1, beyond the last
// row too, so rows that have a value need no call.
type validity struct {
	bits  buffer
	nulls int
}

// null makes row i null; i is not less than that of the call before.
func (v *validity) null(i int) {
	v.cover(i + 1)
	bitutil.ClearBit(v.bits.bytes(), i)
	v.nulls++
}

// cover makes sure that there are bits for n rows.
func (v *validity) cover(n int) {
	missing := int(bitutil.BytesForBits(int64(n))) - len(v.bits.bytes())
	if missing <= 0 {
		return
	}
	added := v.bits.grow(missing)
	for i := range added {
		added[i] = 0xff
	}
}

// take hands over the bitmap of n rows: nil if none is null.
func (v *validity) take(n int) (bits *memory.Buffer, nulls int) {
	if v.nulls == 0 {
		return nil, 0
	}
	v.cover(n)
	nulls, v.nulls = v.nulls, 0
	return v.bits.take(), nulls
}

func (v *validity) release() {
	v.bits.release()
	v.nulls = 0
}
