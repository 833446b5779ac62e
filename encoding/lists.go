package encoding

import "github.com/google/uuid"

// Lists is lists of one or of several dictionaries to read: what an answer with codes of
// lists comes with. Its methods are those of ListDict. The zero Lists has no list. It
// is safe for any number of goroutines.
//
// Of several dictionaries, each distinct list has one code; an element can have one of
// each dictionary.
type Lists struct {
	dicts []*ListDict
	refs  []listRef // by code-1; nil: codes are those of the only dictionary
	bases []uint32  // of the codes of elements, by dictionary
}

// listRef is a list of one of several dictionaries.
type listRef struct{ dict, code uint32 }

// Reader returns the dictionary without the means to change it.
func (d *ListDict) Reader() Lists { return Lists{dicts: []*ListDict{d}} }

// list returns the dictionary of a list and its code there, and what the codes of
// elements are above those there.
func (l *Lists) list(code uint32) (d *ListDict, there, base uint32) {
	if l.refs == nil {
		if len(l.dicts) == 0 {
			return new(ListDict), 0, 0
		}
		return l.dicts[0], code, 0
	}
	if code == 0 {
		return l.dicts[0], 0, 0
	}
	ref := l.refs[code-1]
	return l.dicts[ref.dict], ref.code, l.bases[ref.dict]
}

// List appends the codes of the elements of a list to dst.
func (l Lists) List(dst []uint32, code uint32) []uint32 {
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

// Len returns the number of elements of a list.
func (l Lists) Len(code uint32) int {
	d, there, _ := l.list(code)
	return d.ListLen(there)
}

// Members returns the number of elements of all lists, counted in each list, and of those
// that are being added. O(1).
func (d *ListDict) Members() int { return int(d.lists.codes.Load()) }

// All returns how many lists the dictionaries have in all, and how many elements these lists
// have: what bounds those of lists that are each read once. O(dictionaries).
func (l Lists) All() (lists, members int) {
	for _, d := range l.dicts {
		lists, members = lists+d.Len(), members+d.Members()
	}
	return lists, members
}

// UUIDs appends the elements of a list to dst.
func (l Lists) UUIDs(dst []uuid.UUID, code uint32) []uuid.UUID {
	d, there, _ := l.list(code)
	return d.UUIDs(dst, there)
}

// element returns the dictionary of an element and its code there.
func (l *Lists) element(code uint32) (*ListDict, uint32) {
	last := len(l.dicts) - 1
	for l.refs != nil && last > 0 && code <= l.bases[last] {
		last--
	}
	if l.refs == nil {
		return l.dicts[0], code
	}
	return l.dicts[last], code - l.bases[last]
}

// Element returns the element with the given code.
func (l Lists) Element(code uint32) uuid.UUID {
	d, there := l.element(code)
	return d.Element(there)
}

// Record returns what is kept beside an element, nil if nothing is. It must
// not be changed.
func (l Lists) Record(code uint32) []byte {
	d, there := l.element(code)
	return d.Record(there)
}

// Union gives codes to lists of several dictionaries of one seed: one to each distinct
// list, in the order in which they come. It belongs to one goroutine.
type Union struct {
	lists Lists
	slots []uint32 // codes, 0 where free: open addressing by the lists' hashes
}

// NewUnion returns a union of dictionaries without a list.
func NewUnion(dicts ...*ListDict) *Union {
	u := &Union{lists: Lists{dicts: dicts, refs: []listRef{}}, slots: make([]uint32, firstSlots)}
	base := uint32(0)
	for _, d := range dicts {
		u.lists.bases = append(u.lists.bases, base)
		base += uint32(d.Elements())
	}
	return u
}

// Add returns the code of a list that one of the dictionaries, by number, has a code
// for. About 30 ns.
func (u *Union) Add(dict int, code uint32) uint32 {
	if code == 0 {
		return 0
	}
	if 2*len(u.lists.refs) >= len(u.slots) {
		u.grow()
	}
	hash := u.lists.dicts[dict].hashes.ids.at(int(code) - 1)
	i := home(slotHash(hash), len(u.slots))
	for ; u.slots[i] != 0; i = (i + 1) % len(u.slots) {
		if *u.hash(u.slots[i]) == *hash {
			return u.slots[i]
		}
	}
	u.lists.refs = append(u.lists.refs, listRef{uint32(dict), code})
	u.slots[i] = uint32(len(u.lists.refs))
	return u.slots[i]
}

// hash returns the hash of a list that is there.
func (u *Union) hash(code uint32) *uuid.UUID {
	ref := u.lists.refs[code-1]
	return u.lists.dicts[ref.dict].hashes.ids.at(int(ref.code) - 1)
}

func (u *Union) grow() {
	u.slots = make([]uint32, 2*len(u.slots))
	for code := range u.lists.refs {
		i := home(slotHash(u.hash(uint32(code+1))), len(u.slots))
		for u.slots[i] != 0 {
			i = (i + 1) % len(u.slots)
		}
		u.slots[i] = uint32(code + 1)
	}
}

// Len returns the number of lists.
func (u *Union) Len() int { return len(u.lists.refs) }

// Reader returns the lists that have been added.
func (u *Union) Reader() Lists { return u.lists }
