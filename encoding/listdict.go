package encoding

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
)

// Errors of lists of codes.
var (
	// ErrCode says that a list has a code that no element has.
	ErrCode = errors.New("unknown code")
	// ErrCollision says that two lists have one hash: see ListDict.Verify.
	ErrCollision = errors.New("two lists with one hash")
)

// ListDict is an append-only set of lists of UUIDs, each with a code from 1
// up. Lists share their elements, which have codes of their own, with a record
// beside an element (for profiles: the symbols of a location).
//
// A list is known by the 128-bit xxh3 of its elements, keyed by the seed: among
// 10^7 lists, two that differ have the same with a probability of 10^-25. Verify
// looks.
//
// All methods are safe for concurrent use. Reading by code, and finding what is
// there, takes no lock; adding takes one for all.
type ListDict struct {
	seed     uint64
	key      elementKey
	elements idSet
	hashes   idSet      // of lists, with the codes of the lists
	lists    frontCoded // the last element first: for stacks, the root
	records  *Dict
	recordOf stable[atomic.Uint32] // by element code-1: code in records, or 0
	verify   atomic.Bool
	settled  atomic.Uint32 // lists that all who look from now on find

	mu sync.Mutex // of writers
}

// NewListDict returns an empty dictionary of lists. The seed keys its hashes, so
// that input made to collide in one store does not in another.
func NewListDict(seed uint64) *ListDict {
	return &ListDict{seed: seed, key: newElementKey(seed), records: NewDict(seed)}
}

// Verify has every list that is found by its hash compared with the one that is
// there, for about 100 ns each; ErrCollision says that they differ.
func (d *ListDict) Verify(on bool) { d.verify.Store(on) }

// InternElement returns the code of an element, giving it one if it is new,
// and keeps record beside it unless it is empty or the element has one. Records
// describe elements and are no part of what a reader's snapshot fixes: an
// element that is known without one can get one later.
func (d *ListDict) InternElement(id uuid.UUID, record []byte) (uint32, error) {
	hash := d.key.hash(&id)
	code := d.elements.find(&id, hash)
	if code == 0 {
		d.mu.Lock()
		var err error
		code, err = d.addElement(&id, hash)
		d.mu.Unlock()
		if err != nil {
			return 0, err
		}
	}
	return code, d.keepRecord(code, record)
}

// InternElements appends to dst the codes of elements, as InternElement does;
// records is nil, or has one for each element.
func (d *ListDict) InternElements(dst []uint32, ids []uuid.UUID, records [][]byte) ([]uint32, error) {
	for i := range ids {
		var record []byte
		if records != nil {
			record = records[i]
		}
		code, err := d.InternElement(ids[i], record)
		if err != nil {
			return dst, err
		}
		dst = append(dst, code)
	}
	return dst, nil
}

// KeepRecord keeps a record beside an element that is known; one that is not is
// left out.
func (d *ListDict) KeepRecord(id uuid.UUID, record []byte) error {
	if code := d.FindElement(id); code != 0 {
		return d.keepRecord(code, record)
	}
	return nil
}

func (d *ListDict) keepRecord(code uint32, record []byte) error {
	of := d.recordOf.at(int(code) - 1)
	if len(record) == 0 || of.Load() != 0 {
		return nil
	}
	kept, err := d.records.Intern(record)
	if err == nil {
		of.CompareAndSwap(0, kept)
	}
	return err
}

// addElement looks again and adds. The caller holds mu.
func (d *ListDict) addElement(id *uuid.UUID, hash uint64) (uint32, error) {
	if code := d.elements.find(id, hash); code != 0 {
		return code, nil
	}
	if d.elements.len() >= maxCodes {
		return 0, ErrDictFull
	}
	d.recordOf.grow(d.elements.len())
	return d.elements.add(*id, hash, d.key.hash), nil
}

func sameList(a, b []uuid.UUID) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// FindElement returns the code of an element, or 0 if it has none.
func (d *ListDict) FindElement(id uuid.UUID) uint32 {
	return d.elements.find(&id, d.key.hash(&id))
}

// FindList returns the code of a list, or 0 if it has none.
func (d *ListDict) FindList(list []uuid.UUID) uint32 {
	var hash uuid.UUID
	slot := d.listHash(&hash, list)
	return d.hashes.find(&hash, slot)
}

// List appends the codes of the elements of a list to dst. 10 to 20 ns an
// element: a list is put together of up to sixteen.
func (d *ListDict) List(dst []uint32, code uint32) []uint32 {
	if code == 0 {
		return dst
	}
	return d.lists.appendReversed(dst, int(code)-1)
}

// ListLen returns the number of elements of a list.
func (d *ListDict) ListLen(code uint32) int {
	if code == 0 {
		return 0
	}
	return d.lists.len(int(code) - 1)
}

// UUIDs appends the elements of a list to dst.
func (d *ListDict) UUIDs(dst []uuid.UUID, code uint32) []uuid.UUID {
	var few [64]uint32
	for _, element := range d.List(few[:0], code) {
		dst = append(dst, d.Element(element))
	}
	return dst
}

// Element returns the element with the given code.
func (d *ListDict) Element(code uint32) uuid.UUID { return *d.elements.ids.at(int(code) - 1) }

// Record returns what is kept beside an element, nil if nothing is. It must
// not be changed.
func (d *ListDict) Record(code uint32) []byte {
	return d.records.Value(d.recordOf.at(int(code) - 1).Load())
}

// Len returns the number of lists; their codes are 1 to Len.
func (d *ListDict) Len() int { return d.hashes.len() }

// Elements returns the number of distinct elements; their codes are 1 to
// Elements.
func (d *ListDict) Elements() int { return d.elements.len() }

// Growth is what is added to a ListDict, at most.
type Growth struct {
	Elements int
	Lists    int
	Members  int // elements of the lists, summed
	Longest  int // elements of the longest list
	Records  int
	Bytes    int // of the records
}

// Need returns at most how many bytes the dictionary grows by, as Dict.Need.
func (d *ListDict) Need(g Growth) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.Elements()
	const list, member = 64, 16 + 8 + 4 // of listWork, while it grows
	return d.elements.need(g.Elements) + 4*(paged(n+g.Elements)-paged(n)) +
		d.hashes.need(g.Lists) + d.lists.need(g.Lists, g.Members, g.Longest) + 2*(list*g.Lists+member*g.Members) +
		d.records.Need(g.Records, g.Bytes)
}

// New returns what interning elements with records (nil, or one for each) adds, at
// most: what is there is left out.
func (d *ListDict) New(ids []uuid.UUID, records [][]byte) (g Growth) {
	for i, id := range ids {
		code := d.FindElement(id)
		if code == 0 {
			g.Elements++
		}
		if records != nil && len(records[i]) > 0 && (code == 0 || d.Record(code) == nil) {
			g.Records++
			g.Bytes += len(records[i])
		}
	}
	return g
}

// NewLists returns what interning lists of codes of elements adds, at most.
func (d *ListDict) NewLists(lists [][]uint32) (g Growth) {
	var ids []uuid.UUID
	for _, list := range lists {
		ids = ids[:0]
		for _, code := range list {
			ids = append(ids, d.Element(code))
		}
		if d.FindList(ids) == 0 {
			g.Lists++
			g.Members += len(list)
			g.Longest = max(g.Longest, len(list))
		}
	}
	return g
}

// Size returns the bytes that lists and elements hold on the heap, and those
// of the records.
func (d *ListDict) Size() (lists, records int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.elements.heap() + d.hashes.heap() + d.lists.heap() + 4*paged(d.Elements()), d.records.Size()
}
