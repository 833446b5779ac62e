// Package branch builds the trees that grow by their latest branch: SHT, oSHT and eSHT.
//
// Intervals arrive in the order of their ends. Only the latest branch, from the root to the
// last leaf, is in memory and can change; every other node is on disk and final, so that
// nothing is ever balanced anew (insert.go). An interval goes to the lowest node of the branch
// that begins no later than the interval does: short ones to the leaf, long ones further up. A
// node without room gets a sibling, a parent without room for a child gets one too, and a full
// root gets a new root above it (split.go).
//
// The trees differ in two things: where a sibling begins, and what a header says of a child.
//
//	SHT   a sibling begins behind all that was stored: siblings tile time, one is read a level
//	oSHT  it begins with the interval that had no room: siblings overlap, leaves fill
//	eSHT  as oSHT, and headers have the bounds of the children's keys
package branch
