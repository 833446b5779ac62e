package names

import (
	"encoding/binary"
	"unsafe"
)

// Recent is a cache of the codes of strings that were written lately, for the writer. States
// are few and come again, and a look here costs a fraction of a search with the check for UTF-8. It
// belongs to one goroutine.
type Recent [256]struct {
	text string // the interner's
	code uint32
}

// MaxRecent is the length of the longest text that is kept.
const MaxRecent = 64

// index returns the place of a text, if it is there.
func (r *Recent) index(text string) int {
	b := unsafe.Slice(unsafe.StringData(text), len(text)) // to read
	x := uint64(len(b))
	if len(b) >= 8 {
		x += binary.LittleEndian.Uint64(b)*31 + binary.LittleEndian.Uint64(b[len(b)-8:])
	} else {
		for _, c := range b {
			x = x<<8 + uint64(c)
		}
	}
	return int(x * 0x9e3779b97f4a7c15 >> 56)
}

// Find returns the code of a text, or 0. r may be nil.
func (r *Recent) Find(text string) uint32 {
	if r == nil || len(text) > MaxRecent {
		return 0
	}
	if c := &r[r.index(text)]; c.code != 0 && c.text == text {
		return c.code
	}
	return 0
}

// Keep remembers a text of the interner, of at most MaxRecent bytes.
func (r *Recent) Keep(text string, code uint32) {
	c := &r[r.index(text)]
	c.text, c.code = text, code
}
