package granule

import (
	"slices"
	"sync"
)

// slab is words to work with, taken one after the other, and the order of the rows of a
// merge: given back all at once. It belongs to one goroutine.
type slab struct {
	words []uint64
	used  int
	want  int // the most that were in use

	order, unsorted []rowRef // of a merge
}

var slabs = sync.Pool{New: func() any { return new(slab) }}

// takeSlab returns a slab that nobody uses.
func takeSlab() *slab { return slabs.Get().(*slab) }

// take returns an empty slice with room for n words. What it holds is not cleared.
func (s *slab) take(n int) []uint64 {
	lo := s.used
	s.used += n
	s.want = max(s.want, s.used)
	if s.used > len(s.words) {
		return make([]uint64, 0, n)
	}
	return s.words[lo:lo:s.used]
}

// refs returns an empty slice with room for n rows. There is but one: it is asked for once
// before the slab is given back.
func (s *slab) refs(n int) []rowRef {
	s.order = slices.Grow(s.order[:0], n)
	return s.order
}

// one returns a slice of one word.
func (s *slab) one(word uint64) []uint64 { return append(s.take(1), word) }

// slabKept bounds what is kept for the next user, in words: three columns of a
// granule of 64 Ki rows, some times over.
const slabKept = 1 << 20

// refsKept bounds it in rows of a merge.
const refsKept = 1 << 18

// done gives the slab back.
func (s *slab) done() {
	s.reset()
	slabs.Put(s)
}

// reset gives back all that was taken. The next user finds room for as much as this
// one took.
func (s *slab) reset() {
	if s.want > len(s.words) && s.want <= slabKept {
		s.words = make([]uint64, s.want)
	}
	if max(cap(s.order), cap(s.unsorted)) > refsKept {
		s.order, s.unsorted = nil, nil
	}
	s.used, s.want = 0, 0
}
