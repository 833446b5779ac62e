package index

import "unsafe"

// borrow returns bytes as a string, without a copy.
//
// It is the only use of unsafe in the package. A string must never change: this one
// is compared with others while a look-up runs, in which the caller, who owns the
// bytes, waits; no part of it is kept or returned (floor returns bounds of entries,
// and done clears the probe).
func borrow(key []byte) string {
	return unsafe.String(unsafe.SliceData(key), len(key))
}
