package history

import "github.com/zeebo/xxh3"

// shapes says which attributes belong together: those whose paths are the same but for
// digits, as Threads/17/Status and Threads/4/Status. They hold values of one kind and
// change at like rates, so they share lanes.
type shapes struct {
	of    []uint32 // of each attribute
	fills map[uint32]*fill
	mixed int // the lane that takes what is rare; -1: none
	text  []byte
}

// fill is where the attributes of a shape go.
type fill struct {
	n    int
	lane int
}

// rareShape is how many attributes of a shape go to lanes that they share with others:
// a lane for each shape would be empty for the most part where names are all different.
const rareShape = 8

func newShapes() shapes { return shapes{fills: map[uint32]*fill{}, mixed: -1} }

// add notes the shape of a new attribute.
func (s *shapes) add(parent Attribute, name string) {
	seed := uint64(0)
	if parent != Root {
		seed = uint64(s.of[parent]) + 1
	}
	s.text = s.text[:0]
	for i := range len(name) {
		c := name[i]
		if c < '0' || c > '9' {
			s.text = append(s.text, c)
		} else if n := len(s.text); n == 0 || s.text[n-1] != '0' {
			s.text = append(s.text, '0')
		}
	}
	s.of = append(s.of, uint32(xxh3.HashSeed(s.text, seed)))
}

// placement is what placing an attribute changed.
type placement struct {
	attribute Attribute
	shape     *fill
	before    fill
	mixed     int
}

// place gives an attribute a slot at its first use.
func (w *Writer) place(a Attribute) (pos uint32) {
	h := w.h
	s := &h.shapes
	f := s.fills[s.of[a]]
	if f == nil {
		f = new(fill)
		s.fills[s.of[a]] = f
	}
	w.placed = append(w.placed, placement{a, f, *f, s.mixed})
	f.n++
	var ln int
	if f.n <= rareShape {
		if s.mixed < 0 || h.lanes[s.mixed].slots == laneWidth {
			s.mixed = h.newLane()
		}
		ln = s.mixed
	} else {
		if f.n == rareShape+1 || h.lanes[f.lane].slots == laneWidth {
			f.lane = h.newLane()
		}
		ln = f.lane
	}
	l := h.lanes[ln]
	slot := l.slots
	l.slots++
	l.work.start[slot] = h.opts.Start
	l.work.has &^= 1 << slot
	l.work.ended &^= 1 << slot
	l.work.plain[slot] = KindNull
	l.kinds[slot] = KindNull
	pos = uint32(ln*laneWidth + slot)
	h.slots[a].Store(pos + 1)
	return pos
}

// newLane appends a lane.
func (h *History) newLane() int {
	l := &lane{work: new(laneWork)}
	l.sealed.Store(new(sealed))
	h.lanes = append(h.lanes, l)
	return len(h.lanes) - 1
}

// unplace undoes the last placement.
func (w *Writer) unplace(p placement) {
	h := w.h
	pos := h.slots[p.attribute].Load() - 1
	l := h.lanes[pos/laneWidth]
	l.slots--
	l.fed.And(^(uint64(1) << (pos % laneWidth)))
	h.slots[p.attribute].Store(0)
	*p.shape = p.before
	h.shapes.mixed = p.mixed
}
