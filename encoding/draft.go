package encoding

import "sync"

// draft is room for words that are put together to be packed, and are no part of what comes
// out. It is used again when it is done.
type draft struct{ values, ends []uint64 }

var drafts = sync.Pool{New: func() any { return new(draft) }}

// draftKept bounds what is kept for the next draft, in words: a column of a granule.
const draftKept = 1 << 17

func takeDraft() *draft { return drafts.Get().(*draft) }

func (d *draft) done() {
	if max(cap(d.values), cap(d.ends)) <= draftKept {
		drafts.Put(d)
	}
}
