package history

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
)

// Slice is the state of all or some attributes of a view at one instant, as columns in the history's own
// order. It belongs to the caller; a Cursor's slice does until the cursor's next move. Any number of
// goroutines may read it.
type Slice struct {
	view  *View
	at    int64
	lanes []uint32 // lanes that have columns, in order; nil: all lanes of the view
	// In the order of lanes, then slots. An unused slot holds for all time.
	starts, ends []int64
	words        []uint64
	// One word per lane, one bit per slot.
	has    []uint64 // slots with a value
	open   []uint64
	wanted []uint64    // slots in the slice; may be shared with other slices
	some   []Attribute // the attributes of the query; nil: all of the view
}

// newSlice returns a slice without states. With few attributes it has only the columns of their lanes.
func newSlice(v *View, attributes []Attribute) *Slice {
	s, n := &Slice{view: v, some: slices.Clone(attributes)}, len(v.lanes)
	if attributes != nil && len(attributes) < n {
		s.lanes = make([]uint32, 0, len(attributes))
		for _, a := range attributes {
			if pos := v.pos(a); pos > 0 {
				s.lanes = append(s.lanes, (pos-1)/laneWidth)
			}
		}
		slices.Sort(s.lanes)
		s.lanes = slices.Compact(s.lanes)
		n = len(s.lanes)
	}
	s.starts, s.ends, s.words = make([]int64, n*laneWidth), make([]int64, n*laneWidth), make([]uint64, n*laneWidth)
	s.has, s.open = make([]uint64, n), make([]uint64, n)
	if attributes == nil {
		s.wanted = v.places()
		return s
	}
	s.wanted = make([]uint64, n)
	for _, a := range attributes {
		if i, slot, ok := s.find(a); ok {
			s.wanted[i] |= 1 << slot
		}
	}
	return s
}

// find returns the index of an attribute's lane in the slice, and its slot. ok is false if the slice cannot
// have it.
func (s *Slice) find(a Attribute) (i int, slot uint, ok bool) {
	pos := s.view.pos(a)
	if pos == 0 {
		return 0, 0, false
	}
	i, slot, ok = int(pos-1)/laneWidth, uint(pos-1)%laneWidth, true
	if s.lanes != nil {
		i, ok = slices.BinarySearch(s.lanes, uint32(i)) // it can have got its place since
	}
	return i, slot, ok
}

// lane returns lane i of the slice.
func (s *Slice) lane(i int) *lane {
	if s.lanes != nil {
		i = int(s.lanes[i])
	}
	return s.view.lanes[i]
}

// Len returns the number of attributes in the slice. An attribute that was named twice counts twice.
func (s *Slice) Len() int {
	if s.some != nil {
		return len(s.some)
	}
	return s.view.Len()
}

// Of returns the interval of an attribute. The error is ErrAttribute if the attribute is not in the slice.
func (s *Slice) Of(a Attribute) (Interval, error) {
	if err := s.view.Known(a); err != nil {
		return Interval{}, err
	}
	if i, slot, ok := s.find(a); ok && s.wanted[i]>>slot&1 != 0 {
		return s.interval(i, slot), nil
	}
	if s.some != nil && !slices.Contains(s.some, a) {
		return Interval{}, fmt.Errorf("%w: %d is not in the slice", ErrAttribute, a)
	}
	// It had no place when the slice was made, so it is null throughout the view.
	return Interval{Start: s.view.start, End: s.view.end, Open: !s.view.closed}, nil
}

// All yields each attribute with its interval, in the order of attributes or of the query.
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

func (s *Slice) interval(i int, slot uint) Interval {
	pos := i*laneWidth + int(slot)
	in := Interval{Start: s.starts[pos], End: s.ends[pos], Open: s.open[i]>>slot&1 != 0}
	if s.has[i]>>slot&1 != 0 {
		in.Value = valueOfWord(s.view.texts, s.lane(i).kinds[slot], s.words[pos])
	}
	return in
}

// state returns the interval and the word of an attribute in the slice.
func (s *Slice) state(a Attribute) (in Interval, word uint64) {
	if i, slot, ok := s.find(a); ok && s.wanted[i]>>slot&1 != 0 {
		return s.interval(i, slot), s.words[i*laneWidth+int(slot)]
	}
	s.view.at(&in, a, s.at)
	return in, 0 // it had no place when the slice was made
}

// fill looks up all states at t.
func (s *Slice) fill(t int64) {
	s.at = t
	for i := range s.has {
		base := i * laneWidth
		for rest := ^s.wanted[i]; rest != 0; rest &= rest - 1 {
			slot := bits.TrailingZeros64(rest)
			s.starts[base+slot], s.ends[base+slot] = math.MinInt64, math.MaxInt64
		}
		if s.wanted[i] != 0 {
			s.fillLane(i, s.wanted[i])
		}
	}
}

// move looks up the states at t for the attributes whose interval does not contain t.
func (s *Slice) move(t int64) {
	s.at = t
	for i := range s.has {
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

// fillLane finds the states of `slots` in lane i.
func (s *Slice) fillLane(i int, slots uint64) {
	v, l := s.view, s.lane(i)
	f := laneFill{
		s: l.sealed.Load(), t: s.at, wanted: slots, start: slots, end: slots,
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
		s.reopen(i, l, slots)
	}
}

// fillOngoing finds the states that have no end in the lane, one by one, because they may end meanwhile.
func (s *Slice) fillOngoing(i int, l *lane, f *laneFill) {
	var words [laneWidth]uint64
	var has uint64
	if now := l.now.Load(); now != nil {
		has = now.has.Load()
		for rest := has & f.end; rest != 0; rest &= rest - 1 {
			slot := bits.TrailingZeros64(rest)
			words[slot] = now.words[slot].Load()
		}
	}
	again := l.sealed.Load()
	same := again == f.s && again.entriesOf().n == f.seen
	for rest := f.end; rest != 0; rest &= rest - 1 {
		slot, bit := bits.TrailingZeros64(rest), rest&-rest
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

// reopen opens the intervals that ended after the view.
func (s *Slice) reopen(i int, l *lane, slots uint64) {
	fed := l.fed.Load()
	for rest := slots; rest != 0; rest &= rest - 1 {
		slot, bit := bits.TrailingZeros64(rest), rest&-rest
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
