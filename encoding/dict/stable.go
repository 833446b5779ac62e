package dict

import "sync/atomic"

// pageLen is the number of elements in a page. It is small because a table has several of these arrays for
// each generation.
const pageLen = 64

// stable is an append-only array whose elements never move, for one writer and any number of concurrent
// readers. A reader may access an element once it learned the index after the element was written.
type stable[T any] struct {
	directory atomic.Pointer[[]*[pageLen]T]
}

// paged returns the capacity, in elements, of the pages for n elements.
func paged(n int) int { return (n + pageLen - 1) / pageLen * pageLen }

// at returns element i, which must exist.
func (s *stable[T]) at(i int) *T {
	return &(*s.directory.Load())[i/pageLen][i%pageLen]
}

// all returns the present pages.
func (s *stable[T]) all() []*[pageLen]T {
	if directory := s.directory.Load(); directory != nil {
		return *directory
	}
	return nil
}

// page returns the page of element i, which must exist.
func (s *stable[T]) page(i int) *[pageLen]T { return (*s.directory.Load())[i/pageLen] }

// grow makes room for element i, which follows the last. Appending may write past the end of a directory
// that readers hold; they never read there.
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
