package tracks

import (
	"cmp"
	"slices"
)

// row is an attribute with slices: a level of a lane.
type row struct {
	track       Track
	lane, level int
}

// pile has the open slices of a track that nest in each other, and its rows by level.
type pile struct {
	open []open
	rows []uint32
}

// open is an open slice.
type open struct {
	end  int64
	nest Nest
}

// match makes slices of begins and ends.
func (s *Timeline) match() {
	if !slices.IsSortedFunc(s.marks, compareMarks) {
		slices.SortFunc(s.marks, compareMarks)
	}
	begun := make([][]mark, len(s.nests)) // by nest
	for _, m := range s.marks {
		if m.kind != begins {
			begun[m.nest] = s.end(begun[m.nest], m)
		}
		if m.kind == begins || m.kind == changes && m.name != 0 {
			begun[m.nest] = append(begun[m.nest], m)
		}
	}
	for _, of := range begun {
		for _, m := range of {
			s.add(m, s.last+1)
		}
	}
	s.marks = nil
}

// end makes a slice of the one that a mark ends, and returns the other begun ones.
func (s *Timeline) end(begun []mark, m mark) []mark {
	at := len(begun) - 1
	if m.kind == ends {
		at = innermost(begun, m.name)
	}
	if at >= 0 {
		s.add(begun[at], m.t)
		return slices.Delete(begun, at, at+1)
	}
	if m.kind == ends {
		s.Outcome.LeaveOut("ends of slices without a begin", 1)
	}
	return begun
}

func compareMarks(a, b mark) int { return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.order, b.order)) }

// maxSearch is how many open slices an end searches for its name. More are open only in a broken recording, and would
// take quadratic time.
const maxSearch = 1000

// innermost returns the index of the innermost slice that an end ends, or -1.
func innermost(begun []mark, name Text) int {
	for i := len(begun) - 1; i >= max(0, len(begun)-maxSearch); i-- {
		if name == 0 || begun[i].name == name {
			return i
		}
	}
	return -1
}

func (s *Timeline) add(m mark, end int64) {
	s.slices = append(s.slices, slice{start: m.t, end: max(end, m.t+1), name: m.name, nest: m.nest, order: m.order})
	s.last = max(s.last, m.t)
}

// place gives each slice a row, and returns the rows. Slices without one are left out and removed.
func (s *Timeline) place() []row {
	if !slices.IsSortedFunc(s.slices, compareSlices) {
		slices.SortFunc(s.slices, compareSlices)
	}
	var rows []row
	kept := s.slices[:0]
	for _, sl := range s.slices {
		of := s.nests[sl.nest]
		n := &s.nodes[of.track]
		at, level, ok := n.fit(sl, of.inside)
		switch {
		case ok:
		case n.isFlat:
			s.Outcome.LeaveOut("instants at the time of others", 1)
			continue
		default:
			s.Outcome.LeaveOut("slices beyond 1000 levels or 1000 lanes", 1)
			continue
		}
		if at == len(n.lanes) {
			n.lanes = append(n.lanes, pile{})
		}
		l := &n.lanes[at]
		if level == len(l.rows) {
			rows = append(rows, row{of.track, at, level})
			l.rows = append(l.rows, uint32(len(rows)-1))
		}
		l.open = append(l.open, open{sl.end, sl.nest})
		sl.row = l.rows[level]
		kept = append(kept, sl)
	}
	s.slices = kept
	return rows
}

// compareSlices orders slices by start, of equal ones the longer first.
func compareSlices(a, b slice) int {
	if a.start != b.start {
		return cmp.Compare(a.start, b.start)
	}
	return cmp.Or(cmp.Compare(b.end, a.end), cmp.Compare(a.order, b.order))
}

// fit returns the lane and the level in it at which a slice fits: within a slice of the nest that it can be inside, or else
// in the first lane that is free, perhaps a new one.
func (n *node) fit(sl slice, inside Nest) (at, level int, ok bool) {
	free := -1
	for at := range n.lanes {
		l := &n.lanes[at]
		for len(l.open) > 0 && l.open[len(l.open)-1].end <= sl.start {
			l.open = l.open[:len(l.open)-1]
		}
		level := len(l.open)
		if level == 0 {
			if free < 0 {
				free = at
			}
			continue
		}
		if top := l.open[level-1]; !n.isFlat && top.nest == inside && top.end >= sl.end {
			return at, level, level < maxLevels
		}
	}
	if free >= 0 {
		return free, 0, true
	}
	return len(n.lanes), 0, len(n.lanes) == 0 || !n.isFlat && len(n.lanes) < maxLanes
}
