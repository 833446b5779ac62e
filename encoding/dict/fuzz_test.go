package dict

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
)

// FuzzValues cuts bytes into values, the first byte of each its length, and
// compares a dictionary with a map (E3). Need is a bound on its growth.
func FuzzValues(f *testing.F) {
	f.Add(uint64(0), []byte{})
	f.Add(uint64(1), []byte("\x00\x01a\x01b\x01a\x02ab\x00"))
	f.Add(uint64(2), bytes.Repeat([]byte("\x03abc\xffx"), 300))
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		d := NewValues(seed)
		model := map[string]uint32{}
		for len(data) > 0 {
			n := min(int(data[0]), len(data)-1)
			value := data[1 : 1+n]
			data = data[1+n:]
			if code := d.Find(value); code != model[string(value)] {
				t.Fatalf("Find(%q) = %d, want %d", value, code, model[string(value)])
			}
			added := 0
			if model[string(value)] == 0 {
				model[string(value)] = uint32(len(model) + 1)
				added = 1
			}
			before, need := d.Size(), d.Need(added, n*added)
			if code, err := d.Intern(value); err != nil || code != model[string(value)] {
				t.Fatalf("Intern(%q) = %d, %v; want %d", value, code, err, model[string(value)])
			}
			if grew := d.Size() - before; grew > need {
				t.Fatalf("a value of %d bytes: grew by %d, Need said %d", n, grew, need)
			}
		}
		if d.Len() != len(model) {
			t.Fatalf("Len() = %d, want %d", d.Len(), len(model))
		}
		for value, code := range model {
			if got := string(d.Value(code)); got != value {
				t.Fatalf("Value(%d) = %q, want %q", code, got, value)
			}
		}
	})
}

// idsOf returns an element for each byte.
func idsOf(data []byte) []uuid.UUID {
	list := make([]uuid.UUID, len(data))
	for i, b := range data {
		list[i] = uuidOf(int(b))
	}
	return list
}

// listModel is the model of a Lists: maps, and the sums of their contents.
type listModel struct {
	dict     *Lists
	lists    map[string]uint32
	elements map[uuid.UUID]uint32
	records  map[uuid.UUID]string
}

func newListModel(seed uint64) *listModel {
	d := NewLists(seed)
	d.Verify(true)
	return &listModel{d, map[string]uint32{}, map[uuid.UUID]uint32{}, map[uuid.UUID]string{}}
}

// growth returns the additions of a batch of lists.
func (m *listModel) growth(batch [][]uuid.UUID) (g Growth) {
	lists, elements := map[string]bool{}, map[uuid.UUID]bool{}
	for _, list := range batch {
		key := string(idBytes(list))
		if m.lists[key] != 0 || lists[key] {
			continue
		}
		lists[key] = true
		g.Lists++
		g.Members += len(list)
		g.Longest = max(g.Longest, len(list))
		for _, id := range list {
			if m.elements[id] == 0 && !elements[id] {
				elements[id] = true
				g.Elements++
			}
		}
	}
	return g
}

// grown runs add, and compares the growth of the dictionary with the bound that Need returned.
func (m *listModel) grown(t *testing.T, g Growth, add func()) {
	t.Helper()
	lists, records := m.dict.Size()
	need := m.dict.Need(g)
	add()
	listsAfter, recordsAfter := m.dict.Size()
	if grew := listsAfter + recordsAfter - lists - records; grew > need {
		t.Fatalf("%+v: grew by %d, Need said %d", g, grew, need)
	}
}

// intern takes a batch in, as ids and then as codes, or the other way round.
func (m *listModel) intern(t *testing.T, batch [][]uuid.UUID, codesFirst bool) {
	t.Helper()
	g := m.growth(batch)
	var byCode [][]uint32
	if codesFirst {
		m.grown(t, Growth{Elements: g.Elements}, func() {
			for _, list := range batch {
				codes, err := m.dict.InternElements(nil, list, nil)
				if err != nil {
					t.Fatal(err)
				}
				byCode = append(byCode, codes)
			}
		})
		if n := m.dict.ListGrowth(byCode); n.Lists < g.Lists || n.Members < g.Members || n.Longest < g.Longest {
			t.Fatalf("NewLists() = %+v, want at least %+v", n, g)
		}
	}
	var codes []uint32
	m.grown(t, g, func() {
		var err error
		if codesFirst {
			codes, err = m.dict.InternCodes([]uint32{9}, byCode)
		} else {
			codes, err = m.dict.InternLists([]uint32{9}, batch)
		}
		if err != nil || len(codes) != len(batch)+1 || codes[0] != 9 {
			t.Fatalf("codes of %d lists: %v, %v", len(batch), codes, err)
		}
	})
	for i, list := range batch {
		m.know(t, list, codes[i+1])
	}
	if again, err := m.dict.InternLists(nil, batch); err != nil || !slices.Equal(again, codes[1:]) {
		t.Fatalf("codes again: %v, %v; want %v", again, err, codes[1:])
	}
	m.check(t)
}

// know takes down the code of a list, and those of its elements.
func (m *listModel) know(t *testing.T, list []uuid.UUID, code uint32) {
	t.Helper()
	key := string(idBytes(list))
	if known := m.lists[key]; code == 0 || known != 0 && known != code {
		t.Fatalf("a list has code %d, then %d", known, code)
	}
	m.lists[key] = code
	elements := m.dict.List([]uint32{7}, code)[1:]
	if len(elements) != len(list) || m.dict.listLen(code) != len(list) {
		t.Fatalf("list %d has %d elements, or %d, want %d", code, len(elements), m.dict.listLen(code), len(list))
	}
	for i, element := range elements {
		if known := m.elements[list[i]]; known != 0 && known != element {
			t.Fatalf("an element has code %d, then %d", known, element)
		}
		m.elements[list[i]] = element
	}
}

// check holds all that is there to the model.
func (m *listModel) check(t *testing.T) {
	t.Helper()
	d := m.dict
	if d.Len() != len(m.lists) || d.Elements() != len(m.elements) {
		t.Fatalf("%d lists of %d elements, want %d of %d", d.Len(), d.Elements(), len(m.lists), len(m.elements))
	}
	for key, code := range m.lists {
		list := d.UUIDs(nil, code)
		if string(idBytes(list)) != key || d.FindList(list) != code {
			t.Fatalf("list %d has %d elements, is found as %d", code, len(list), d.FindList(list))
		}
	}
	for id, code := range m.elements {
		if d.FindElement(id) != code || d.Element(code) != id || string(d.Record(code)) != m.records[id] {
			t.Fatalf("element %d is %v, found as %d, with record %q; want %v, %q",
				code, d.Element(code), d.FindElement(id), d.Record(code), id, m.records[id])
		}
	}
}

// element takes an element in with a record, which may be empty.
func (m *listModel) element(t *testing.T, id uuid.UUID, record []byte, keep bool) {
	t.Helper()
	g := m.dict.ElementGrowth([]uuid.UUID{id}, [][]byte{record})
	m.grown(t, g, func() {
		if keep {
			if err := m.dict.KeepRecord(id, record); err != nil {
				t.Fatal(err)
			}
			return
		}
		code, err := m.dict.InternElement(id, record)
		if err != nil || m.elements[id] != 0 && m.elements[id] != code {
			t.Fatalf("element has code %d, then %d, %v", m.elements[id], code, err)
		}
		m.elements[id] = code
	})
	if m.elements[id] != 0 && m.records[id] == "" {
		m.records[id] = string(record)
	}
	m.check(t)
}

// unknown asks for a list with a code that is not there: nothing happens.
func (m *listModel) unknown(t *testing.T, codes []uint32, at int) {
	t.Helper()
	if len(codes) == 0 {
		return
	}
	bad := slices.Clone(codes)
	bad[at%len(bad)] = [...]uint32{0, uint32(m.dict.Elements()) + 1}[at%2]
	if got, err := m.dict.InternCodes([]uint32{9}, [][]uint32{codes, bad}); !errors.Is(err, ErrCode) || len(got) != 1 {
		t.Fatalf("InternCodes() of an unknown code = %v, %v", got, err)
	}
	m.check(t)
}

// FuzzLists reads bytes as batches of lists, elements and records, and compares a
// Lists with maps (E3). Need is a bound on its growth.
func FuzzLists(f *testing.F) {
	f.Add(uint64(1), []byte{})
	f.Add(uint64(2), []byte("\x00\x03\x02ab\x02ab\x00\x04\x05abcdea\x03\x02ab\x01bcde\x06\x01zz"))
	f.Add(uint64(3), bytes.Repeat([]byte("\x00\x05\x03abc\x03abd\x02ab\x04abce\x81a"), 20))
	deep := []byte{0, 40}
	for i := range byte(40) {
		deep = append(deep, i+1)
		for k := range i + 1 {
			deep = append(deep, k)
		}
	}
	f.Add(uint64(4), deep)
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		m := newListModel(seed)
		next := func() (b byte) {
			if len(data) > 0 {
				b, data = data[0], data[1:]
			}
			return b
		}
		take := func(n int) []byte {
			n = min(n, len(data))
			out := data[:n]
			data = data[n:]
			return out
		}
		for steps := 0; len(data) > 0 && steps < 50; steps++ {
			switch op := next(); op % 4 {
			case 0, 1:
				var batch [][]uuid.UUID
				for range next() {
					n := int(next())
					if n >= 128 && len(batch) > 0 { // the one before, by reference
						batch = append(batch, batch[len(batch)-1])
						continue
					}
					batch = append(batch, idsOf(take(n)))
				}
				m.intern(t, batch, op%4 == 1)
			case 2:
				m.element(t, uuidOf(int(next())), take(int(next())), op&4 != 0)
			default:
				m.unknown(t, m.dict.List(nil, uint32(int(op)%(m.dict.Len()+1))), int(op))
			}
		}
	})
}

// listsOf reads bytes as lists of codes. The first byte of a list is the length of the prefix
// shared with its predecessor; its further codes take one, two or five bytes.
func listsOf(data []byte) [][]uint32 {
	var lists [][]uint32
	var last []uint32
	for len(data) >= 2 && len(lists) < 200 {
		list := slices.Clone(last[:min(int(data[0]), len(last))])
		n := min(int(data[1]), len(data)-2)
		for _, b := range data[2 : 2+n] {
			list = append(list, uint32(b)<<(b%4*8)|1)
		}
		lists, last, data = append(lists, list), list, data[2+n:]
	}
	return lists
}

// FuzzFront compares front-coded lists with the lists, in the order of arrival and sorted, and
// their growth with the bound that need returned.
func FuzzFront(f *testing.F) {
	f.Add([]byte{}, false)
	f.Add([]byte("\x00\x03abc\x02\x01d\x01\x00\x00\x00\x09\x09\xff\xfe\xfd\xfc\xfb\xfa"), false)
	f.Add(bytes.Repeat([]byte("\x02\x02ab\x04\x01c\x00\x00"), 30), true)
	f.Add(bytes.Repeat([]byte{255, 1, 7}, 100), true)
	f.Fuzz(func(t *testing.T, data []byte, sorted bool) {
		lists := listsOf(data)
		if sorted {
			lists = sortedAsNew(t, lists)
		}
		var fc frontCoded
		for i, list := range lists {
			before, need := fc.heap(), fc.need(1, len(list), len(list))
			if err := fc.add(list); err != nil {
				t.Fatal(err)
			}
			if grew := fc.heap() - before; grew > need {
				t.Fatalf("list %d: grew by %d, need said %d", i, grew, need)
			}
		}
		for i, list := range lists {
			want := append(slices.Clone(list), 5)
			slices.Reverse(want)
			if got := fc.appendReversed([]uint32{5}, i); !slices.Equal(got, want) || fc.len(i) != len(list) {
				t.Fatalf("list %d of %d: %v, want %v", i, fc.len(i), got, want)
			}
		}
	})
}

// sortedAsNew sorts lists as a batch of new ones is sorted, and holds that to SortFunc.
func sortedAsNew(t *testing.T, lists [][]uint32) [][]uint32 {
	t.Helper()
	for _, pivots := range []int{64, 1, 0} {
		checkSort(t, lists, pivots)
	}
	out := slices.Clone(lists)
	slices.SortFunc(out, slices.Compare)
	return out
}
