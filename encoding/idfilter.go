package encoding

import (
	"encoding/binary"

	"github.com/google/uuid"
	"github.com/zeebo/xxh3"
)

// IDHash is the hash of a 16-byte id, as filters and indexes use it.
type IDHash xxh3.Uint128

// HashID returns an id's hash.
func HashID(id uuid.UUID) IDHash { return hashID(id[:]) }

func hashID(id []byte) IDHash { return IDHash(xxh3.Hash128(id)) }

// hashIDs returns the hashes of ids that lie end to end. It costs about 4 ns per id.
func hashIDs(ids []byte) []IDHash {
	hashes := make([]IDHash, len(ids)/idSize)
	for i := range hashes {
		hashes[i] = hashID(ids[idSize*i : idSize*(i+1)])
	}
	return hashes
}

// in maps the hash to a number below parts.
func (h IDHash) in(parts int) int { return int(h.Hi >> 32 * uint64(parts) >> 32) }

// idFilter is a blocked Bloom filter for 16-byte ids. An id's hash chooses a block, which is one cache
// line, and bits in it.
//
//	block  512 bits = 8 words | block | ...   about 14 bits per id
//
// About one in five hundred absent ids passes the filter.
type idFilter []uint64

const (
	filterBlock = 8 // words
	filterBits  = 14
	filterProbe = 7
	// filterFrom is the least number of ids with a filter and an index, because scanning fewer ids is as
	// fast.
	filterFrom = 1 << 8
)

// filterSize returns the size, in words, of a filter for `ids` ids.
func filterSize(ids int) int {
	return (ids*filterBits + 64*filterBlock - 1) / (64 * filterBlock) * filterBlock
}

// newIDFilter returns the filter of ids. It costs about 6 ns per id.
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

// IDPlace locates a column of UUIDs in an image's wide words: its filter, or the UUIDs if they are few. A
// reader can therefore look up one id in a file without reading the rest of the image.
type IDPlace struct {
	From, Size int // bytes, multiples of 8
	Filter     bool
}

// Span returns the bytes of the place that decide whether an id can be there: one block of a filter, or all
// UUIDs. A filter's size is a multiple of 64, and each block begins at a multiple of 64.
func (p IDPlace) Span(id uuid.UUID) (from, to int) {
	if !p.Filter {
		return 0, p.Size
	}
	from = HashID(id).in(p.Size/(8*filterBlock)) * 8 * filterBlock
	return from, from + 8*filterBlock
}

// MayHave reports whether an id can be there, given the bytes of its Span. With a filter, it is wrong for one
// in five hundred absent ids.
func (p IDPlace) MayHave(span []byte, id uuid.UUID) bool {
	if p.Filter {
		var block [filterBlock]uint64
		for i := range block {
			block[i] = binary.LittleEndian.Uint64(span[8*i:])
		}
		return idFilter(block[:]).mayHave(HashID(id))
	}
	for ; len(span) >= idSize; span = span[idSize:] {
		if uuid.UUID(span[:idSize]) == id {
			return true
		}
	}
	return false
}

// block returns an id's block. The low half of the hash gives the positions of the id's bits in the block,
// nine bits each.
func (f idFilter) block(id IDHash) idFilter {
	at := id.in(len(f)/filterBlock) * filterBlock
	return f[at : at+filterBlock]
}

// mayHave reports whether an id can be in the filter. It costs about 10 ns.
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
