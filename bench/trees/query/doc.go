// Package query asks the nodes of a tree: for one key at one time, for all keys at one time,
// and for some keys at some times. It is the same for all trees: a child is opened if its
// bounds, as far as its parent's header has them, meet the question.
//
//	tree          children opened for one key at t
//	SHT           the one whose time has t: one node a level
//	oSHT          each whose range has t
//	eSHT, R-SHT   each whose range has t and whose keys may include the key
//
// In an R-SHT the records of a leaf are in the order of keys, and a leaf is searched by halves.
package query
