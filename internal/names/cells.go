package names

import (
	"math/bits"
	"sync/atomic"
)

const firstCells = 64

// numberTable is a hash table of names or attributes, which are numbered from 1 in the order of creation. It
// holds only the numbers, with open addressing, and is 1/2 to 3/4 full unless small. One goroutine at a
// time adds the next number or drops the last, while any number search without a lock.
//
// The cells are always as if the numbers had been put in one by one, in order. So a cell with a number that
// a reader does not know was empty at the reader's time, and ends its search like an empty cell. For the
// same reason the last number is dropped by emptying its cell.
type numberTable struct {
	table atomic.Pointer[[]atomic.Uint32]
}

// find returns the number in [1, n] that has the key and satisfies is, or 0. It calls is only for numbers
// with the key.
func (c *numberTable) find(key uint64, n uint32, is func(i uint32) bool) uint32 {
	p := c.table.Load()
	if p == nil {
		return 0
	}
	table := *p
	for at := home(key, len(table)); ; at = after(at, len(table)) {
		i := table[at].Load()
		if i == 0 || i > n {
			return 0
		}
		if is(i) {
			return i
		}
	}
}

// first returns the content of a key's first cell.
func (c *numberTable) first(key uint64) uint32 {
	if p := c.table.Load(); p != nil {
		return (*p)[home(key, len(*p))].Load()
	}
	return 0
}

// add puts in i, the number after the last. If the cells are too full, all numbers go into new cells, in
// order. Readers go on in the old cells, which have all numbers that they know.
func (c *numberTable) add(i uint32, key func(i uint32) uint64) {
	p := c.table.Load()
	if p != nil && 4*int(i) <= 3*len(*p) {
		put(*p, i, key(i))
		return
	}
	size := firstCells
	if p != nil {
		size = len(*p) + len(*p)/2
	}
	c.grow(size, i, key)
}

// grow puts the first n numbers into new cells.
func (c *numberTable) grow(size int, n uint32, key func(i uint32) uint64) {
	grown := make([]atomic.Uint32, size)
	for k := uint32(1); k <= n; k++ {
		put(grown, k, key(k))
	}
	c.table.Store(&grown)
}

// reserve makes room for `numbers` numbers, of which n are present.
func (c *numberTable) reserve(numbers int, n uint32, key func(i uint32) uint64) {
	if p := c.table.Load(); p == nil || 3*len(*p) < 4*numbers {
		c.grow(numbers+numbers/2+firstCells, n, key)
	}
}

// drop removes i, the last number, which has the key.
func (c *numberTable) drop(i uint32, key uint64) {
	table := *c.table.Load()
	at := home(key, len(table))
	for table[at].Load() != i {
		at = after(at, len(table))
	}
	table[at].Store(0)
}

func (c *numberTable) size() int {
	if p := c.table.Load(); p != nil {
		return 4 * len(*p)
	}
	return 0
}

// put writes i into the first empty cell from the key's on.
func put(table []atomic.Uint32, i uint32, key uint64) {
	at := home(key, len(table))
	for table[at].Load() != 0 {
		at = after(at, len(table))
	}
	table[at].Store(i)
}

// home returns the first cell for a key: the upper half of its product with a hash, which is the key times
// 2^64 over the golden ratio, folded.
func home(key uint64, cells int) int {
	const golden = 0x9e3779b97f4a7c15
	hi, lo := bits.Mul64(key, golden)
	cell, _ := bits.Mul64(hi^lo, uint64(cells))
	return int(cell)
}

// after returns the next cell, in a circle.
func after(cell, cells int) int {
	if cell++; cell < cells {
		return cell
	}
	return 0
}
