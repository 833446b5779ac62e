// Package index is the sparse index of a table: a B-tree that maps the lower bound of each granule
// to the granule, in copy-on-write versions.
//
// Bounds are byte strings, compared as such; the type of the values is generic. An entry covers
// the keys from its bound up to the bound of the next entry:
//
//	bounds     ""        "f"        "p"
//	entries    |--- A ---|--- B ----|--- C ------->
//	Floor("k")                ^
//
// Most commits add rows to one or two granules. A version keeps such amended values beside the
// tree until too many entries are amended, so most commits copy no node.
//
// # Invariants
//
//	X1  A Version never changes: its holder sees the same entries for as long
//	    as it holds the version, without a lock.
//	X2  Entries of a version have distinct bounds, in order.
//	X3  An Edit that is dropped leaves no trace in the version it came from.
//
// The package makes no compatibility promise.
package index
