// Package rectangles is a store of intervals in an R-tree of tidwall/rtree, in memory: an
// interval is a rectangle without width, at its key and from its start to its end.
//
// # Tuning
//
// The library has no settings. What is chosen is the geometry: a node is split along its
// longer side, so the unit of keys against that of time decides the shape of nodes. Keys are
// the first dimension, by which nodes are sorted, and all keys are ten times as long as the
// history. Of stretches from 1/100 to 100 that one is the best or near it in all questions
// but full ones, which short keys favour. Intervals are inserted as they arrive: loads sorted
// by key or by start are faster by up to 2.5 times, but answer full questions up to ten times
// slower, or are no better.
//
// Coordinates are floats, as an area of 64-bit whole numbers overflows. Times count from the
// first start, and a longer history than 2^53 is refused: all coordinates are exact. An item
// has the value and the key, 24 bytes; strings are kept once.
//
// The tree has no form on disk. A restart loads it again.
package rectangles
