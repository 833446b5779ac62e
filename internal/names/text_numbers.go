package names

import "slices"

// TextNumbers numbers texts from 0 in the order of their first use in committed transactions and the
// current one, because a journal has a text only once, and then its number. The zero value has none. It
// belongs to one goroutine.
type TextNumbers struct {
	of        []uint32 // by code: the number + 1, or 0
	codes     []uint32 // by number, for committed transactions
	fresh     []uint32 // by number, for this transaction
	published *[]uint32
}

// Size returns the heap bytes.
func (n *TextNumbers) Size() int64 { return 4 * int64(cap(n.of)+cap(n.codes)) }

// Committed returns the texts' codes by number, or nil if there are none. They are the same slice until
// more are committed, and never change.
func (n *TextNumbers) Committed() *[]uint32 { return n.published }

// Of returns the number of the text with a code, and whether it is new.
func (n *TextNumbers) Of(code uint32) (number uint64, isNew bool) {
	if int(code) >= len(n.of) {
		n.of = append(n.of, make([]uint32, max(64, int(code)+1-len(n.of), len(n.of)/4))...)
	}
	if at := n.of[code]; at != 0 {
		return uint64(at - 1), false
	}
	n.fresh = append(n.fresh, code)
	n.of[code] = uint32(len(n.codes) + len(n.fresh))
	return uint64(n.of[code] - 1), true
}

// Commit adds the transaction's numbers to the committed numbers.
func (n *TextNumbers) Commit() {
	if len(n.fresh) == 0 {
		return
	}
	n.codes = append(n.codes, n.fresh...)
	n.fresh = nil
	codes := slices.Clip(n.codes)
	n.published = &codes
}

// Abort takes the transaction's numbers back.
func (n *TextNumbers) Abort() {
	for _, code := range n.fresh {
		n.of[code] = 0
	}
	n.fresh = nil
}
