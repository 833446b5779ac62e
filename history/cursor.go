package history

import "slices"

// Cursor reads the states at nearby instants for less than separate slices cost. It keeps slices, and looks
// up only the attributes that changed since the nearest one. It belongs to one goroutine.
type Cursor struct {
	view   *View
	some   []Attribute
	slices []*Slice
	keep   int
}

// MoveTo returns the state at t. The slice is valid until the next call. It costs about 1 ns an attribute,
// and 15 to 60 ns for each attribute with another interval than in the nearest slice. The error is
// ErrOutside.
func (c *Cursor) MoveTo(t int64) (*Slice, error) {
	if err := c.view.checkTime(t); err != nil {
		return nil, err
	}
	var nearest *Slice
	far := ^uint64(0)
	for _, s := range c.slices {
		if d := distance(s.at, t); d < far || nearest == nil {
			nearest, far = s, d
		}
	}
	if nearest != nil && (far == 0 || len(c.slices) == c.keep) {
		if far == 0 {
			return nearest, nil
		}
		if err := c.view.reading(func() { nearest.move(t) }); err != nil {
			// After an error the slice is at no instant.
			c.slices = slices.DeleteFunc(c.slices, func(s *Slice) bool { return s == nearest })
			return nil, err
		}
		return nearest, nil
	}
	s := newSlice(c.view, c.some)
	if err := c.view.reading(func() { s.fill(t) }); err != nil {
		return nil, err
	}
	c.slices = append(c.slices, s)
	return s, nil
}

// distance returns the time between two instants.
func distance(a, b int64) uint64 { return uint64(max(a, b)) - uint64(min(a, b)) }
