package encoding

import "sync/atomic"

// chunkLen is how many elements a chunk holds. Growing copies the directory
// of chunks only, never an element, so a reader's element stays where it is.
const chunkLen = 256

// chunks is an append-only array for one writer at a time and any number of
// readers. A reader may ask for every element whose index it was told after
// the element was written.
type chunks[T any] struct {
	directory atomic.Pointer[[]*[chunkLen]T]
}

// chunked returns how many elements the chunks of n elements have room for.
func chunked(n int) int { return (n + chunkLen - 1) / chunkLen * chunkLen }

// at returns element i. The caller knows that it exists.
func (c *chunks[T]) at(i int) *T {
	return &(*c.directory.Load())[i/chunkLen][i%chunkLen]
}

// grow makes room for element i, the one after the last.
func (c *chunks[T]) grow(i int) {
	if i%chunkLen != 0 {
		return
	}
	var directory []*[chunkLen]T
	if old := c.directory.Load(); old != nil {
		directory = append(directory, *old...)
	}
	directory = append(directory, new([chunkLen]T))
	c.directory.Store(&directory)
}
