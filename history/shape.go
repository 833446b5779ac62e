package history

import "github.com/granarydb/granary/internal/names"

// shapes groups attributes. Attributes with one shape hold values of one kind and change at similar rates,
// so they share lanes.
type shapes struct {
	names.Shapes
	lanes map[uint32]*shapeLane
	last  [64]*shapeLane // a cache, by the shape's low bits
	mixed [kinds]int     // lane of rare shapes, by the kind of their values; -1: none
}

// shapeLane is the lane that takes a shape's next attributes.
type shapeLane struct {
	shape uint32
	n     int
	lane  int
}

// rareShape is the number of a shape's attributes that go to lanes shared with other shapes. A lane takes 3
// KB however few attributes it has, so only a shape that can fill a lane has its own. A shared lane has
// values of one kind, because such values are alike and take little memory together in a tile.
const rareShape = laneWidth

func newShapes() shapes {
	s := shapes{lanes: map[uint32]*shapeLane{}}
	for kind := range s.mixed {
		s.mixed[kind] = -1
	}
	return s
}

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
