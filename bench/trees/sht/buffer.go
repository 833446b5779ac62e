package sht

import (
	"sync"

	"github.com/granarydb/granary/bench/trees/block"
)

// buffer has the intervals of an R-SHT that are not yet in the tree, in the order of their ends.
type buffer struct {
	mu      sync.RWMutex
	all     []block.Interval
	size    int // bytes in blocks
	largest int // bytes of the largest
}

// add appends an interval, whose text it keeps.
func (b *buffer) add(in *block.Interval) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, *in)
	b.size += in.Bytes()
	b.largest = max(b.largest, in.Bytes())
}

// each calls f for each interval.
func (b *buffer) each(f func(*block.Interval)) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for i := range b.all {
		f(&b.all[i])
	}
}

// clear empties the buffer, whose room is used again.
func (b *buffer) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.all)
	b.all, b.size, b.largest = b.all[:0], 0, 0
}

// capacity returns the bytes of intervals, each of at most some bytes, that a subtree of a depth holds
// however they are divided. A node that does not take the next interval has less room left than the
// largest one needs.
func capacity(l block.Layout, depth, largest int) int {
	holds := l.Room(0)
	for level := 1; level < depth; level++ {
		holds = l.Room(level) - largest + l.Fan*(holds-largest)
	}
	return holds
}
