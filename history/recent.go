package history

import "encoding/binary"

// recent is the codes of strings that were written lately: states are few and come again,
// and looking there costs a fifth of the dictionary, its lock and the check for UTF-8. It
// is the writer's.
type recent [256]struct {
	text string // the dictionary's
	code uint32
}

// maxRecent is the length of the longest text that is kept.
const maxRecent = 64

// at returns where a text is, if it is there.
func (r *recent) at(text string) int {
	b := bytesOf(text)
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

// find returns the code of a text, or 0. r may be nil.
func (r *recent) find(text string) uint32 {
	if r == nil || len(text) > maxRecent {
		return 0
	}
	if c := &r[r.at(text)]; c.code != 0 && c.text == text {
		return c.code
	}
	return 0
}

// keep remembers a text of the dictionary.
func (h *History) keep(code uint32) {
	text := textOf(h.texts.Value(code))
	if len(text) > maxRecent {
		return
	}
	if h.recent == nil {
		h.recent = new(recent)
	}
	c := &h.recent[h.recent.at(text)]
	c.text, c.code = text, code
}
