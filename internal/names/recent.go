package names

import (
	"encoding/binary"
	"unsafe"
)

// Recent caches the codes of recently written strings, for the writer, because states are few and repeat,
// and a lookup here costs a fraction of a search with the check for UTF-8. It belongs to one goroutine.
type Recent [256]struct {
	text string // the interner's
	code uint32
}

// MaxRecent is the length of the longest text that is kept, in bytes.
const MaxRecent = 64

// index returns the only place that a text can have.
func (r *Recent) index(text string) int {
	b := unsafe.Slice(unsafe.StringData(text), len(text)) // read-only
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

// Find returns a text's code, or 0. r may be nil.
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
