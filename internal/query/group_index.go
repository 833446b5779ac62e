package query

import (
	"bytes"
	"slices"

	"github.com/zeebo/xxh3"
)

// groupIndex numbers the groups of a query from 0 by their keys. The keys are stored end to end without
// an allocation each, because all keys of a query have the same length.
type groupIndex struct {
	seed  uint64 // seed of the hash, because chosen labels must not collide
	width int    // bytes of a key
	n     int    // number of groups
	keys  []byte
	// slots is an open hash table. Its length is a power of two, and at most half of it is used. A slot
	// has the group's number plus 1, or 0 if it is free. Slots beyond the length are 0.
	slots []int32
}

const firstSlots = 1 << 6

// start prepares an empty index for the keys of another query.
func (x *groupIndex) start(seed uint64, width int) {
	if cap(x.slots) < firstSlots {
		x.slots = make([]int32, firstSlots)
	}
	x.seed, x.width, x.slots = seed, width, x.slots[:firstSlots]
}

// done removes the groups.
func (x *groupIndex) done() {
	clear(x.slots)
	x.n, x.keys = 0, x.keys[:0]
}

// key returns a group's key. It is valid until the next add.
func (x *groupIndex) key(group int) []byte { return x.keys[group*x.width:][:x.width] }

// find returns the group that has a key.
func (x *groupIndex) find(key []byte) (group int32, ok bool) {
	group = x.slots[x.slot(key)] - 1
	return group, group >= 0
}

// add adds a group and returns its number. The key must be new.
func (x *groupIndex) add(key []byte) int32 {
	if 2*x.n >= len(x.slots) {
		x.grow()
	}
	slot := x.slot(key)
	x.n++
	x.keys = append(x.keys, key...)
	x.slots[slot] = int32(x.n)
	return int32(x.n - 1)
}

// slot returns a key's slot, or a free slot for it.
func (x *groupIndex) slot(key []byte) int {
	most := len(x.slots) - 1
	for i := int(xxh3.HashSeed(key, x.seed)) & most; ; i = (i + 1) & most {
		if group := x.slots[i] - 1; group < 0 || bytes.Equal(x.key(int(group)), key) {
			return i
		}
	}
}

// grow doubles the table and the room for keys.
func (x *groupIndex) grow() {
	x.keys = slices.Grow(x.keys, x.n*x.width)
	slots := 2 * len(x.slots)
	if clear(x.slots); slots <= cap(x.slots) {
		x.slots = x.slots[:slots]
	} else {
		x.slots = make([]int32, slots)
	}
	for group := range x.n {
		x.slots[x.slot(x.key(group))] = int32(group + 1)
	}
}
