package tree

// What tests outside the package see of it. They are outside because package profile, whose stacks they
// use, imports it.

const (
	StackBytes = stackBytes
	FrameBytes = frameBytes
	ClassBits  = classBits
)

// ClassOf returns the class of a size.
func ClassOf(size uint64) int { return classOf(size) }

// PathHash returns the hash of a path that ends in a frame.
func PathHash(above uint64, f Frame) uint64 { return pathHash(above, functionHash(f.Function, f.File)) }

// Count returns the number of nodes, and Bytes what they are counted as.
func (c *Calls) Count() int   { return len(c.merge(0).nodes) }
func (c *Calls) Bytes() int64 { return c.size() }

// Shrink merges the nodes of the sides, as beyond the memory of a tree.
func (c *Calls) Shrink() { c.nodes = c.nodes.merge(len(c.frames), 0).asPaths() }
