package granule

import (
	"slices"
	"sync"
)

// slab is scratch memory. It hands out slices of words one after the other, and the row order of a merge. All
// of it is returned at once. It is not safe for concurrent use.
type slab struct {
	words []uint64
	used  int
	want  int // greatest number of words in use at once

	order, unsorted []rowRef // the row order of a merge, and scratch for it
}

var slabs = sync.Pool{New: func() any { return new(slab) }}

// room returns an empty slice with room for n words. Its memory is not cleared.
func (s *slab) room(n int) []uint64 {
	lo := s.used
	s.used += n
	s.want = max(s.want, s.used)
	if s.used > len(s.words) {
		return make([]uint64, 0, n)
	}
	return s.words[lo:lo:s.used]
}

// refs returns an empty slice with room for n rows. It may be called only once before the slab is returned,
// because there is only one such slice.
func (s *slab) refs(n int) []rowRef {
	s.order = slices.Grow(s.order[:0], n)
	return s.order
}

// one returns a slice of one word.
func (s *slab) one(word uint64) []uint64 { return append(s.room(1), word) }

// slabKept bounds a pooled slab's words: a few times three columns of a granule of 64 Ki rows.
const slabKept = 1 << 20

// refsKept bounds the row order of a pooled slab, in rows.
const refsKept = 1 << 18

// done returns the slab to the pool.
func (s *slab) done() {
	s.reset()
	slabs.Put(s)
}

// reset takes back all slices, and gives the next user as much room as this one took.
func (s *slab) reset() {
	if s.want > len(s.words) && s.want <= slabKept {
		s.words = make([]uint64, s.want)
	}
	if max(cap(s.order), cap(s.unsorted)) > refsKept {
		s.order, s.unsorted = nil, nil
	}
	s.used, s.want = 0, 0
}

// rowRef identifies a row of one of several frames.
type rowRef struct{ frame, row int32 }
