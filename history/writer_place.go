package history

// place gives an attribute a slot at its first use, by its shape and the kind of its value.
func (w *Writer) place(a Attribute, shape uint32, kind Kind) (pos uint32) {
	h := w.h
	f := h.shapes.lane(shape)
	at, isNew := h.laneFor(f, kind)
	w.placed = append(w.placed, placement{f, a, at, *at})
	if isNew {
		*at = h.newLane()
	}
	ln := *at
	f.n++
	l := h.lanes[ln]
	slot := l.slots
	l.slots++
	l.work.slots[slot].start = h.opts.Start
	l.work.has &^= 1 << slot
	l.work.ended &^= 1 << slot
	l.work.plain &^= 1 << slot
	l.setKind(uint(slot), KindNull)
	pos = uint32(ln*laneWidth + int(slot))
	h.slots[a].Store(pos + 1)
	return pos
}

// laneFor returns where the lane for a shape's next attribute is recorded. isNew asks for a new lane.
func (h *History) laneFor(f *shapeLane, kind Kind) (at *int, isNew bool) {
	at = &f.lane
	if f.n < rareShape {
		at = &h.shapes.mixed[kind]
	}
	return at, f.n == rareShape || *at < 0 || h.lanes[*at].slots == laneWidth
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
	*p.at = p.before
}
