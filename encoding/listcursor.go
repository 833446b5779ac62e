package encoding

import (
	"github.com/google/uuid"
)

// ListCursor reads lists of a Lists. In the order of their codes that is several times
// as fast as one by one: of a list only what distinguishes it from the one before is
// decoded. What lies between two lists that are read is decoded too, from the last that
// is kept whole: in other orders it costs about what Lists.UUIDs does.
//
// It belongs to one goroutine, and holds memory for the longest list of each dictionary
// that it has met. It reads lists that were added after it was made, too.
type ListCursor struct {
	from  Lists
	walks []listWalk // by dictionary
	at    *listWalk  // of the list at hand
}

// Cursor returns a cursor without a list at hand.
func (l Lists) Cursor() ListCursor {
	c := ListCursor{from: l, walks: make([]listWalk, max(1, len(l.dicts)))}
	c.at = &c.walks[0]
	for i, d := range l.dicts {
		c.walks[i].of = d
		if l.refs != nil {
			c.walks[i].base = l.bases[i]
		}
	}
	return c
}

// Move makes the list with a code the one at hand; code 0 has no elements. The code must be
// one that the lists have. About 10 ns, and 6 for each element to decode.
func (c *ListCursor) Move(code uint32) {
	dict, there := uint32(0), code
	if c.from.refs != nil && code != 0 {
		ref := c.from.refs[code-1]
		dict, there = ref.dict, ref.code
	}
	c.at = &c.walks[dict]
	c.at.move(int(there))
}

// Elements returns the codes of the elements of the list at hand, which are valid until the
// next call of Move.
func (c *ListCursor) Elements() []uint32 { return c.at.codes[len(c.at.codes)-c.at.len:] }

// UUIDs returns the elements of the list at hand, which are valid until the next call of
// Move.
func (c *ListCursor) UUIDs() []uuid.UUID { return c.at.ids[len(c.at.ids)-c.at.len:] }

// listWalk goes over the lists of one dictionary. The one at hand is at the end of codes and
// ids: the front of what is kept, which the next one shares, is the end of a list.
type listWalk struct {
	of    *ListDict
	base  uint32 // what is added to codes
	code  int    // of the list at hand; 0 for none
	len   int
	codes []uint32 // as long as ids
	ids   []uuid.UUID
}

// move goes to a list, on from where it is if no whole one is between.
func (w *listWalk) move(code int) {
	if code == 0 {
		w.code, w.len = 0, 0
		return
	}
	whole := (code-1)/restart*restart + 1
	if w.code < whole || w.code > code {
		w.code = whole - 1
	}
	for w.code < code {
		w.next()
	}
}

// next goes to the next list.
func (w *listWalk) next() {
	shared, own, from := w.of.lists.open(w.code)
	w.code++
	w.len = shared + own
	if w.len > len(w.codes) {
		w.grow(shared)
	}
	if own == 0 {
		return // there may be no element at all
	}
	codes, ids := w.codes[:len(w.codes)-shared], w.ids[:len(w.ids)-shared]
	pages := *w.of.elements.ids.directory.Load()
	for at := len(codes) - 1; at >= len(codes)-own; at-- {
		code := from.at(len(codes) - 1 - at) // of one width: see narrow
		codes[at] = code + w.base
		ids[at] = pages[(code-1)/pageLen][(code-1)%pageLen]
	}
}

// grow makes room for a list, of which so many elements are there.
func (w *listWalk) grow(shared int) {
	n := max(64, w.len, 2*len(w.codes))
	codes, ids := make([]uint32, n), make([]uuid.UUID, n)
	copy(codes[n-shared:], w.codes[len(w.codes)-shared:])
	copy(ids[n-shared:], w.ids[len(w.ids)-shared:])
	w.codes, w.ids = codes, ids
}
