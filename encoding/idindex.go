package encoding

import (
	"github.com/google/uuid"
	"github.com/zeebo/xxh3"
)

// idFilter is a blocked Bloom filter of 16-byte ids: which of them a sequence can have.
// The hash of an id chooses a block, a line of the processor's cache, and bits in it.
//
//	block  512 bits = 8 words | block | ...   about 10 bits an id
//
// Of the ids that are not in it, about one in a hundred seems to be.
type idFilter []uint64

const (
	filterBlock = 8 // words
	filterBits  = 10
	filterProbe = 6
	// filterFrom is how many ids are worth a filter: fewer are looked through as fast.
	filterFrom = 1 << 10
)

// filterSize returns the words of a filter of so many ids.
func filterSize(ids int) int {
	return (ids*filterBits + 64*filterBlock - 1) / (64 * filterBlock) * filterBlock
}

// newIDFilter returns the filter of ids that lie end to end. About 20 ns an id.
func newIDFilter(ids []byte) idFilter {
	f := make(idFilter, filterSize(len(ids)/len(uuid.UUID{})))
	for ; len(ids) > 0; ids = ids[len(uuid.UUID{}):] {
		block, hash := f.block(ids[:len(uuid.UUID{})])
		for range filterProbe {
			block[hash>>6%filterBlock] |= 1 << (hash % 64)
			hash >>= 9
		}
	}
	return f
}

// block returns the block of an id, and a hash whose bits, nine by nine, say where in it
// the id's bits are.
func (f idFilter) block(id []byte) (block idFilter, hash uint64) {
	h := xxh3.Hash128(id)
	at := int(h.Hi>>32*uint64(len(f)/filterBlock)>>32) * filterBlock
	return f[at : at+filterBlock], h.Lo
}

// mayHave says whether an id can be among those of the filter. About 20 ns.
func (f idFilter) mayHave(id uuid.UUID) bool {
	block, hash := f.block(id[:])
	for range filterProbe {
		if block[hash>>6%filterBlock]>>(hash%64)&1 == 0 {
			return false
		}
		hash >>= 9
	}
	return true
}
