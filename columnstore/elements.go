package columnstore

import (
	"slices"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
)

// listFilter finds the lists of one dictionary that have an element for which a function
// says so.
type listFilter struct {
	lists    *encoding.ListDict
	holds    func(id uuid.UUID, record []byte) bool
	elements []truth // by code
	known    []truth // by code of a list, one by one
	looked   int     // how many of them
	all      []uint64
	codes    []uint32
	work     *filterWork
}

// onePassAfter is what share of the dictionary's lists is looked at one by one before all
// are in one pass. A list by itself takes ten times as long, and misses the processor's
// caches.
const onePassAfter = 64

// setElement makes the test of a HasElement condition.
func (l *leaf) setElement(holds func(uuid.UUID, []byte) bool) bool {
	l.lists = map[*granule.Generation]*listFilter{}
	l.element = holds
	return true
}

func (l *leaf) listsOf(gen *granule.Generation) *listFilter {
	f := l.lists[gen]
	if f == nil {
		f = &listFilter{lists: gen.Lists, holds: l.element, work: l.work}
		l.lists[gen] = f
	}
	return f
}

// mask says which of some rows, of which words are the lists, have such an element.
func (f *listFilter) mask(bits []bool, words []uint64) mask {
	some, all := false, true
	for i, word := range words {
		code := uint32(word)
		var holds bool
		if int(code/64) < len(f.all) {
			holds = f.all[code/64]>>(code%64)&1 == 1
		} else {
			holds = code != 0 && f.has(code)
		}
		bits[i] = holds
		some, all = some || holds, all && holds
	}
	if some == all {
		return mask{all: all}
	}
	return mask{bits: bits}
}

// has says whether a list has such an element, if not all lists are known yet.
func (f *listFilter) has(code uint32) bool {
	if int(code) >= len(f.known) {
		f.known = append(f.known, make([]truth, f.lists.Len()+1-len(f.known))...)
	}
	if f.work.stopped {
		return false
	}
	if f.known[code] == unknown {
		if f.looked++; f.looked > f.lists.Len()/onePassAfter {
			return f.lookAtAll(code)
		}
		f.known[code] = truthOf(f.one(code))
	}
	return f.known[code] == yes
}

// lookAtAll finds all lists, and says whether one is among them. Elements come in the
// order of their codes: so do their records lie. It looks now and then whether the query
// was cancelled.
func (f *listFilter) lookAtAll(code uint32) bool {
	const often = 1 << 10 // elements
	wanted := make([]uint64, f.lists.Elements()/64+1)
	for e := range uint32(f.lists.Elements()) {
		if e%often == 0 && f.stopped() {
			return false
		}
		if f.element(e + 1) {
			wanted[(e+1)/64] |= 1 << ((e + 1) % 64)
		}
	}
	all := f.lists.ListsWith(wanted, f.stopped)
	if f.work.stopped {
		return false
	}
	f.all = all
	return f.all[code/64]>>(code%64)&1 == 1
}

func (f *listFilter) stopped() bool {
	f.work.stopped = f.work.stopped || f.work.stop()
	return f.work.stopped
}

// one looks at a list by itself.
func (f *listFilter) one(code uint32) bool {
	f.codes = f.lists.List(f.codes[:0], code)
	return slices.ContainsFunc(f.codes, f.element)
}

// element asks about an element, once.
func (f *listFilter) element(code uint32) bool {
	if int(code) >= len(f.elements) {
		f.elements = append(f.elements, make([]truth, f.lists.Elements()+1-len(f.elements))...)
	}
	if f.elements[code] == unknown {
		f.elements[code] = truthOf(f.holds(f.lists.Element(code), f.lists.Record(code)))
	}
	return f.elements[code] == yes
}
