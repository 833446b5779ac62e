package encoding

import (
	"encoding/binary"
	"math/bits"

	"github.com/google/uuid"
	"github.com/zeebo/xxh3"
)

// elementKey is what chooses the hash of elements out of a family (multiply-shift of two
// words): of any two elements, each pair of hashes is as likely as any other, when the key
// is random. So who does not know the key cannot choose elements that meet in few slots.
// That needs no more than 64 bits: elements are compared with what is there.
type elementKey struct{ add, first, second [2]uint64 } // low, high

// newElementKey makes a key of a seed.
func newElementKey(seed uint64) (k elementKey) {
	for i, word := range []*[2]uint64{&k.add, &k.first, &k.second} {
		sum := xxh3.Hash128Seed([]byte{byte(i)}, seed)
		*word = [2]uint64{sum.Lo, sum.Hi}
	}
	return k
}

// hash returns the upper half of add + first * low word of id + second * high word, modulo
// 2^128.
func (k *elementKey) hash(id *uuid.UUID) uint64 {
	low, high := binary.LittleEndian.Uint64(id[:8]), binary.LittleEndian.Uint64(id[8:])
	upper, lower := bits.Mul64(k.first[0], low)
	upper2, lower2 := bits.Mul64(k.second[0], high)
	lower, carry := bits.Add64(lower, lower2, 0)
	_, carry2 := bits.Add64(lower, k.add[0], 0)
	return upper + upper2 + carry + carry2 + k.first[1]*low + k.second[1]*high + k.add[1]
}

// listHash sets hash to the identity of a list, the xxh3 of its elements, and returns its
// slotHash. Sixteen bytes that were written as two words and are copied at once wait for
// the writes, so they are written where they belong.
//
// What speaks for it: lists that nobody made to collide have the same 128 bits with a
// probability of 2^-128 a pair. Who wants lists to collide meets products of words into
// which others were mixed that depend on the seed; a store draws that at random and tells
// nobody a hash, so nothing can be tried out elsewhere. This is no proof, and xxh3 promises
// none: who has to withstand such lists has Verify, which compares. NH, a sum of products
// with a proof, takes half as long again in plain Go if it is to be good for 2^-126.
func (d *ListDict) listHash(hash *uuid.UUID, ids []uuid.UUID) (slot uint64) {
	sum := xxh3.Hash128Seed(idBytes(ids), d.seed)
	binary.LittleEndian.PutUint64(hash[:8], sum.Lo)
	binary.LittleEndian.PutUint64(hash[8:], sum.Hi)
	return sum.Lo
}

// slotHash returns where the slots have a list: any bits of its hash do.
func slotHash(hash *uuid.UUID) uint64 { return binary.LittleEndian.Uint64(hash[:]) }
