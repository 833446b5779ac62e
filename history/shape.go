package history

import "github.com/granarydb/granary/internal/names"

// shapes groups attributes. Attributes of one shape hold values of one kind and change at similar
// rates, so they share lanes.
type shapes struct {
	names.Shapes
	lanes map[uint32]*shapeLane
	last  [64]*shapeLane // a cache, by the low bits of the shape
	mixed [kinds]int     // the lane of rare shapes by the kind of their values; -1: none
}

// shapeLane is the lane in which the attributes of a shape go.
type shapeLane struct {
	shape uint32
	n     int
	lane  int
}

// rareShape is the number of attributes of a shape that go to lanes shared with other shapes. A
// lane takes 3 KB, however few attributes are in it, so only shapes that can fill one have their
// own. Values of one kind are alike, and small in a tile together; values of several kinds are not.
const rareShape = laneWidth

func newShapes() shapes {
	s := shapes{lanes: map[uint32]*shapeLane{}}
	for kind := range s.mixed {
		s.mixed[kind] = -1
	}
	return s
}

// lane returns the lane of a shape.
func (s *shapes) lane(shape uint32) *shapeLane {
	last := &s.last[shape%uint32(len(s.last))]
	if f := *last; f != nil && f.shape == shape {
		return f
	}
	f := s.lanes[shape]
	if f == nil {
		f = &shapeLane{shape: shape}
		s.lanes[shape] = f
	}
	*last = f
	return f
}
