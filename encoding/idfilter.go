package encoding

import (
	"github.com/google/uuid"
	"github.com/zeebo/xxh3"
)

// IDHash is what a filter, and an index, know a 16-byte id by.
type IDHash xxh3.Uint128

// HashID returns the hash of an id.
func HashID(id uuid.UUID) IDHash { return hashID(id[:]) }

func hashID(id []byte) IDHash { return IDHash(xxh3.Hash128(id)) }

// hashIDs returns the hashes of ids that lie end to end. About 4 ns an id.
func hashIDs(ids []byte) []IDHash {
	hashes := make([]IDHash, len(ids)/idSize)
	for i := range hashes {
		hashes[i] = hashID(ids[idSize*i : idSize*(i+1)])
	}
	return hashes
}

// in returns which of so many parts the hash chooses.
func (h IDHash) in(parts int) int { return int(h.Hi >> 32 * uint64(parts) >> 32) }

// idFilter is a blocked Bloom filter of 16-byte ids: which of them a sequence can have.
// The hash of an id chooses a block, a line of the processor's cache, and bits in it.
//
//	block  512 bits = 8 words | block | ...   about 14 bits an id
//
// Of the ids that are not in it, about one in five hundred seems to be.
type idFilter []uint64

const (
	filterBlock = 8 // words
	filterBits  = 14
	filterProbe = 7
	// filterFrom is how many ids are worth a filter and an index: fewer are looked through as
	// fast.
	filterFrom = 1 << 8
)

// filterSize returns the words of a filter of so many ids.
func filterSize(ids int) int {
	return (ids*filterBits + 64*filterBlock - 1) / (64 * filterBlock) * filterBlock
}

// newIDFilter returns the filter of ids. About 6 ns an id.
func newIDFilter(ids []IDHash) idFilter {
	f := make(idFilter, filterSize(len(ids)))
	for _, id := range ids {
		block, hash := f.block(id), id.Lo
		for range filterProbe {
			block[hash>>6%filterBlock] |= 1 << (hash % 64)
			hash >>= 9
		}
	}
	return f
}

// block returns the block of an id. The low half of its hash says, nine bits by nine bits,
// where in it the id's bits are.
func (f idFilter) block(id IDHash) idFilter {
	at := id.in(len(f)/filterBlock) * filterBlock
	return f[at : at+filterBlock]
}

// mayHave says whether an id can be among those of the filter. About 10 ns.
func (f idFilter) mayHave(id IDHash) bool {
	block, hash := f.block(id), id.Lo
	for range filterProbe {
		if block[hash>>6%filterBlock]>>(hash%64)&1 == 0 {
			return false
		}
		hash >>= 9
	}
	return true
}
