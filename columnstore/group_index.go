package columnstore

import (
	"bytes"
	"slices"

	"github.com/zeebo/xxh3"
)

// groupIndex numbers the groups of a query by their keys, from 0 on. All keys of a query
// have the same length, so that they lie one after the other and none is allocated by
// itself.
type groupIndex struct {
	seed  uint64 // of the hash: who makes up labels cannot make them collide
	width int    // of a key
	n     int    // groups
	keys  []byte
	// slots is an open hash table of a power of two, half full at most: a group's number
	// and one, 0 where it is free. Behind its length, to its capacity, all is 0.
	slots []int32
}

const firstSlots = 1 << 6

// start makes it ready for keys of another query; there are no groups in it.
func (x *groupIndex) start(seed uint64, width int) {
	if cap(x.slots) < firstSlots {
		x.slots = make([]int32, firstSlots)
	}
	x.seed, x.width, x.slots = seed, width, x.slots[:firstSlots]
}

// done forgets the groups.
func (x *groupIndex) done() {
	clear(x.slots)
	x.n, x.keys = 0, x.keys[:0]
}

// key returns the key of a group, good until the next add.
func (x *groupIndex) key(group int) []byte { return x.keys[group*x.width:][:x.width] }

// find returns the group that has a key.
func (x *groupIndex) find(key []byte) (group int32, ok bool) {
	group = x.slots[x.slot(key)] - 1
	return group, group >= 0
}

// add returns the number of a new group, whose key none has.
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

// slot returns where a key is, or would be.
func (x *groupIndex) slot(key []byte) int {
	most := len(x.slots) - 1
	for i := int(xxh3.HashSeed(key, x.seed)) & most; ; i = (i + 1) & most {
		if group := x.slots[i] - 1; group < 0 || bytes.Equal(x.key(int(group)), key) {
			return i
		}
	}
}

// grow makes room for as many groups again.
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
