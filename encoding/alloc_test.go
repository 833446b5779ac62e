package encoding

import (
	"testing"

	"github.com/google/uuid"
)

// allocates holds a function to the allocations that its comment states.
func allocates(t *testing.T, name string, most float64, fn func()) {
	t.Helper()
	if n := testing.AllocsPerRun(50, fn); n > most {
		t.Errorf("%s allocates %v times, at most %v are stated", name, n, most)
	}
}

// Reading allocates nothing, whatever the shape of the words, over several blocks and
// beginning inside of one; a cursor allocates what it reads into. A table of a lookup
// that lies in blocks is decoded for an Append, and that of any for a cursor, once.
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

// Lists that are known are found, and read, without an allocation.
func TestListDictAllocations(t *testing.T) {
	d := NewListDict(1)
	lists := make([][]uuid.UUID, 200)
	for i := range lists {
		lists[i] = stackOf(i, 20)
	}
	lists = append(lists, lists[199], nil)
	codes := mustLists(t, d, lists)
	elements := make([][]uint32, len(lists))
	for i, code := range codes {
		elements[i] = d.List(nil, code)
	}
	element := mustElement(t, d, lists[0][0], "record")
	ids, few := make([]uuid.UUID, 0, 20), make([]uint32, 0, 20)
	for name, read := range map[string]func(){
		"List":           func() { few = d.List(few[:0], codes[7]) },
		"ListLen":        func() { d.ListLen(codes[7]) },
		"UUIDs":          func() { ids = d.UUIDs(ids[:0], codes[7]) },
		"Element":        func() { d.Element(element) },
		"Record":         func() { d.Record(element) },
		"FindElement":    func() { d.FindElement(lists[0][0]) },
		"FindList":       func() { d.FindList(lists[3]) },
		"InternElement":  func() { _, _ = d.InternElement(lists[0][0], nil) },
		"InternElements": func() { few, _ = d.InternElements(few[:0], lists[0], nil) },
		"Need":           func() { d.Need(Growth{Elements: 1, Lists: 1, Members: 1, Longest: 1}) },
	} {
		allocates(t, name, 0, read)
	}
	if raceEnabled {
		return // what interning works with is pooled
	}
	allocates(t, "InternLists", 0, func() { codes, _ = d.InternLists(codes[:0], lists) })
	allocates(t, "InternCodes", 0, func() { codes, _ = d.InternCodes(codes[:0], elements) })
}
