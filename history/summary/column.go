package summary

import (
	"slices"
	"sort"
	"unsafe"

	"github.com/granarydb/granary/history"
)

// A node covers fan nodes in the level below.
const (
	fanBits = 4
	fan     = 1 << fanBits
)

// column is an attribute's nodes. It is only appended to, and readers have their pyramid's lengths.
type column struct {
	kind   history.Kind
	begin  int64    // start of the first interval
	ends   []int64  // ends of the lowest nodes
	tiles  []uint32 // for each, the next tile's number
	levels []level  // by size; each node in level l covers fan^l lowest nodes
}

// level is all nodes with one size.
type level struct {
	at   []uint32 // start of each node's bytes
	data []byte
}

func (c *column) len() int { return len(c.ends) }

// start returns the start of node k's first interval.
func (c *column) start(k int) int64 {
	if k == 0 {
		return c.begin
	}
	return c.ends[k-1] + 1
}

// from returns the first node that begins at or after t, or len(c.ends).
func (c *column) from(t int64) int {
	return sort.Search(len(c.ends), func(k int) bool { return c.start(k) >= t })
}

// read reads node i in level l.
func (c *column) read(l, i int, n *node) {
	n.read(c.levels[l].data[c.levels[l].at[i]:], c.kind)
}

// add appends the next lowest node, and the nodes above it that it completes. It returns their bytes.
func (c *column) add(n *node, end int64, behind int) (bytes int) {
	c.ends = appendTight(c.ends, end)
	c.tiles = appendTight(c.tiles, uint32(behind))
	if len(c.levels) == 0 {
		c.levels = make([]level, 1)
	}
	bytes = 8 + 4 + c.levels[0].add(n, c.kind)
	var below, sum node
	for l := 1; len(c.levels[l-1].at)%fan == 0; l++ {
		sum.reset()
		for i := len(c.levels[l-1].at) - fan; i < len(c.levels[l-1].at); i++ {
			c.read(l-1, i, &below)
			sum.merge(c.kind, &below)
		}
		if l == len(c.levels) {
			c.levels = appendTight(c.levels, level{})
		}
		bytes += c.levels[l].add(&sum, c.kind)
	}
	return bytes + bytes/tightness
}

func (l *level) add(n *node, kind history.Kind) (bytes int) {
	before := len(l.data)
	l.at = appendTight(l.at, uint32(len(l.data)))
	var room [mostNode]byte
	l.data = appendTight(l.data, n.append(room[:0], kind)...)
	return len(l.data) - before + 4
}

const tightness = 16

// mostNode is more than the bytes of most nodes.
const mostNode = 512

// appendTight is append with spare room for only 1/tightness of the elements.
func appendTight[T any](s []T, x ...T) []T {
	if n := len(s) + len(x); n > cap(s) {
		s = append(make([]T, 0, n+n/tightness+1), s...)
	}
	return append(s, x...)
}

// size returns the column's bytes.
func (c *column) size() int {
	n := int(unsafe.Sizeof(*c)) + 8*cap(c.ends) + 4*cap(c.tiles) + int(unsafe.Sizeof(level{}))*cap(c.levels)
	for i := range c.levels {
		n += 4*cap(c.levels[i].at) + cap(c.levels[i].data)
	}
	return n
}

// clone returns a column that can be appended to, beside readers of the old column. Only one clone may
// append in place; the others copy what they append to.
func (c *column) clone(copies bool) *column {
	next := *c
	next.levels = append(make([]level, 0, len(c.levels)), c.levels...)
	if copies {
		next.ends, next.tiles = slices.Clip(c.ends), slices.Clip(c.tiles)
		for i := range next.levels {
			l := &next.levels[i]
			l.at, l.data = slices.Clip(l.at), slices.Clip(l.data)
		}
	}
	return &next
}
