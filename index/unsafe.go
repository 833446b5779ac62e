package index

import "unsafe"

// borrow returns bytes as a string, without a copy.
//
// It is the package's only use of unsafe. A string must never change. This one is only compared with others
// during a look-up, while the caller, the owner of the bytes, waits. No part of it is kept or returned: floor
// returns bounds of entries, and done clears the probe.
func borrow(key []byte) string {
	return unsafe.String(unsafe.SliceData(key), len(key))
}
