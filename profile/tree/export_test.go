package tree

import (
	"cmp"
	"slices"
)

// What tests outside the package see of it. They are outside because package profile, whose stacks they
// use, imports it.

const (
	StackBytes = stackBytes
	FrameBytes = frameBytes
	ClassBits  = classBits
	OtherFrame = otherFrame
)

// ClassOf returns the class of a size.
func ClassOf(size uint64) int { return classOf(size) }

// PathHash returns the hash of a path that ends in a frame.
func PathHash(above uint64, f Frame) uint64 { return pathHash(above, functionHash(f.Function, f.File)) }

// Count returns the number of nodes, and Bytes what they are counted as.
func (c *Calls) Count() int   { return int(c.nodes.count) }
func (c *Calls) Bytes() int64 { return c.bytes }

// InClasses returns the sizes of all nodes but the root in the order in which they are kept, if at most some are, each
// class sorted by falling size and then by number.
func (c *Calls) InClasses(most int) (nodes []int32, sizes []uint64) {
	t := c.sum()
	for some := range c.bySize(&t, most) {
		slices.SortFunc(some, func(a, b int32) int {
			return cmp.Or(cmp.Compare(t.size(b), t.size(a)), cmp.Compare(a, b))
		})
		nodes = append(nodes, some...)
	}
	for _, i := range nodes {
		sizes = append(sizes, t.size(i))
	}
	return nodes, sizes
}
