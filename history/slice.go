package history

import (
	"fmt"
	"iter"
	"math"
	"slices"
)

// Slice is the state of all attributes of a view at one instant, or of some: columns in
// the order in which the history keeps them. It belongs to the caller; that of a Cursor
// until its next move. Any number of goroutines may read it.
type Slice struct {
	view *View
	at   int64
	// In the order of lanes, then slots. An unused slot holds for all time.
	starts, ends []int64
	words        []uint64
	// A word for each lane, a bit for each slot.
	has    []uint64 // it has a value
	open   []uint64
	wanted []uint64    // it is in the slice; maybe shared with other slices
	some   []Attribute // those asked for; nil: all of the view
}

// Slice returns the state of attributes at an instant; of all, if none is named. The
// errors are those of View.At. 24 bytes and about 15 ns an attribute, 60 of a few; a
// third of that is for the memory, see SliceInto.
func (v *View) Slice(t int64, attributes ...Attribute) (*Slice, error) {
	if err := v.checkTime(t); err != nil {
		return nil, err
	}
	for _, a := range attributes {
		if err := v.checkAttribute(a); err != nil {
			return nil, err
		}
	}
	s := v.newSlice(attributes)
	s.fill(t)
	return s, nil
}

// SliceInto is Slice of all attributes, in the memory of a slice that nobody reads any
// more, of any view of any history, which becomes the result; nil has none. The error is
// ErrTime, as of View.At: then the result is nil, and the old slice as it was. It must not
// be that of a Cursor.
func (v *View) SliceInto(old *Slice, t int64) (*Slice, error) {
	if err := v.checkTime(t); err != nil {
		return nil, err
	}
	s := old
	if n := len(v.lanes); s == nil || cap(s.has) < n {
		s = v.newSlice(nil)
	} else {
		s.view, s.wanted, s.some = v, v.places(), nil
		s.starts, s.ends, s.words = s.starts[:n*laneWidth], s.ends[:n*laneWidth], s.words[:n*laneWidth]
		s.has, s.open = s.has[:n], s.open[:n]
	}
	s.fill(t)
	return s, nil
}

// newSlice returns a slice without any state.
func (v *View) newSlice(attributes []Attribute) *Slice {
	n := len(v.lanes)
	s := &Slice{
		view: v, starts: make([]int64, n*laneWidth), ends: make([]int64, n*laneWidth), words: make([]uint64, n*laneWidth),
		has: make([]uint64, n), open: make([]uint64, n),
	}
	if len(attributes) == 0 {
		s.wanted = v.places()
		return s
	}
	s.some = slices.Clone(attributes)
	s.wanted = make([]uint64, n)
	for _, a := range attributes {
		if pos := v.pos(a); pos > 0 {
			s.wanted[(pos-1)/laneWidth] |= 1 << ((pos - 1) % laneWidth)
		}
	}
	return s
}

// places returns the places of all attributes of the view, as Slice.wanted.
func (v *View) places() []uint64 {
	if known := v.placed.Load(); known != nil {
		return *known
	}
	placed := make([]uint64, len(v.lanes))
	for a := range v.n {
		if pos := v.pos(Attribute(a)); pos > 0 {
			placed[(pos-1)/laneWidth] |= 1 << ((pos - 1) % laneWidth)
		}
	}
	v.placed.Store(&placed)
	return placed
}

// fill looks up all states at t.
func (s *Slice) fill(t int64) {
	s.at = t
	for i := range s.view.lanes {
		base := i * laneWidth
		for rest := ^s.wanted[i]; rest != 0; {
			var slot int
			slot, rest = nextSlot(rest)
			s.starts[base+slot], s.ends[base+slot] = math.MinInt64, math.MaxInt64
		}
		if s.wanted[i] != 0 {
			s.fillLane(i, s.wanted[i])
		}
	}
}

// move looks up the states at t of those whose interval t is not in.
func (s *Slice) move(t int64) {
	s.at = t
	for i := range s.view.lanes {
		starts := (*[laneWidth]int64)(s.starts[i*laneWidth:])
		ends := (*[laneWidth]int64)(s.ends[i*laneWidth:])
		var changed uint64
		for slot := range laneWidth {
			var out uint64
			if starts[slot] > t {
				out = 1
			}
			if ends[slot] < t {
				out = 1
			}
			changed |= out << slot
		}
		if changed != 0 {
			s.fillLane(i, changed)
		}
	}
}

// At returns the instant of the slice.
func (s *Slice) At() int64 { return s.at }

// Len returns the number of attributes in the slice, as often as they were asked for.
func (s *Slice) Len() int {
	if s.some != nil {
		return len(s.some)
	}
	return s.view.n
}

// Of returns the interval that an attribute is in. ErrAttribute says that the slice does
// not have it.
func (s *Slice) Of(a Attribute) (Interval, error) {
	if err := s.view.checkAttribute(a); err != nil {
		return Interval{}, err
	}
	if pos := s.view.pos(a); pos > 0 && s.wanted[(pos-1)/laneWidth]>>((pos-1)%laneWidth)&1 != 0 {
		return s.interval(int(pos - 1)), nil
	}
	if s.some != nil && !slices.Contains(s.some, a) {
		return Interval{}, fmt.Errorf("%w: %d is not in the slice", ErrAttribute, a)
	}
	// It had no place when the slice was made, so nothing was said of it in the view.
	return Interval{Start: s.view.start, End: s.view.end, Open: !s.view.closed}, nil
}

func (s *Slice) interval(pos int) Interval {
	i, slot := pos/laneWidth, pos%laneWidth
	in := Interval{Start: s.starts[pos], End: s.ends[pos], Open: s.open[i]>>slot&1 != 0}
	if s.has[i]>>slot&1 != 0 {
		in.Value = s.view.history.value(s.view.lanes[i].kinds[slot], s.words[pos])
	}
	return in
}

// All yields each attribute with its interval, in order of the attributes, or as they
// were asked for.
func (s *Slice) All() iter.Seq2[Attribute, Interval] {
	return func(yield func(Attribute, Interval) bool) {
		for i := range s.Len() {
			a := Attribute(i)
			if s.some != nil {
				a = s.some[i]
			}
			in, err := s.Of(a)
			if err != nil || !yield(a, in) {
				return
			}
		}
	}
}

// fillLane finds the states of some slots of a lane.
func (s *Slice) fillLane(i int, slots uint64) {
	v, l := s.view, s.view.lanes[i]
	f := laneFill{
		s: l.sealed.Load(), t: s.at, start: slots, end: slots,
		starts: (*[laneWidth]int64)(s.starts[i*laneWidth:]),
		ends:   (*[laneWidth]int64)(s.ends[i*laneWidth:]),
		words:  (*[laneWidth]uint64)(s.words[i*laneWidth:]),
	}
	j := f.s.from(f.t)
	if j < len(f.s.tiles) {
		f.within(&f.s.tiles[j])
		f.later(j + 1)
	}
	if f.end != 0 || j == len(f.s.tiles) {
		f.buffered()
	}
	f.earlier(j-1, v.start)
	if v.dropped {
		f.clip(slots, v.start)
	}
	s.has[i] = s.has[i]&^slots | f.has
	s.open[i] &^= slots
	if f.end != 0 {
		s.fillOngoing(i, l, &f)
	}
	if !v.closed {
		s.clip(i, l, slots)
	}
}

// fillOngoing finds the states that have no end in the lane: one by one, for they may
// end meanwhile.
func (s *Slice) fillOngoing(i int, l *lane, f *laneFill) {
	var words [laneWidth]uint64
	var has uint64
	if now := l.now.Load(); now != nil {
		has = now.has.Load()
		for rest := has & f.end; rest != 0; {
			var slot int
			slot, rest = nextSlot(rest)
			words[slot] = now.words[slot].Load()
		}
	}
	again := l.sealed.Load()
	same := again == f.s && again.entriesOf().n == f.seen
	for rest := f.end; rest != 0; {
		var slot int
		bit := rest & -rest
		slot, rest = nextSlot(rest)
		pos := i*laneWidth + slot
		if same {
			s.ends[pos], s.words[pos] = s.view.end, words[slot]
			s.has[i] |= has & bit
			if !s.view.closed {
				s.open[i] |= bit
			}
			continue
		}
		var found found
		l.find(&found, uint(slot), s.at, s.view.start)
		s.words[pos], s.ends[pos] = found.word, found.end
		if !found.null {
			s.has[i] |= bit
		}
		if !found.ended {
			s.ends[pos] = s.view.end
			if !s.view.closed {
				s.open[i] |= bit
			}
		}
	}
}

// clip makes what ended after the view open.
func (s *Slice) clip(i int, l *lane, slots uint64) {
	fed := l.fed.Load()
	for rest := slots; rest != 0; {
		var slot int
		bit := rest & -rest
		slot, rest = nextSlot(rest)
		pos := i*laneWidth + slot
		if s.open[i]&bit == 0 && s.view.isOpen(l, uint(slot), s.ends[pos]) {
			s.ends[pos] = s.view.end
			s.open[i] |= bit
			if fed&bit != 0 {
				s.has[i] &^= bit
			}
		}
	}
}
