package encoding

import "sync/atomic"

// pageLen is how many elements a page holds: small, because a table has several
// of these arrays for each of its generations.
const pageLen = 64

// stable is an append-only array whose elements never move, for one writer at a
// time and any number of readers. A reader may ask for every element whose index
// it was told after the element was written.
type stable[T any] struct {
	directory atomic.Pointer[[]*[pageLen]T]
}

// paged returns how many elements the pages of n elements have room for.
func paged(n int) int { return (n + pageLen - 1) / pageLen * pageLen }

// at returns element i. The caller knows that it exists.
func (s *stable[T]) at(i int) *T {
	return &(*s.directory.Load())[i/pageLen][i%pageLen]
}

// page returns the page of element i, which exists.
func (s *stable[T]) page(i int) *[pageLen]T { return (*s.directory.Load())[i/pageLen] }

// grow makes room for element i, the one after the last. Appending may write
// behind the end of a directory that readers hold; they never look there.
func (s *stable[T]) grow(i int) {
	if i%pageLen != 0 {
		return
	}
	var directory []*[pageLen]T
	if old := s.directory.Load(); old != nil {
		directory = *old
	}
	directory = append(directory, new([pageLen]T))
	s.directory.Store(&directory)
}
