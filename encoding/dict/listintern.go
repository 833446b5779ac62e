package dict

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// InternLists appends to dst the codes of lists, and gives codes to new lists. A list that refers to the
// same memory as its predecessor costs nothing. All lists are hashed before any is looked up, so that cache
// misses overlap. New lists are sorted, so that neighbours share much.
//
// It costs about 60 ns for a known list of 20, 500 ns for a new list of known elements. For known lists it
// allocates only to grow dst. After an error dst has its previous length; elements and lists added until
// then remain, unused.
func (d *Lists) InternLists(dst []uint32, lists [][]uuid.UUID) ([]uint32, error) {
	w := internWork.Get().(*listWork)
	defer w.done()
	d.hashed()
	w.settled = d.settled.Load()
	w.grow(len(lists))
	hashes, slots := w.hashes, w.slots
	for i, list := range lists {
		if i > 0 && sameList(list, lists[i-1]) {
			hashes[i], slots[i] = hashes[i-1], slots[i-1]
			continue
		}
		slots[i] = d.listHash(&hashes[i], list)
	}
	return d.intern(dst, w, func(ids []uuid.UUID, i int) ([]uuid.UUID, error) { return append(ids, lists[i]...), nil })
}

// InternCodes is InternLists for lists of element codes. It returns ErrCode if an element does not exist.
func (d *Lists) InternCodes(dst []uint32, lists [][]uint32) ([]uint32, error) {
	w := internWork.Get().(*listWork)
	defer w.done()
	gather := func(ids []uuid.UUID, i int) ([]uuid.UUID, error) {
		for _, code := range lists[i] {
			if code == 0 || int(code) > d.Elements() {
				return ids, fmt.Errorf("%w: element %d of a list; there are %d", ErrCode, code, d.Elements())
			}
			ids = append(ids, *d.elements.ids.at(int(code) - 1))
		}
		return ids, nil
	}
	d.hashed()
	w.settled = d.settled.Load()
	w.grow(len(lists))
	for i := range lists {
		ids, err := gather(w.ids[:0], i)
		if err != nil {
			return dst, err
		}
		w.ids = ids
		w.slots[i] = d.listHash(&w.hashes[i], ids)
	}
	return d.intern(dst, w, gather)
}

// InternList returns the code of the list with the given element codes.
func (d *Lists) InternList(elements []uint32) (uint32, error) {
	codes, err := d.InternCodes(nil, [][]uint32{elements})
	if err != nil {
		return 0, err
	}
	return codes[0], nil
}

// listWork is the scratch memory for interning a batch.
type listWork struct {
	hashes  []uuid.UUID
	slots   []uint64 // slotHash of each list
	misses  []int
	settled uint32 // the search finds every list up to this code

	// For the lists that are not found:
	ids      []uuid.UUID // elements, the last of each list first
	idHashes []uint64
	codes    []uint32
	fresh    []newList
	repeats  []repeat
}

// repeat is a list that is not found and equals an earlier list in the batch.
type repeat struct{ at, first int }

var internWork = sync.Pool{New: func() any { return new(listWork) }}

func (w *listWork) done() {
	w.hashes, w.slots, w.misses = w.hashes[:0], w.slots[:0], w.misses[:0]
	w.ids, w.idHashes, w.codes, w.fresh = w.ids[:0], w.idHashes[:0], w.codes[:0], w.fresh[:0]
	internWork.Put(w)
}

// grow makes room for n hashes.
func (w *listWork) grow(n int) {
	w.hashes, w.slots = slices.Grow(w.hashes[:0], n)[:n], slices.Grow(w.slots[:0], n)[:n]
}

// intern appends to dst the codes of the lists whose hashes are in w; elements appends one list's ids.
func (d *Lists) intern(dst []uint32, w *listWork, elements func([]uuid.UUID, int) ([]uuid.UUID, error)) ([]uint32, error) {
	start := len(dst)
	dst = slices.Grow(dst, len(w.hashes))[:start+len(w.hashes)]
	d.hashes.findAll(dst[start:], w.hashes, w.slots)
	for i, code := range dst[start:] {
		if code == 0 {
			w.misses = append(w.misses, i)
		}
	}
	if len(w.misses) > 0 {
		if err := d.addLists(dst[start:], w, elements); err != nil {
			return dst[:start], err
		}
	}
	if d.verify.Load() {
		for i, code := range dst[start:] {
			ids, err := elements(w.ids[:0], i)
			if err != nil {
				return dst[:start], err
			}
			if !slices.Equal(ids, d.UUIDs(nil, code)) {
				return dst[:start], fmt.Errorf("%w: %x", ErrCollision, w.hashes[i])
			}
		}
	}
	return dst, nil
}

// addLists adds the lists that were not found and sets their codes.
func (d *Lists) addLists(codes []uint32, w *listWork, elements func([]uuid.UUID, int) ([]uuid.UUID, error)) error {
	if err := w.gather(elements); err != nil {
		return err
	}
	for i := range w.ids {
		w.idHashes = append(w.idHashes, d.key.hash(&w.ids[i]))
	}
	w.codes = slices.Grow(w.codes, len(w.ids))[:len(w.ids)]
	d.elements.findAll(w.codes, w.ids, w.idHashes)

	d.mu.Lock()
	defer d.mu.Unlock()
	for i, code := range w.codes {
		if code != 0 {
			continue
		}
		var err error
		if w.codes[i], err = d.addElement(&w.ids[i], w.idHashes[i]); err != nil {
			return err
		}
	}
	sortLists(w.codes, w.fresh, 2*bits.Len(uint(len(w.fresh))))
	if err := d.addSorted(codes, w); err != nil {
		return err
	}
	for _, r := range w.repeats {
		codes[r.at] = codes[r.first]
	}
	return nil
}

// addSorted adds the lists in w, where equal lists are neighbours, and sets their codes. It searches again
// if other lists were added meanwhile. The caller holds mu.
func (d *Lists) addSorted(codes []uint32, w *listWork) error {
	others := d.settled.Load() != w.settled
	defer func() { d.settled.Store(uint32(d.hashes.len())) }()
	for i := range w.fresh {
		list := &w.fresh[i]
		hash := &w.hashes[list.at]
		if i > 0 && *hash == w.hashes[w.fresh[i-1].at] {
			codes[list.at] = codes[w.fresh[i-1].at]
			continue
		}
		if others {
			if code := d.hashes.find(hash, w.slots[list.at]); code != 0 {
				codes[list.at] = code
				continue
			}
		}
		if d.hashes.len() >= maxCodes {
			return ErrFull
		}
		if err := d.lists.add(list.codesOf(w.codes)); err != nil {
			return err
		}
		codes[list.at] = d.hashes.add(*hash, w.slots[list.at], slotHash)
	}
	return nil
}

// manyIDs is the number of gathered ids from which repeated lists are gathered only once. Below it,
// detecting a repeat costs more than it saves.
const manyIDs = 1 << 16

// gather collects the ids of the missing lists, and removes repeats from misses.
func (w *listWork) gather(elements func([]uuid.UUID, int) ([]uuid.UUID, error)) error {
	w.ids, w.repeats = w.ids[:0], w.repeats[:0]
	var seen map[uuid.UUID]int
	misses := w.misses[:0]
	for _, at := range w.misses {
		if len(w.ids) > manyIDs {
			if seen == nil {
				seen = map[uuid.UUID]int{}
				for _, known := range misses {
					seen[w.hashes[known]] = known
				}
			}
			if first, ok := seen[w.hashes[at]]; ok {
				w.repeats = append(w.repeats, repeat{at, first})
				continue
			}
			seen[w.hashes[at]] = at
		}
		start := len(w.ids)
		var err error
		if w.ids, err = elements(w.ids, at); err != nil {
			return err
		}
		slices.Reverse(w.ids[start:])
		w.fresh = append(w.fresh, newList{start: start, end: len(w.ids), at: at})
		misses = append(misses, at)
	}
	w.misses = misses
	return nil
}
