package symbols

// Walker reads stacks. It belongs to one goroutine.
type Walker struct {
	resolver *Resolver
	seen     []paged[place] // by index in resolver.lists and element
	codes    []uint32
	stack    []*Symbol
	frames   uint32 // with numbers
}

// place is what a walker knows of an element. Nothing is known of one without a symbol.
type place struct {
	*Symbol
	first, frames uint32 // frames have the numbers from first on; none so far if frames is 0
}

// Walk returns a walker over the stacks of the answer.
func (s *Resolver) Walk() *Walker {
	return &Walker{resolver: s, seen: make([]paged[place], len(s.lists))}
}

// Locations returns the locations of a stack, leaf first. They are valid until the next call.
func (w *Walker) Locations(stack uint32) []*Symbol {
	w.stack = w.stack[:0]
	w.each(stack, func(at *place) { w.stack = append(w.stack, at.Symbol) })
	return w.stack
}

// Numbers appends the numbers of the frames of a stack to dst, leaf first. A walker numbers frames from 0 up, those of a
// location beside each other, and calls see for each location that it numbers.
func (w *Walker) Numbers(dst []uint32, stack uint32, see func(*Symbol)) []uint32 {
	w.each(stack, func(at *place) {
		if at.frames == 0 {
			at.first, at.frames = w.frames, uint32(len(at.Functions))
			w.frames += at.frames
			see(at.Symbol)
		}
		for k := range at.frames {
			dst = append(dst, at.first+k)
		}
	})
	return dst
}

// each calls f for each location of a stack that is not hidden.
func (w *Walker) each(stack uint32, f func(*place)) {
	ref := w.resolver.ref(stack)
	w.codes = w.resolver.lists[ref.lists].List(w.codes[:0], ref.code)
	seen := &w.seen[ref.lists]
	for _, element := range w.codes {
		at := seen.at(element)
		if at.Symbol == nil {
			at.Symbol = w.resolver.symbol(ref.lists, element)
		}
		if w.resolver.filter == nil || !at.hidden {
			f(at)
		}
	}
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
