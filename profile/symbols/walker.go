package symbols

import "slices"

// Walker reads stacks. It belongs to one goroutine.
type Walker struct {
	resolver *Resolver
	seen     []paged[*Symbol] // by index in resolver.lists and element
	codes    []uint32
	stack    []*Symbol
}

// Walk returns a walker over the stacks of the answer.
func (s *Resolver) Walk() *Walker {
	return &Walker{resolver: s, seen: make([]paged[*Symbol], len(s.lists))}
}

// Locations returns the locations of a stack, leaf first. They are valid until the next call.
func (w *Walker) Locations(stack uint32) []*Symbol {
	ref := w.resolver.ref(stack)
	w.codes = w.resolver.lists[ref.lists].List(w.codes[:0], ref.code)
	w.stack = w.stack[:0]
	seen := &w.seen[ref.lists]
	for _, element := range w.codes {
		y := seen.at(element)
		if *y == nil {
			*y = w.resolver.symbol(ref.lists, element)
		}
		w.stack = append(w.stack, *y)
	}
	if w.resolver.filter != nil {
		w.stack = slices.DeleteFunc(w.stack, func(y *Symbol) bool { return y.hidden })
	}
	return w.stack
}

// paged is a slice with memory only for the pages in use: an answer can contain few of all
// codes.
type paged[T any] struct{ pages [][]T }

const page = 256

// at returns a pointer to element i, which is zero at first.
func (p *paged[T]) at(i uint32) *T {
	if n := int(i / page); n >= len(p.pages) {
		p.pages = append(p.pages, make([][]T, n+1-len(p.pages))...)
	}
	in := p.pages[i/page]
	if in == nil {
		in = make([]T, page)
		p.pages[i/page] = in
	}
	return &in[i%page]
}
