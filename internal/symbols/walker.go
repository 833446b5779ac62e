package symbols

import (
	"math"
	"slices"

	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/internal/pattern"
)

// Walker reads stacks. It is faster in the order of codes, because it skips the frames that a stack shares
// with its predecessor. It belongs to one goroutine.
type Walker struct {
	resolver *Resolver
	stop     pattern.Stop
	cursor   dict.ListCursor
	symbols  paged[*Symbol]    // by element
	places   paged[frameRange] // by element
	stack    []*Symbol
	frames   uint32 // number of numbered frames
	symbol   Symbol // scratch for describe
	table    *tableFrames

	numbers []uint32 // frame numbers of the current stack, leaf first, at the end of the slice
	ends    []int    // by location in that stack, root first: the number of frames up to its end
}

// frameRange holds the numbers of an element's frames: [first, first+frames). frames is 0 until they are numbered.
type frameRange struct{ first, frames uint32 }

// hidden is the number of frames of an element with no frame left.
const hidden = math.MaxUint32

// Walk returns a walker over the answer's stacks. After stop its stacks can have the wrong frames.
func (s *Resolver) Walk(stop pattern.Stop) *Walker {
	return &Walker{resolver: s, stop: stop, cursor: s.lists.Cursor()}
}

// Locations returns a stack's locations, leaf first. They are valid until the next call.
func (w *Walker) Locations(stack uint32) []*Symbol {
	w.cursor.Move(stack)
	w.stack = w.stack[:0]
	for _, element := range w.cursor.Elements() {
		at := w.symbols.at(element)
		if *at == nil {
			*at = w.resolver.symbol(element, w.stop)
		}
		if !(*at).hidden {
			w.stack = append(w.stack, *at)
		}
	}
	return w.stack
}

// Numbers returns the numbers of a stack's frames, leaf first. The last `shared` numbers equal the previous
// stack's. They are valid until the next call. A walker numbers frames from 0 up, a location's frames in a
// row. It calls see once for each frame, in the order of the numbers, with the number of its function. A walker serves
// Numbers or Locations, not both.
func (w *Walker) Numbers(stack uint32, see func(f FrameText, function uint32)) (numbers []uint32, shared int) {
	if w.cursor.Move(stack); w.frames == 0 {
		w.table = w.resolver.useTable()
	}
	elements, kept := w.cursor.Elements(), min(w.cursor.Kept(), len(w.ends))
	if kept > 0 {
		shared = w.ends[kept-1]
	}
	w.ends = w.ends[:kept]
	frames := shared
	for _, element := range slices.Backward(elements[:len(elements)-kept]) {
		at := w.places.at(element)
		if at.frames == 0 {
			*at = w.number(element, see)
		}
		if at.frames != hidden {
			if frames += int(at.frames); frames > len(w.numbers) {
				w.grow(frames, int(at.frames))
			}
			for k := range at.frames {
				w.numbers[len(w.numbers)-frames+int(k)] = at.first + k
			}
		}
		w.ends = append(w.ends, frames)
	}
	return w.numbers[len(w.numbers)-frames:], shared
}

// grow makes room for `frames` frames, of which the first `first` are not set yet.
func (w *Walker) grow(frames, first int) {
	numbers := make([]uint32, max(64, 2*frames))
	there := w.numbers[len(w.numbers)-(frames-first):]
	copy(numbers[len(numbers)-len(there):], there)
	w.numbers = numbers
}

// number gives numbers to an element's frames. It keeps no symbol, because most of a symbol is useless
// after see.
func (w *Walker) number(element uint32, see func(f FrameText, function uint32)) frameRange {
	known := w.table.of(element)
	for _, f := range known {
		see(w.table.frame(f), f.function)
	}
	frames := len(known)
	if frames == 0 {
		y := &w.symbol
		if w.resolver.describe(y, element, w.stop); y.hidden {
			return frameRange{frames: hidden}
		}
		for i, function := range y.Functions {
			see(y.Frame(i), function)
		}
		frames = len(y.Functions)
	}
	at := frameRange{w.frames, uint32(frames)}
	w.frames += at.frames
	return at
}

// paged is a slice with memory only for the pages in use: an answer can contain few of all codes.
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
