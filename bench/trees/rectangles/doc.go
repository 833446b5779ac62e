// Package rectangles is a store of intervals in an R-tree of tidwall/rtree, in memory: an
// interval is a rectangle without width, at its key and from its start to its end.
//
// # Tuning
//
// The library has no settings. What is chosen is the geometry: a node is split along its
// longer side, so the unit of keys against that of time decides the shape of nodes. Keys are
// the first dimension, by which nodes are sorted, and all keys are ten times as long as the
// history (stretch). Of stretches of 1/100 to 100, longer keys are better for 2D questions and shorter
// ones for full questions; ten is between. To see it, change stretch and run
//
//	go run ./trees -trees rtree -sets synth:1000:1000
//
// Intervals are inserted as they arrive. A load in the order of keys and starts takes half the
// time there, but full questions take three times as long.
//
// Coordinates are floats, as an area of 64-bit whole numbers overflows. Times count from the
// first start, and a longer history than 2^53 is refused: all coordinates are exact. An item
// has the value and the key, 16 bytes; strings are kept once.
//
// The tree has no form on disk. A restart loads it again.
package rectangles
