package names

import (
	"math/bits"

	"github.com/granarydb/granary/internal/fields"
)

// maxText is the greatest length of a value's text, in bytes.
const maxText = 64 << 10

// WriteImage writes the texts whose codes are marked, a bit each in words of 64, as an image:
//
//	pages | of each: 0, or 1 and of each of its codes 0, or the length and 1 | bytes of the texts
//
// A reader of t that knows the texts may call it beside the interner's writer. It costs a copy of the texts
// and 1 ns for each code in their pages.
func (t *Texts) WriteImage(w *fields.Writer, marks []uint64) {
	pages := 0
	for i, set := range marks {
		if set != 0 {
			pages = (i*64+63-bits.LeadingZeros64(set)-1)/pageLen + 1
		}
	}
	w.Uint(uint64(pages))
	for p := range pages {
		first, inUse := p*pageLen+1, false
		for code := first; code < first+pageLen && code/64 < len(marks); code++ {
			inUse = inUse || isMarked(marks, code)
		}
		if !inUse {
			w.Uint(0)
			continue
		}
		w.Uint(1)
		var texts []byte
		for code := first; code < first+pageLen; code++ {
			if code/64 >= len(marks) || !isMarked(marks, code) {
				w.Uint(0)
				continue
			}
			text := t.At(uint32(code))
			w.Uint(uint64(len(text)) + 1)
			texts = append(texts, text...)
		}
		w.Raw(texts)
	}
}

// ReadImage makes an interner from an image, in which texts keep their codes. marks has these codes. If the
// reader has an error, the interner must not be used.
func ReadImage(seed uint64, r *fields.Reader) (t *Interner, marks []uint64) {
	r.In("texts")
	t = NewInterner(seed)
	pages := r.Count("pages", 1)
	if pages > maxPages {
		r.Failf("%d pages", pages)
		return t, nil
	}
	marks = make([]uint64, pages*pageLen/64+1)
	for p := range pages {
		if r.Uint("page", 1) == 0 || r.Err() != nil {
			t.places.pages.Store(grown(t.places.list(), nil))
			t.states.pages.Store(grown(t.states.list(), nil))
			continue
		}
		t.places.grow(uint32(p * pageLen))
		t.states.grow(uint32(p * pageLen))
		t.held++
		t.readPage(p, r, marks)
	}
	t.supplyRest()
	t.index(max(firstCells, t.inUse+t.inUse/2))
	t.Settle()
	return t, marks
}

// grown appends a page to a list.
func grown[T any](pages []*[pageLen]T, page *[pageLen]T) *[]*[pageLen]T {
	pages = append(pages, page)
	return &pages
}

// readPage reads a page's texts.
func (t *Interner) readPage(p int, r *fields.Reader, marks []uint64) {
	var lengths [pageLen]int
	for k := range lengths {
		lengths[k] = int(r.Uint("length", maxText+1))
	}
	for k, length := range lengths {
		if length == 0 {
			continue
		}
		text := string(r.Raw("text", length-1))
		if r.Err() != nil {
			return
		}
		code := p*pageLen + k + 1
		t.put(uint32(code), text, t.hash(text), 1)
		t.inUse++
		marks[code/64] |= 1 << (code % 64)
	}
	if t.inUse == 0 {
		r.Failf("page %d has no text", p)
	}
}
