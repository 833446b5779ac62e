// Package dictionaries keeps a table's dictionaries. Consecutive time ranges share one generation. Hot
// generations take rows and are in memory. Cold generations are only in files, and are read for a query, or
// when rows come.
//
//	          rows come                      files have all, no row needs them in memory
//	(none) -------------> hot ------------------------------------------------> cold
//	                       ^         Pin, Acquire: read, with hashes             |
//	                       +-----------------------------------------------------+
//	hot, cold --Drop--> dropped: reads of older roots still find the files
//
// # Invariants
//
//	N1  At any time one object takes rows for a number. It has all entries that the log has.
//	N2  A code means the same in each object with the same number (D4).
//	N3  A pinned generation stays hot, unless it is dropped.
//
// # Mutable state
//
//	dictionaries that take rows, files of all, those read lately   generations lock; weak pointers to the last
//	writers that add; how far the log and files have them          an atomic counter; a lock around writing the log; an atomic pointer
package dictionaries
