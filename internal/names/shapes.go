package names

import "github.com/zeebo/xxh3"

// Shapes is the shape of each attribute. Two attributes have the same shape if their paths differ only in
// digits, like Threads/17/Status and Threads/4/Status. It belongs to one writer.
type Shapes struct {
	Of   []uint32 // by attribute
	text []byte
}

// Add records the shape of the next attribute.
func (s *Shapes) Add(parent Attribute, name string) {
	seed := uint64(0)
	if parent != Top {
		seed = uint64(s.Of[parent]) + 1
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
	s.Of = append(s.Of, uint32(xxh3.HashSeed(s.text, seed)))
}
