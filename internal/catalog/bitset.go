package catalog

import (
	"math/bits"
	"slices"
)

// Bitset is a set of small integers. A published Bitset is immutable.
type Bitset []uint64

// Has reports whether i is in the set.
func (b Bitset) Has(i uint32) bool {
	return int(i/64) < len(b) && b[i/64]>>(i%64)&1 == 1
}

// Len returns the number of members. O(words).
func (b Bitset) Len() (n int) {
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

// Last returns the greatest member, or 0 if the set is empty.
func (b Bitset) Last() int {
	for i, word := range slices.Backward(b) {
		if word != 0 {
			return 64*i + 63 - bits.LeadingZeros64(word)
		}
	}
	return 0
}

// with returns the set with members added. It copies the set only if a member is new.
func (b Bitset) with(members []uint32) (grown Bitset, changed bool) {
	for _, m := range members {
		if b.Has(m) {
			continue
		}
		if !changed {
			b, changed = slices.Clone(b), true
		}
		for int(m/64) >= len(b) {
			b = append(b, 0)
		}
		b[m/64] |= 1 << (m % 64)
	}
	return b, changed
}

// Few returns the members that others has too, in ascending order. It returns false if there are more
// than most. others has at least as many words as b.
func (b Bitset) Few(others []uint64, most int) (members []uint32, few bool) {
	n := 0
	for i, word := range b {
		if n += bits.OnesCount64(word & others[i]); n > most {
			return nil, false
		}
	}
	members = make([]uint32, 0, n)
	for i, word := range b {
		for word &= others[i]; word != 0; word &= word - 1 {
			members = append(members, uint32(64*i+bits.TrailingZeros64(word)))
		}
	}
	return members, true
}

// All calls f with each member in ascending order.
func (b Bitset) All(f func(i uint32)) {
	for i := range uint32(len(b) * 64) {
		if b.Has(i) {
			f(i)
		}
	}
}
