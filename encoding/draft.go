package encoding

import "sync"

// draft is scratch memory for words that are assembled before packing. The result does not
// refer to it. Drafts are pooled.
type draft struct{ values, ends []uint64 }

var drafts = sync.Pool{New: func() any { return new(draft) }}

// draftKept bounds a pooled draft, in words: a granule's column.
const draftKept = 1 << 17

func takeDraft() *draft { return drafts.Get().(*draft) }

func (d *draft) done() {
	if max(cap(d.values), cap(d.ends)) <= draftKept {
		drafts.Put(d)
	}
}
