package history

import "slices"

// Cursor answers slices at instants near to each other at a fraction of their cost: it
// keeps slices, and looks up what changed since the nearest. It belongs to one goroutine.
type Cursor struct {
	view   *View
	some   []Attribute
	slices []*Slice
	keep   int
}

// Cursor returns a cursor over the states of attributes, all if none is named, that
// keeps so many slices, at least 1. Each takes 24 bytes an attribute. One is right for
// going through time; for instants at random, 4 to 16. ErrAttribute says that an
// attribute is unknown.
func (v *View) Cursor(keep int, attributes ...Attribute) (*Cursor, error) {
	for _, a := range attributes {
		if err := v.checkAttribute(a); err != nil {
			return nil, err
		}
	}
	return &Cursor{view: v, some: slices.Clone(attributes), keep: max(1, keep)}, nil
}

// MoveTo returns the state at t; the slice is valid until the next call. About 1 ns an
// attribute, and 15 to 60 for each that is not in the interval where the nearest slice has it. The error is
// ErrTime.
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
		if far > 0 {
			nearest.move(t)
		}
		return nearest, nil
	}
	s := c.view.newSlice(c.some)
	s.fill(t)
	c.slices = append(c.slices, s)
	return s, nil
}

// distance returns how far two instants are from each other.
func distance(a, b int64) uint64 { return uint64(max(a, b)) - uint64(min(a, b)) }
