package dict

import (
	"encoding/binary"
	"math/bits"

	"github.com/google/uuid"
	"github.com/zeebo/xxh3"
)

// elementKey selects the elements' hash from a family (multiply-shift of two words). For a random key, each
// pair of hashes for two elements is equally likely, so elements cannot be chosen to collide without the
// key. 64 bits are enough, because elements are compared after a match.
type elementKey struct{ add, first, second [2]uint64 } // low, high

// newElementKey derives a key from a seed.
func newElementKey(seed uint64) (k elementKey) {
	for i, word := range []*[2]uint64{&k.add, &k.first, &k.second} {
		sum := xxh3.Hash128Seed([]byte{byte(i)}, seed)
		*word = [2]uint64{sum.Lo, sum.Hi}
	}
	return k
}

// hash returns the upper half of add + first * low word of id + second * high word, modulo 2^128.
func (k *elementKey) hash(id *uuid.UUID) uint64 {
	low, high := binary.LittleEndian.Uint64(id[:8]), binary.LittleEndian.Uint64(id[8:])
	upper, lower := bits.Mul64(k.first[0], low)
	upper2, lower2 := bits.Mul64(k.second[0], high)
	lower, carry := bits.Add64(lower, lower2, 0)
	_, carry2 := bits.Add64(lower, k.add[0], 0)
	return upper + upper2 + carry + carry2 + k.first[1]*low + k.second[1]*high + k.add[1]
}

// listHash sets hash to a list's identity, which is the xxh3 of its elements, and returns its slotHash. The
// sixteen bytes are written in place, because copying them right after they were written as two words would
// stall on the writes.
//
// Two lists that were not made to collide have the same 128 bits with a probability of 2^-128 a pair. An
// attacker faces products of words that are mixed with the seed; a store draws the seed at random and
// reveals no hash, so collisions cannot be found offline. This is not a proof, and xxh3 promises none:
// Verify, which compares lists, is for stores that must withstand such input. NH, a sum of products with a
// proof, takes half as long again in plain Go at 2^-126.
func (d *Lists) listHash(hash *uuid.UUID, ids []uuid.UUID) (slot uint64) {
	sum := xxh3.Hash128Seed(idBytes(ids), d.seed)
	binary.LittleEndian.PutUint64(hash[:8], sum.Lo)
	binary.LittleEndian.PutUint64(hash[8:], sum.Hi)
	return sum.Lo
}

// slotHash returns a list's slot hash. Any bits of the list's hash serve.
func slotHash(hash *uuid.UUID) uint64 { return binary.LittleEndian.Uint64(hash[:]) }
