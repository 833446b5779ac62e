package history

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/internal/tile"
)

const blockLen = 64

// block is room for entries, as columns. The writer writes behind the entries that readers
// look at.
type block struct {
	at    [blockLen]tile.End
	slots [blockLen]uint8 // and tile.Null
}

// keptEntries bounds the entries of scratch memory that is kept for later use.
const keptEntries = 1 << 16

// blocks that no reader has seen are used again, in the same or another history. Their
// contents behind the entries have no meaning.
var blocks = sync.Pool{New: func() any { return new(block) }}

// buffer is the unsealed entries of a lane, for readers.
type buffer struct {
	n      atomic.Int64 // entries that readers may look at
	blocks []*block
}

// newBuffer returns a buffer of entries, and of those to come in their last block.
func newBuffer(e entries) *buffer {
	b := &buffer{blocks: e.blocks}
	b.n.Store(int64(e.n))
	return b
}

// entries is intervals that ended, in the order of arrival, which for one slot is that of
// their ends. The start of an interval follows from the entry before it of its slot.
type entries struct {
	tail   *block // the writer's: the block of the next entry; nil if that is unknown or a new one
	n      int
	blocks []*block
}

// add appends an entry.
func (e *entries) add(end int64, word uint64, slot uint8) {
	b := e.tail
	if b == nil {
		b = e.next()
	}
	i := e.n % blockLen
	b.at[i], b.slots[i] = tile.End{End: end, Word: word}, slot
	e.n++
	if i == blockLen-1 {
		e.tail = nil
	}
}

// next returns the block of the next entry.
func (e *entries) next() *block {
	if e.n/blockLen == len(e.blocks) {
		e.blocks = append(e.blocks, blocks.Get().(*block))
	}
	e.tail = e.blocks[e.n/blockLen]
	return e.tail
}

// addAll appends entries.
func (e *entries) addAll(from tile.Run) {
	for len(from.At) > 0 {
		b, i := e.next(), e.n%blockLen
		n := copy(b.at[i:], from.At)
		copy(b.slots[i:], from.Slots[:n])
		e.n += n
		from = from.Behind(n)
	}
	if e.n%blockLen == 0 {
		e.tail = nil
	}
}

// hasBefore reports whether an entry ends before t.
func (e *entries) hasBefore(t int64) bool {
	for i := range e.n {
		if e.blocks[i/blockLen].at[i%blockLen].End < t {
			return true
		}
	}
	return false
}

// from returns the entries that end at or after t, in blocks of their own.
func (e *entries) from(t int64) (left entries) {
	for i := range e.n {
		b := e.blocks[i/blockLen]
		if at := b.at[i%blockLen]; at.End >= t {
			left.add(at.End, at.Word, b.slots[i%blockLen])
		}
	}
	return left
}

// oldParts appends the latest end of each run of `entries` entries, and its size; an entry takes `bytes` bytes.
func (e *entries) oldParts(parts []oldPart, entries int, bytes float64) []oldPart {
	for i := 0; i < e.n; i += entries {
		p := oldPart{last: math.MinInt64}
		for k := i; k < min(i+entries, e.n); k++ {
			p.last = max(p.last, e.blocks[k/blockLen].at[k%blockLen].End)
			p.bytes += bytes
		}
		parts = append(parts, p)
	}
	return parts
}

// reuse lets go of the blocks that readers do not have. They have none if seen is nil.
func (e *entries) reuse(seen *buffer) {
	from := 0
	if seen != nil {
		from = len(seen.blocks)
	}
	for _, b := range e.blocks[from:] {
		blocks.Put(b)
	}
}
