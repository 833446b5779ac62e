package history

import "sync"

// undo holds the changes that an abort undoes. Transactions share its memory one after the other, unless it
// holds more than keptEntries.
type undo struct {
	placed []placement
	kinds  []kindOf // slots that got a kind
}

// placement is the state before an attribute got its place.
type placement struct {
	shape     *shapeLane
	attribute Attribute
	at        *int // where its lane is recorded
	before    int  // the lane recorded there
}

// kindOf is a slot that got its kind.
type kindOf struct {
	l    *lane
	slot uint
}

var undos = sync.Pool{New: func() any { return new(undo) }}

// drop lets another transaction use the memory.
func (u *undo) drop() {
	clear(u.placed)
	clear(u.kinds)
	u.placed, u.kinds = u.placed[:0], u.kinds[:0]
	if max(cap(u.placed), cap(u.kinds)) <= keptEntries {
		undos.Put(u)
	}
}
