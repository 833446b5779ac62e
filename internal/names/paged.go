package names

import "sync/atomic"

// pageLen is the number of elements in a page. Nodes take 4 KiB a page, so that a small history stays
// small.
const pageLen = 256

// paged is an array that only grows and whose elements never move, for one writer at a time and any number
// of readers, without a lock. Elements are atomics, because they may be written again.
type paged[T any] struct {
	pages atomic.Pointer[[]*[pageLen]T]
}

// at returns element i, which must exist.
func (p *paged[T]) at(i uint32) *T { return &(*p.pages.Load())[i/pageLen][i%pageLen] }

// grow makes room for element i, after all elements before it have room. It may write behind the end of a
// page list that readers hold; they never look there.
func (p *paged[T]) grow(i uint32) {
	var pages []*[pageLen]T
	if old := p.pages.Load(); old != nil {
		pages = *old
	}
	if int(i/pageLen) < len(pages) {
		return
	}
	grown := append(pages, new([pageLen]T))
	p.pages.Store(&grown)
}

// size returns the heap bytes. An element takes `element` bytes.
func (p *paged[T]) size(element int) int {
	pages := p.pages.Load()
	if pages == nil {
		return 0
	}
	return len(*pages)*pageLen*element + 8*cap(*pages)
}

// list returns the pages. A page can be nil if no element in it is in use.
func (p *paged[T]) list() []*[pageLen]T {
	if pages := p.pages.Load(); pages != nil {
		return *pages
	}
	return nil
}
