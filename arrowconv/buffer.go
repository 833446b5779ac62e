package arrowconv

import (
	"github.com/apache/arrow/go/v14/arrow/bitutil"
	"github.com/apache/arrow/go/v14/arrow/memory"
)

// buffer is Arrow memory that grows at its end, at least by doubling, until it
// is handed over to an array. One that is filled again begins with room for what it
// held last.
type buffer struct {
	mem  memory.Allocator
	buf  *memory.Buffer // nil while it has no memory
	all  []byte         // its memory
	n    int            // bytes of it that are in use
	last int            // bytes, and some more, that were handed over last
}

// grow appends n bytes and returns them, until the next grow. What they hold is
// undefined: an allocator need not clear memory.
func (b *buffer) grow(n int) []byte {
	from := b.n
	if b.n += n; b.n > len(b.all) {
		b.extend(0)
	}
	return b.all[from:b.n]
}

// reserve makes room for n more bytes, so that growing by as much in small
// steps copies nothing.
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

// cut drops all but the first n bytes.
func (b *buffer) cut(n int) { b.n = n }

// bytes returns the content. It is valid until the next grow.
func (b *buffer) bytes() []byte { return b.all[:b.n] }

// take hands the content over. The caller releases it.
func (b *buffer) take() *memory.Buffer {
	const some, slack = 4 << 10, 8 // bytes; a share of them
	buf, n := b.buf, b.n
	b.buf, b.all, b.n, b.last = nil, nil, 0, n+n/slack
	if buf == nil {
		return memory.NewBufferBytes([]byte{})
	}
	buf.ResizeNoShrink(n)
	if buf.Cap() > some && n < buf.Cap()/2 { // an array holds at most twice what it needs
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

// validity says which rows of a column are null. It holds no bits until the
// first null; then every bit that no null has cleared is 1, beyond the last
// row too, so rows that have a value need no call.
type validity struct {
	bits  buffer
	nulls int
}

// null makes n rows from row i on null; i is not less than where those of the call
// before end.
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

// is says whether row i is null.
func (v *validity) is(i int) bool {
	return v.nulls > 0 && i < 8*v.bits.n && bitutil.BitIsNotSet(v.bits.bytes(), i)
}

// forget makes row i, which is null and the last, one that is not there.
func (v *validity) forget(i int) {
	bitutil.SetBit(v.bits.bytes(), i)
	v.nulls--
}

// cover makes sure that there are bits for n rows.
func (v *validity) cover(n int) {
	missing := int(bitutil.BytesForBits(int64(n))) - v.bits.n
	if missing > 0 {
		fillWith(v.bits.grow(missing), 0xff)
	}
}

// take hands over the bitmap of n rows: nil if none is null.
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

// fillWith sets all elements to a value. Copies of some are quicker than stores, while those
// stay in the processor's nearest cache.
func fillWith[T uint8 | uint32 | uint64](dst []T, value T) {
	n := min(32, len(dst))
	for i := range dst[:n] {
		dst[i] = value
	}
	for n < len(dst) {
		n += copy(dst[n:], dst[:min(n, 1024)])
	}
}

// repeatBytes fills bytes, of which there are a multiple, with a value again and again.
func repeatBytes(dst, value []byte) {
	n := copy(dst, value)
	for n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}
