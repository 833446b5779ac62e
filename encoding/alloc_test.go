package encoding

import "testing"

// allocates holds a function to the allocations that its comment states.
func allocates(t *testing.T, name string, most float64, fn func()) {
	t.Helper()
	if n := testing.AllocsPerRun(50, fn); n > most {
		t.Errorf("%s allocates %v times, at most %v are stated", name, n, most)
	}
}

// Reading allocates nothing for words of any shape, over several blocks and from inside one. A
// cursor allocates its buffer. A lookup table in blocks is decoded once for an Append, and any
// lookup table once for a cursor.
func TestReadAllocations(t *testing.T) {
	const n = 3*blockLen + 50
	dst := make([]uint64, 0, n)
	for shape, s := range shapes {
		words := wordsOf(shape, 1, n)
		for _, l := range layouts {
			w := inLayout(l, words)
			decoded, cursor := 0.0, 1.0
			if table, _ := w.Lookup(); table != nil {
				cursor++
				if table.form != nil {
					decoded++
				}
			}
			name := s.name + " as " + l.String()
			allocates(t, name+": At", 0, func() { w.At(n / 2) })
			allocates(t, name+": Append", decoded, func() { dst = w.Append(dst[:0], 0, n) })
			allocates(t, name+": Append", decoded, func() { dst = w.Append(dst[:0], 3, n-5) })
			allocates(t, name+": Append to nothing", decoded+1, func() { w.Append(nil, 0, 1) })
			allocates(t, name+": Cursor", cursor, func() {
				for c := w.Cursor(); ; {
					if _, rows := c.Next(); rows == 0 {
						break
					}
				}
			})
		}
	}
}

// Pack allocates one slab for all columns, and none where there are no bits.
func TestPackAllocations(t *testing.T) {
	columns := [][]uint64{wordsOf(3, 1, 500), wordsOf(12, 1, 500), nil, wordsOf(0, 1, 500)}
	dst := make([]Words, 0, len(columns))
	allocates(t, "Pack", 1, func() { dst = Pack(dst[:0], columns...) })
	allocates(t, "Pack of nothing", 0, func() { dst = Pack(dst[:0]) })
	allocates(t, "Pack of what is constant", 0, func() { dst = Pack(dst[:0], columns[2:]...) })
	allocates(t, "Constant", 0, func() { dst = append(dst[:0], Constant(7, 500)) })
}
