package dict

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
)

// Errors for lists of codes.
var (
	// ErrCode reports a list with a code that no element has.
	ErrCode = errors.New("unknown code")
	// ErrCollision reports two lists with one hash: see Lists.Verify.
	ErrCollision = errors.New("two lists with one hash")
)

// Lists is an append-only set of lists of UUIDs, with codes from 1 up. Lists share their elements, which
// have their own codes and a record each (for profiles: a location's symbols).
//
// A list is identified by the 128-bit xxh3 of its elements, keyed by the seed: among 10^7 lists, two
// different lists collide with a probability of 10^-25. Verify checks for collisions.
//
// All methods are safe for concurrent use. Reading by code and searching take no lock; adding takes one
// lock for the whole dictionary.
type Lists struct {
	seed      uint64
	key       elementKey
	elements  idSet
	hashes    idSet      // lists' hashes, with the lists' codes
	lists     frontCoded // the last element first: for stacks, the root
	records   records
	recordOf  stable[atomic.Uint32] // by element code-1: code in records, or 0
	hashedIDs stable[atomic.Uint64] // by element code-1, a bit each: its id is known to be the hash of its record
	verify    atomic.Bool
	settled   atomic.Uint32 // lists that every later search finds
	bare      atomic.Bool   // read from an image: hashes and slots are made when they are needed
	logged    atomic.Uint32 // elements that are in an image
	beside    atomic.Value

	mu   sync.Mutex // held by writers
	late []uint32   // elements up to logged that got a record since
}

// NewLists returns an empty dictionary. The seed keys its hashes, so that input made to collide in one
// store does not collide in another.
func NewLists(seed uint64) *Lists {
	return &Lists{seed: seed, key: newElementKey(seed), records: records{texts: NewValues(seed)}}
}

// Verify turns on the comparison of every list found by its hash with the stored list, for about 100 ns
// each; ErrCollision reports a difference.
func (d *Lists) Verify(on bool) { d.verify.Store(on) }

// InternElement returns an element's code, and gives a new element one. It stores the record beside the
// element, unless record is empty or the element has one already. A snapshot does not fix records: an
// element without a record can get one later.
func (d *Lists) InternElement(id uuid.UUID, record []byte) (uint32, error) {
	d.hashed()
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

// InternElements is InternElement for several elements. It appends their codes to dst; records is nil, or
// has one for each element.
func (d *Lists) InternElements(dst []uint32, ids []uuid.UUID, records [][]byte) ([]uint32, error) {
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

// KeepRecord stores a record beside a known element; it ignores unknown elements.
func (d *Lists) KeepRecord(id uuid.UUID, record []byte) error {
	if code := d.FindElement(id); code != 0 {
		return d.keepRecord(code, record)
	}
	return nil
}

func (d *Lists) keepRecord(code uint32, record []byte) error {
	of := d.recordOf.at(int(code) - 1)
	if len(record) == 0 || of.Load() != 0 {
		return nil
	}
	kept, identity, err := d.records.add(record)
	if err != nil || !of.CompareAndSwap(0, kept) {
		return err
	}
	if RecordID(identity) == d.Element(code) {
		d.setHashed(int(code) - 1)
	}
	if code <= d.logged.Load() {
		d.mu.Lock()
		d.late = append(d.late, code)
		d.mu.Unlock()
	}
	return nil
}

// setHashed notes that the i-th element's id is the hash of its record.
func (d *Lists) setHashed(i int) { d.hashedIDs.at(i / 64).Or(1 << (i % 64)) }

// isHashed reports whether setHashed was called for the i-th element.
func (d *Lists) isHashed(i int) bool { return d.hashedIDs.at(i/64).Load()>>(i%64)&1 == 1 }

// growRecords makes room for the record of the i-th element, which follows the last. The caller holds mu.
func (d *Lists) growRecords(i int) {
	d.recordOf.grow(i)
	if i%64 == 0 {
		d.hashedIDs.grow(i / 64)
	}
}

// recordRoom returns the heap bytes that growRecords takes for n elements.
func recordRoom(n int) int { return 4*paged(n) + 8*paged((n+63)/64) }

// addElement searches again and adds the element. The caller holds mu.
func (d *Lists) addElement(id *uuid.UUID, hash uint64) (uint32, error) {
	if code := d.elements.find(id, hash); code != 0 {
		return code, nil
	}
	if d.elements.len() >= maxCodes {
		return 0, ErrFull
	}
	d.growRecords(d.elements.len())
	return d.elements.add(*id, hash, d.key.hash), nil
}

func sameList(a, b []uuid.UUID) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// FindElement returns an element's code, or 0 if it has none.
func (d *Lists) FindElement(id uuid.UUID) uint32 {
	d.hashed()
	return d.elements.find(&id, d.key.hash(&id))
}

// FindList returns a list's code, or 0 if it has none.
func (d *Lists) FindList(list []uuid.UUID) uint32 {
	d.hashed()
	var hash uuid.UUID
	slot := d.listHash(&hash, list)
	return d.hashes.find(&hash, slot)
}

// List appends the codes of a list's elements to dst. It costs 10 to 20 ns an element, because a list is
// assembled from up to sixteen.
func (d *Lists) List(dst []uint32, code uint32) []uint32 {
	if code == 0 {
		return dst
	}
	return d.lists.appendReversed(dst, int(code)-1)
}

// listLen returns a list's number of elements.
func (d *Lists) listLen(code uint32) int {
	if code == 0 {
		return 0
	}
	return d.lists.len(int(code) - 1)
}

// UUIDs appends a list's elements to dst.
func (d *Lists) UUIDs(dst []uuid.UUID, code uint32) []uuid.UUID {
	var few [64]uint32
	for _, element := range d.List(few[:0], code) {
		dst = append(dst, d.Element(element))
	}
	return dst
}

// Element returns the element with the given code.
func (d *Lists) Element(code uint32) uuid.UUID { return *d.elements.ids.at(int(code) - 1) }

// Len returns the number of lists; their codes are 1 to Len.
func (d *Lists) Len() int { return d.hashes.len() }

// Elements returns the number of distinct elements; their codes are 1 to Elements.
func (d *Lists) Elements() int { return d.elements.len() }

// Growth is an upper bound of the additions to a Lists.
type Growth struct {
	Elements int
	Lists    int
	Members  int // elements of all lists
	Longest  int // elements of the longest list

	Records    int
	OwnBytes   int // bytes of the records that are in no text
	KnownTexts int // texts in them that the dictionary has
	Texts      int // new texts
	TextBytes  int
}

// Need bounds the dictionary's growth in bytes, as Values.Need does.
func (d *Lists) Need(g Growth) int {
	d.hashed()
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.Elements()
	const list, member = 64, 16 + 8 + 4 // bytes of listWork, while it grows
	return d.elements.need(g.Elements) + recordRoom(n+g.Elements) - recordRoom(n) +
		d.hashes.need(g.Lists) + d.lists.need(g.Lists, g.Members, g.Longest) + 2*(list*g.Lists+member*g.Members) +
		d.records.need(&g)
}

// ElementGrowth bounds the additions by interning elements with records (nil, or one for each). Known
// elements do not count.
func (d *Lists) ElementGrowth(ids []uuid.UUID, records [][]byte) (g Growth) {
	for i, id := range ids {
		code := d.FindElement(id)
		if code == 0 {
			g.Elements++
		}
		if records != nil && len(records[i]) > 0 && (code == 0 || !d.HasRecord(code)) {
			d.CountRecord(&g, records[i])
		}
	}
	return g
}

// ListGrowth bounds the additions by interning lists of element codes.
func (d *Lists) ListGrowth(lists [][]uint32) (g Growth) {
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

// Size returns the heap bytes of lists and elements, and of records.
func (d *Lists) Size() (lists, records int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.elements.heap() + d.hashes.heap() + d.lists.heap() + recordRoom(d.Elements()) + 4*cap(d.late), d.records.size()
}
