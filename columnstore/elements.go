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

// A list by itself takes ten times as long as in a pass over all lists of the dictionary,
// and misses the processor's caches. All are looked at in one pass if a condition leaves
// a 16th of the series, or when a 64th of the lists has been looked at.
const (
	onePassFrom  = 16
	onePassAfter = 64
)

func (l *leaf) listsOf(gen *granule.Generation) *listFilter {
	f := l.lists[gen]
	if f == nil {
		f = &listFilter{lists: gen.Lists, holds: l.element, work: l.work}
		if l.work.manySeries(gen) {
			f.looked = f.lists.Len()
		}
		l.lists[gen] = f
	}
	return f
}

// mask says which of some rows, of which words are the lists, have such an element.
func (f *listFilter) mask(words []uint64) mask {
	return f.work.bitsOf(len(words), func(lo, hi int) (bits uint64) {
		for _, word := range words[lo:hi] {
			code, has := uint32(word), uint64(0) // in its lowest bit
			if at := int(code / 64); at < len(f.all) {
				has = f.all[at] >> (code % 64)
			} else {
				has = encoding.FromBool(f.has(code))
			}
			bits = bits>>1 | has<<63
		}
		return bits >> (64 - (hi - lo))
	})
}

// has says whether a list has such an element.
func (f *listFilter) has(code uint32) bool {
	if code == 0 {
		return false
	}
	if at := int(code / 64); at < len(f.all) {
		return f.all[at]>>(code%64)&1 == 1
	}
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

// lookAtAll finds all lists, and says whether one is among them. It looks now and then
// whether the query was cancelled.
func (f *listFilter) lookAtAll(code uint32) bool {
	n := f.lists.Elements()
	f.room(n)
	asked := 0
	for e, record := range f.lists.Records() { // so that the misses of the caches are few
		if asked%1024 == 0 && f.stopped() {
			return false
		}
		asked++
		f.ask(e, record)
	}
	wanted := make([]uint64, n/64+1)
	for e := 1; e <= n; e++ {
		if f.elements[e] == unknown { // it has no record, or that of another
			if asked%1024 == 0 && f.stopped() {
				return false
			}
			asked++
			f.ask(uint32(e), f.lists.Record(uint32(e)))
		}
		wanted[e/64] |= encoding.FromBool(f.elements[e] == yes) << (e % 64)
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

// element says what is to be known of an element, and asks if nobody did.
func (f *listFilter) element(code uint32) bool {
	if int(code) >= len(f.elements) || f.elements[code] == unknown {
		f.ask(code, f.lists.Record(code))
	}
	return f.elements[code] == yes
}

// ask asks about an element with a record, once.
func (f *listFilter) ask(code uint32, record []byte) {
	if int(code) >= len(f.elements) {
		f.room(f.lists.Elements())
	}
	if f.elements[code] == unknown {
		f.elements[code] = truthOf(f.holds(f.lists.Element(code), record))
	}
}

// room makes room for what is known of so many elements.
func (f *listFilter) room(elements int) {
	if more := elements + 1 - len(f.elements); more > 0 {
		f.elements = append(f.elements, make([]truth, more)...)
	}
}
