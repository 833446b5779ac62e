package names

import (
	"slices"
	"sync/atomic"

	"github.com/zeebo/xxh3"
)

const (
	firstBlock = 512
	lastBlock  = 64 << 10 // as maxName: a name fits into a block
)

// texts is the names of attributes, each once, numbered from 1 in order of first use. It is
// no dict.Values, because a name is removed with the attribute that was its first user:
// failures and aborts must leave nothing behind, however often.
//
// One goroutine at a time adds and truncates. Beside it any number read published texts,
// without a lock.
//
//	place   block 30 bits | offset 17 bits | length 17 bits    of each text
//	block   bytes, end to end; 512 B the first, twice that the next, up to 64 KiB
type texts struct {
	seed   uint64
	places paged[atomic.Uint64] // by number-1
	blocks atomic.Pointer[[][]byte]

	// The writer's own.
	known []text // by number-1
	cells cells
	end   int // of the texts in the last block
}

// text is the writer's state of a text: its hash, so that growing need not read it again, and
// the node that used it first.
type text struct{ hash, user uint32 }

func (t *texts) hash(name string) uint32 {
	h := xxh3.HashStringSeed(name, t.seed)
	return uint32(h ^ h>>32)
}

// key returns the key of a text in the cells.
func (t *texts) key(i uint32) uint64 { return uint64(t.known[i-1].hash) }

// at returns the bytes of a text, which never change and must not be changed. For a removed
// text they are another's, or none.
func (t *texts) at(i uint32) []byte {
	blocks := *t.blocks.Load() // before the place: see truncate
	block, offset, end := splitPlace(t.places.at(i - 1).Load())
	if block < len(blocks) && end <= len(blocks[block]) {
		return blocks[block][offset:end:end]
	}
	return nil
}

func splitPlace(place uint64) (block, offset, end int) {
	const mask = 1<<17 - 1
	offset = int(place >> 17 & mask)
	return int(place >> 34), offset, offset + int(place&mask)
}

// intern returns the number of a name, which has the hash and at most maxName bytes. If it
// is new, a copy is kept, as first used by the user.
func (t *texts) intern(name string, hash, user uint32) uint32 {
	n := uint32(len(t.known))
	if i := t.cells.find(uint64(hash), n, func(i uint32) bool { return string(t.at(i)) == name }); i != 0 {
		return i
	}
	t.places.grow(n)
	t.places.at(n).Store(t.keep(name))
	t.known = append(t.known, text{hash, user})
	t.cells.add(n+1, t.key)
	return n + 1
}

// keep copies a name into the last block, or a new one, and returns the place.
func (t *texts) keep(name string) uint64 {
	p := t.blocks.Load()
	if p == nil || len(name) > len((*p)[len(*p)-1])-t.end {
		p = t.block(p, len(name))
	}
	block, offset := len(*p)-1, t.end
	t.end += copy((*p)[block][offset:], name)
	return uint64(block)<<34 | uint64(offset)<<17 | uint64(len(name))
}

// block adds a block with room for a number of bytes.
func (t *texts) block(old *[][]byte, room int) *[][]byte {
	var blocks [][]byte
	if old != nil {
		blocks = *old
	}
	size := max(min(firstBlock<<min(len(blocks), 16), lastBlock), room)
	blocks = append(blocks, make([]byte, size))
	t.blocks.Store(&blocks)
	t.end = 0
	return &blocks
}

// truncate removes the texts that were first used by a node after keep. Bytes are never
// written twice: the last block is copied up to its new end, and before the copy is published
// the places behind that end are gone.
func (t *texts) truncate(keep uint32) {
	n := len(t.known)
	var block, end int
	for ; n > 0 && t.known[n-1].user > keep; n-- {
		t.cells.drop(uint32(n), t.key(uint32(n)))
		block, end, _ = splitPlace(t.places.at(uint32(n - 1)).Swap(0))
	}
	if n == len(t.known) {
		return
	}
	blocks := slices.Clone((*t.blocks.Load())[:block+1])
	blocks[block] = make([]byte, len(blocks[block]))
	copy(blocks[block], (*t.blocks.Load())[block][:end])
	t.blocks.Store(&blocks)
	t.known, t.end = t.known[:n], end
}

// size returns the bytes on the heap.
func (t *texts) size() int {
	bytes := t.places.size(8) + t.cells.size() + 8*cap(t.known)
	if blocks := t.blocks.Load(); blocks != nil {
		for _, block := range *blocks {
			bytes += len(block)
		}
		bytes += 24 * cap(*blocks)
	}
	return bytes
}
