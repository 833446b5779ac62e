package arrowconv

import (
	"github.com/apache/arrow/go/v14/arrow/bitutil"
	"github.com/apache/arrow/go/v14/arrow/memory"
)

// buffer is Arrow memory that grows at its end, at least by doubling, until an array takes it over. When
// it is filled again, it starts with room for its previous content.
type buffer struct {
	mem  memory.Allocator
	buf  *memory.Buffer // nil while it has no memory
	all  []byte         // its memory
	n    int            // bytes of it in use
	last int            // bytes of the last take, and a little more
}

// grow appends n bytes and returns them, valid until the next grow. Their content is undefined, because an
// allocator does not have to clear memory.
func (b *buffer) grow(n int) []byte {
	from := b.n
	if b.n += n; b.n > len(b.all) {
		b.extend(0)
	}
	return b.all[from:b.n]
}

// reserve makes room for n more bytes, so that growing by n in small steps copies nothing.
func (b *buffer) reserve(n int) {
	if n > len(b.all)-b.n {
		b.extend(n)
	}
}

func (b *buffer) extend(n int) {
	need := max(b.n+n, 2*len(b.all))
	if b.buf == nil {
		b.buf = memory.NewResizableBuffer(b.mem)
		need = max(need, b.last)
	}
	b.buf.Reserve(need)
	b.all = b.buf.Buf()
}

// truncate drops all but the first n bytes.
func (b *buffer) truncate(n int) { b.n = n }

// bytes returns the content. It is valid until the next grow.
func (b *buffer) bytes() []byte { return b.all[:b.n] }

// take hands over the content. The caller releases it.
func (b *buffer) take() *memory.Buffer {
	const some, slack = 4 << 10, 8 // bytes that may be wasted; room for n/slack more next time
	buf, n := b.buf, b.n
	b.buf, b.all, b.n, b.last = nil, nil, 0, n+n/slack
	if buf == nil {
		return memory.NewBufferBytes([]byte{})
	}
	buf.ResizeNoShrink(n)
	if buf.Cap() > some && n < buf.Cap()/2 { // an array holds at most twice the bytes that it needs
		buf.Resize(n)
	}
	return buf
}

func (b *buffer) release() {
	if b.buf != nil {
		b.buf.Release()
		b.buf, b.all, b.n = nil, nil, 0
	}
}

// validity is the null bitmap of a column. It has no bits until the first null. After that, every bit that no
// null has cleared is 1, also beyond the last row, so that rows with a value need no call.
type validity struct {
	bits  buffer
	nulls int
}

// null sets n rows from row i on to null. i is at or after the end of the previous call's rows.
func (v *validity) null(i, n int) {
	if n == 0 {
		return
	}
	v.cover(i + n)
	if n == 1 {
		bitutil.ClearBit(v.bits.bytes(), i)
	} else {
		bitutil.SetBitsTo(v.bits.bytes(), int64(i), int64(n), false)
	}
	v.nulls += n
}

// is reports whether row i is null.
func (v *validity) is(i int) bool {
	return v.nulls > 0 && i < 8*v.bits.n && bitutil.BitIsNotSet(v.bits.bytes(), i)
}

// forget removes row i, which must be the last row and null.
func (v *validity) forget(i int) {
	bitutil.SetBit(v.bits.bytes(), i)
	v.nulls--
}

// cover makes room for the bits of n rows.
func (v *validity) cover(n int) {
	missing := int(bitutil.BytesForBits(int64(n))) - v.bits.n
	if missing > 0 {
		fillWith(v.bits.grow(missing), 0xff)
	}
}

// take hands over the bitmap of n rows. It returns nil if no row is null.
func (v *validity) take(n int) (bits *memory.Buffer, nulls int) {
	if v.nulls == 0 {
		v.release()
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

// fillWith sets all elements to value. It copies a filled prefix, which is faster than stores if the prefix
// stays in the first-level cache.
func fillWith[T uint8 | uint32 | uint64](dst []T, value T) {
	n := min(32, len(dst))
	for i := range dst[:n] {
		dst[i] = value
	}
	for n < len(dst) {
		n += copy(dst[n:], dst[:min(n, 1024)])
	}
}

// repeatBytes fills dst with copies of value. The length of dst is a multiple of the length of value.
func repeatBytes(dst, value []byte) {
	n := copy(dst, value)
	for n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}
