package filter

import (
	"slices"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
)

// ListFilter finds the lists in a dictionary that have an element for which holds returns true. It
// belongs to one goroutine.
type ListFilter struct {
	lists    *dict.Lists
	reader   *dict.RecordReader
	holds    func(from *dict.RecordReader, element uint32) bool
	elements []truth // by code of an element
	known    []truth // by code of a list, for lists evaluated one by one
	looked   int     // number of lists evaluated one by one
	all      []uint64
	codes    []uint32
	work     *filterWork
}

// ElementCondition is a condition on the elements in a list column. It belongs to the chooser's
// goroutine.
type ElementCondition struct {
	holds func(from *dict.RecordReader, element uint32) bool
	work  *filterWork
}

// Of returns the filter of a dictionary's lists.
func (c ElementCondition) Of(lists *dict.Lists) *ListFilter {
	return &ListFilter{lists: lists, reader: lists.View().RecordReader(), holds: c.holds, work: c.work}
}

// Evaluating one list takes ten times as long as its share of a pass over all lists in the dictionary,
// because of cache misses. A query therefore makes the pass if its condition leaves a 16th of the series,
// or after it evaluated a 64th of the lists.
const (
	onePassFrom  = 16
	onePassAfter = 64
)

// mask returns a mask of the lists that match, with a bit for each word.
func (f *ListFilter) mask(words []uint64) mask {
	return f.work.bitsOf(len(words), func(lo, hi int) (bits uint64) {
		for _, word := range words[lo:hi] {
			code, has := uint32(word), uint64(0) // has is the result in the lowest bit
			if at := int(code / 64); at < len(f.all) {
				has = f.all[at] >> (code % 64)
			} else {
				has = encoding.FromBool(f.Has(code))
			}
			bits = bits>>1 | has<<63
		}
		return bits >> (64 - (hi - lo))
	})
}

// Has reports whether a list matches.
func (f *ListFilter) Has(code uint32) bool {
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

// Expect announces n look-ups. If a pass over all lists in the dictionary is faster, Expect makes that
// pass and returns a bit for each list. Otherwise it returns nil. The bits are meaningless if the query
// was cancelled.
func (f *ListFilter) Expect(n int) []uint64 {
	if n > f.lists.Len()/onePassAfter {
		f.lookAtAll(0)
	}
	return f.all
}

// Cancelled reports whether the query was cancelled. Later results are meaningless.
func (f *ListFilter) Cancelled() bool { return f.work.stopped }

// lookAtAll evaluates all lists in one pass and reports whether the list `code` matches. It checks for
// cancellation before each element, because a condition can take long.
func (f *ListFilter) lookAtAll(code uint32) bool {
	n := f.lists.Elements()
	f.grow(n)
	for e := range f.lists.RecordOrder() { // in their order, because then reading has few cache misses
		if f.ask(e); f.work.stopped {
			return false
		}
	}
	wanted := make([]uint64, n/64+1)
	for e := 1; e <= n; e++ {
		if f.elements[e] == unknown { // it was not in the order: mostly it has no record
			if f.work.isStopped() {
				return false
			}
			f.ask(uint32(e))
		}
		wanted[e/64] |= encoding.FromBool(f.elements[e] == yes) << (e % 64)
	}
	all := f.lists.ListsWith(wanted, f.work.isStopped)
	if f.work.stopped {
		return false
	}
	f.all = all
	return f.all[code/64]>>(code%64)&1 == 1
}

func (f *ListFilter) one(code uint32) bool {
	f.codes = f.lists.List(f.codes[:0], code)
	return slices.ContainsFunc(f.codes, f.element)
}

// element reports whether an element matches, and caches the result.
func (f *ListFilter) element(code uint32) bool {
	if int(code) >= len(f.elements) || f.elements[code] == unknown {
		f.ask(code)
	}
	return f.elements[code] == yes
}

// ask evaluates an element, unless its result is cached or the query was cancelled.
func (f *ListFilter) ask(code uint32) {
	if int(code) >= len(f.elements) {
		f.grow(f.lists.Elements())
	}
	if f.elements[code] == unknown && !f.work.isStopped() {
		f.elements[code] = truthOf(f.holds(f.reader, code))
	}
}

// grow grows the cache to hold `elements` elements.
func (f *ListFilter) grow(elements int) {
	if more := elements + 1 - len(f.elements); more > 0 {
		f.elements = append(f.elements, make([]truth, more)...)
	}
}
