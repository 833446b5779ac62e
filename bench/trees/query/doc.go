// Package query asks the nodes of a tree: for one key at one time (SHT 3.5's ad-hoc query, R-SHT 4.3's
// single one), for all keys at one time (full), and for some keys at some times or in a range of time
// (R-SHT 5.4's 2D query). It is the same for all trees: a child is opened if its bounds, as far as its
// parent's header has them, meet the question.
//
//	tree          children opened for one key at t
//	SHT           the one whose time has t: one node a level
//	oSHT          each whose range has t
//	eSHT, R-SHT   each whose range has t and whose keys may include the key (R-SHT, algorithm 1)
//
// Algorithm 1 has a queue; here children are opened depth first. The nodes are the same ones, in another
// order: R-SHT 4.4 names both as possible paths.
//
// A node's records are read under its lock, shared, so a function that is called with an answer must not
// add to the tree.
package query
