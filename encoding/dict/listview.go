package dict

import "github.com/google/uuid"

// ListView is a read-only view of the lists in one or several dictionaries. An answer with codes of lists
// comes with a view. It has the reading methods of Lists. The zero ListView has no list. It is safe for
// concurrent use.
//
// In a view of several dictionaries each distinct list has one code, but an element can have one code for
// each dictionary.
type ListView struct {
	dicts []*Lists
	refs  []listRef // by code-1; nil for a single dictionary, which has the same codes
	bases []uint32  // offsets of element codes, by dictionary
}

// listRef is a list in one of several dictionaries.
type listRef struct{ dict, code uint32 }

// View returns a read-only view of the dictionary.
func (d *Lists) View() ListView { return ListView{dicts: []*Lists{d}} }

// Only returns the dictionary of a view of one, or nil.
func (l ListView) Only() *Lists {
	if l.refs != nil || len(l.dicts) != 1 {
		return nil
	}
	return l.dicts[0]
}

// list returns a list's dictionary, its code there, and the offset of the view's element codes from the
// dictionary's.
func (l *ListView) list(code uint32) (d *Lists, there, base uint32) {
	if l.refs == nil {
		if len(l.dicts) == 0 {
			return new(Lists), 0, 0
		}
		return l.dicts[0], code, 0
	}
	if code == 0 {
		return l.dicts[0], 0, 0
	}
	ref := l.refs[code-1]
	return l.dicts[ref.dict], ref.code, l.bases[ref.dict]
}

// List appends the codes of a list's elements to dst.
func (l ListView) List(dst []uint32, code uint32) []uint32 {
	d, there, base := l.list(code)
	start := len(dst)
	dst = d.List(dst, there)
	if base > 0 {
		for i := range dst[start:] {
			dst[start+i] += base
		}
	}
	return dst
}

// Len returns a list's number of elements.
func (l ListView) Len(code uint32) int {
	d, there, _ := l.list(code)
	return d.listLen(there)
}

// Members returns the number of elements in all lists, counted in each list; it includes lists that are
// being added. O(1).
func (d *Lists) Members() int { return int(d.lists.codes.Load()) }

// All returns the number of lists in all dictionaries and of their elements, which bounds the cost of
// reading each list once. O(dictionaries).
func (l ListView) All() (lists, members int) {
	for _, d := range l.dicts {
		lists, members = lists+d.Len(), members+d.Members()
	}
	return lists, members
}

// UUIDs appends a list's elements to dst.
func (l ListView) UUIDs(dst []uuid.UUID, code uint32) []uuid.UUID {
	d, there, _ := l.list(code)
	return d.UUIDs(dst, there)
}

// element returns an element's dictionary and its code there.
func (l *ListView) element(code uint32) (*Lists, uint32) {
	dict, there := l.place(code)
	return l.dicts[dict], there
}

// place returns the index of an element's dictionary, and its code there.
func (l *ListView) place(code uint32) (dict int, there uint32) {
	if l.refs == nil {
		return 0, code
	}
	dict = len(l.dicts) - 1
	for dict > 0 && code <= l.bases[dict] {
		dict--
	}
	return dict, code - l.bases[dict]
}

// Element returns the element with the given code.
func (l ListView) Element(code uint32) uuid.UUID {
	d, there := l.element(code)
	return d.Element(there)
}

// CopyElements sets dst to the elements with the given codes, end to end: 16 bytes each.
func (l ListView) CopyElements(dst []byte, codes []uint32) {
	if len(codes) == 0 {
		return // there may be no dictionary, or one without elements
	}
	if l.refs != nil {
		for i, code := range codes {
			*(*uuid.UUID)(dst[i*len(uuid.UUID{}):]) = l.Element(code)
		}
		return
	}
	pages := l.dicts[0].elements.ids.all()
	for _, code := range codes {
		*(*uuid.UUID)(dst) = pages[(code-1)/pageLen][(code-1)%pageLen]
		dst = dst[len(uuid.UUID{}):]
	}
}

// ReadRecord returns an element's record, nil if it has none. The caller must not change it, and it is valid until buf is used
// again. It costs about 10 ns for each text in it.
func (l ListView) ReadRecord(buf *[]byte, code uint32) []byte {
	d, there := l.element(code)
	return d.ReadRecord(buf, there)
}

// Record returns a copy of an element's record, nil if it has none.
func (l ListView) Record(code uint32) []byte {
	d, there := l.element(code)
	return d.Record(there)
}
