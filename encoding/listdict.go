package encoding

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
)

// ListDict is an append-only set of lists of UUIDs, each with a code from 1
// up. Lists share their elements: a list is kept as the codes of its elements,
// 4 bytes each, and an element once, with a record beside it (for profiles:
// the symbols of a location).
//
// All methods are safe for concurrent use; only the Intern methods lock.
type ListDict struct {
	elements *Dict
	lists    *Dict
	records  *Dict
	recordOf stable[atomic.Uint32] // by element code-1: code in records, or 0
	covered  atomic.Uint32         // elements that recordOf has room for

	growing sync.Mutex // guards growing recordOf
}

// NewListDict returns an empty dictionary of lists; the seed is as in NewDict.
func NewListDict(seed uint64) *ListDict {
	return &ListDict{elements: NewDict(seed), lists: NewDict(seed), records: NewDict(seed)}
}

// InternElement returns the code of an element, giving it one if it is new,
// and keeps record beside it unless it is empty or the element has one. Records
// describe elements and are no part of what a reader's snapshot fixes: an
// element that is known without one can get one later.
func (d *ListDict) InternElement(id uuid.UUID, record []byte) (uint32, error) {
	code, err := d.elements.Intern(id[:])
	if err != nil {
		return 0, err
	}
	d.cover(code)
	of := d.recordOf.at(int(code) - 1)
	if len(record) == 0 || of.Load() != 0 {
		return code, nil
	}
	kept, err := d.records.Intern(record)
	if err != nil {
		return 0, err
	}
	of.CompareAndSwap(0, kept)
	return code, nil
}

// cover makes room for the record of an element before its code is told.
func (d *ListDict) cover(code uint32) {
	if d.covered.Load() >= code {
		return
	}
	d.growing.Lock()
	defer d.growing.Unlock()
	for n := d.covered.Load(); n < code; n++ {
		d.recordOf.grow(int(n))
		d.covered.Store(n + 1)
	}
}

// InternList returns the code of the list of elements with the given codes.
func (d *ListDict) InternList(elements []uint32) (uint32, error) {
	var few [256]byte
	return d.lists.Intern(appendCodes(few[:0], elements))
}

// FindElement returns the code of an element, or 0 if it has none.
func (d *ListDict) FindElement(id uuid.UUID) uint32 { return d.elements.Find(id[:]) }

// FindList returns the code of the list of elements with the given codes, or 0 if
// it has none.
func (d *ListDict) FindList(elements []uint32) uint32 {
	var few [256]byte
	return d.lists.Find(appendCodes(few[:0], elements))
}

func appendCodes(key []byte, codes []uint32) []byte {
	for _, c := range codes {
		key = binary.LittleEndian.AppendUint32(key, c)
	}
	return key
}

// List appends the codes of the elements of a list to dst.
func (d *ListDict) List(dst []uint32, code uint32) []uint32 {
	for key := d.lists.Value(code); len(key) > 0; key = key[4:] {
		dst = append(dst, binary.LittleEndian.Uint32(key))
	}
	return dst
}

// ListLen returns the number of elements of a list.
func (d *ListDict) ListLen(code uint32) int { return len(d.lists.Value(code)) / 4 }

// UUIDs appends the elements of a list to dst.
func (d *ListDict) UUIDs(dst []uuid.UUID, code uint32) []uuid.UUID {
	for key := d.lists.Value(code); len(key) > 0; key = key[4:] {
		dst = append(dst, d.Element(binary.LittleEndian.Uint32(key)))
	}
	return dst
}

// Element returns the element with the given code.
func (d *ListDict) Element(code uint32) uuid.UUID {
	return uuid.UUID(d.elements.Value(code))
}

// Record returns what is kept beside an element, nil if nothing is. It must
// not be changed.
func (d *ListDict) Record(code uint32) []byte {
	return d.records.Value(d.recordOf.at(int(code) - 1).Load())
}

// Len returns the number of lists, Elements that of distinct elements.
func (d *ListDict) Len() int { return d.lists.Len() }

// Elements returns the number of distinct elements; their codes are 1 to
// Elements.
func (d *ListDict) Elements() int { return int(d.covered.Load()) }

// Growth is what is added to a ListDict, at most.
type Growth struct {
	Elements int
	Lists    int
	Members  int // elements of the lists, summed
	Records  int
	Bytes    int // of the records
}

// Need returns at most how many bytes the dictionary grows by, as Dict.Need.
func (d *ListDict) Need(g Growth) int {
	n := d.Elements()
	return d.elements.Need(g.Elements, len(uuid.UUID{})*g.Elements) + 4*(paged(n+g.Elements)-paged(n)) +
		d.lists.Need(g.Lists, 4*g.Members) + d.records.Need(g.Records, g.Bytes)
}

// Size returns the bytes that lists and elements hold on the heap, and those
// of the records.
func (d *ListDict) Size() (lists, records int) {
	return d.lists.Size() + d.elements.Size() + 4*paged(d.Elements()), d.records.Size()
}
