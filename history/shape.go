package history

import "github.com/zeebo/xxh3"

// shapes says which attributes belong together: those whose paths are the same but for
// digits, as Threads/17/Status and Threads/4/Status. They hold values of one kind and
// change at like rates, so they share lanes.
type shapes struct {
	of    []uint32 // of each attribute
	fills map[uint32]*fill
	last  [64]*fill // some of them, by the low bits of the shape: what comes comes again
	mixed int       // the lane that takes what is rare; -1: none
	text  []byte
}

// fill is where the attributes of a shape go.
type fill struct {
	shape uint32
	n     int
	lane  int
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

// fill returns where the attributes of a shape go.
func (s *shapes) fill(shape uint32) *fill {
	last := &s.last[shape%uint32(len(s.last))]
	if f := *last; f != nil && f.shape == shape {
		return f
	}
	f := s.fills[shape]
	if f == nil {
		f = &fill{shape: shape}
		s.fills[shape] = f
	}
	*last = f
	return f
}

// placement is what placing an attribute changed.
type placement struct {
	shape     *fill
	attribute Attribute
	lane      int32 // of the shape, before
	mixed     int32 // before
}

// place gives an attribute, which is of a shape, a slot at its first use.
func (w *Writer) place(a Attribute, shape uint32) (pos uint32) {
	h := w.h
	s := &h.shapes
	f := s.fill(shape)
	w.placed = append(w.placed, placement{f, a, int32(f.lane), int32(s.mixed)})
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
	l.work.slots[slot].start = h.opts.Start
	l.work.has &^= 1 << slot
	l.work.ended &^= 1 << slot
	l.work.plain &^= 1 << slot
	l.kinds[slot] = KindNull
	pos = uint32(ln*laneWidth + slot)
	h.slots[a].Store(pos + 1)
	return pos
}

// newLane appends a lane.
func (h *History) newLane() int {
	l := &lane{work: new(laneWork)}
	l.sealed.Store(new(sealed))
	l.work.lane = l
	h.lanes = append(h.lanes, l)
	h.works = append(h.works, l.work)
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
	p.shape.n--
	p.shape.lane = int(p.lane)
	h.shapes.mixed = int(p.mixed)
}
