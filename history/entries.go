package history

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/internal/tile"
)

const blockLen = 64

// block is memory for entries, as columns. The writer writes behind the entries that readers use.
type block struct {
	at    [blockLen]tile.End
	slots [blockLen]uint8 // slot, and tile.Null for null
}

// keptEntries bounds the scratch memory that is kept for later use, in entries.
const keptEntries = 1 << 16

// blocks recycles blocks that no reader has seen, also between histories. Contents behind the entries have
// no meaning.
var blocks = sync.Pool{New: func() any { return new(block) }}

// buffer is a lane's unsealed entries, as readers see them.
type buffer struct {
	n      atomic.Int64 // entries that readers may use
	blocks []*block
}

// newBuffer returns a buffer of e, which also shows entries added to the last block later.
func newBuffer(e entries) *buffer {
	b := &buffer{blocks: e.blocks}
	b.n.Store(int64(e.n))
	return b
}

// entries holds ended intervals in the order of arrival, which within a slot is the order of ends. An
// interval starts where the slot's previous entry ended.
type entries struct {
	tail   *block // the writer's block for the next entry; nil if unknown or not allocated
	n      int
	blocks []*block
}

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

// next returns the block for the next entry.
func (e *entries) next() *block {
	if e.n/blockLen == len(e.blocks) {
		e.blocks = append(e.blocks, blocks.Get().(*block))
	}
	e.tail = e.blocks[e.n/blockLen]
	return e.tail
}

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

// from copies the entries that end at or after t into blocks of their own.
func (e *entries) from(t int64) (left entries) {
	for i := range e.n {
		b := e.blocks[i/blockLen]
		if at := b.at[i%blockLen]; at.End >= t {
			left.add(at.End, at.Word, b.slots[i%blockLen])
		}
	}
	return left
}

// oldParts appends a part for each run of `entries` entries. An entry takes `bytes` bytes.
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

// reuse recycles the blocks that readers do not have. seen is the buffer that readers have, nil if none.
func (e *entries) reuse(seen *buffer) {
	from := 0
	if seen != nil {
		from = len(seen.blocks)
	}
	for _, b := range e.blocks[from:] {
		blocks.Put(b)
	}
}
