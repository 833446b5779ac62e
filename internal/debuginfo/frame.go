package debuginfo

import "strings"

// NamedFrame is a call at an address. The innermost comes first.
type NamedFrame struct {
	Function  string // as the compiler named it
	File      string // empty if unknown
	Line      int64  // 0 if unknown
	StartLine int64  // of the function, 0 if unknown
}

// MappedAddress is an address in a process: where the binary's mapping starts there, and the start's offset in the file. A Start
// of 0 means that Address is one of the binary itself.
type MappedAddress struct{ Start, Offset, Address uint64 }

// cut returns a copy of a text, at most maxName bytes of it.
func cut(s string) string { return strings.Clone(s[:min(len(s), maxName)]) }
