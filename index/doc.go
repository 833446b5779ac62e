// Package index is the sparse index of a table: a B-tree that maps the lower
// bound of each granule to the granule, in copy-on-write versions.
//
// It knows bounds, which are byte strings compared as such, and is generic in
// what they lead to. An entry covers the keys from its bound up to the next
// entry's:
//
//	bounds     ""        "f"        "p"
//	entries    |--- A ---|--- B ----|--- C ------->
//	Floor("k")                ^
//
// Most commits add rows to a granule or two. What an entry leads to then is kept beside the
// tree, with the version, until that is so for too many of them: no node is copied.
//
// # Invariants
//
//	X1  A Version never changes: whoever holds one sees the same entries for
//	    as long as they hold it, without a lock.
//	X2  Entries of a version have distinct bounds, in order.
//	X3  An Edit that is dropped leaves no trace in the version it came from.
package index
