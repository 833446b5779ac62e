package encoding

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func uuidOf(i int) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[8:], uint64(i))
	return id
}

// internUUIDs interns the elements of a list and then the list.
func internUUIDs(t testing.TB, d *ListDict, ids []uuid.UUID) uint32 {
	t.Helper()
	var codes []uint32
	for _, id := range ids {
		codes = append(codes, mustElement(t, d, id, ""))
	}
	code, err := d.InternList(codes)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func mustElement(t testing.TB, d *ListDict, id uuid.UUID, record string) uint32 {
	t.Helper()
	code, err := d.InternElement(id, []byte(record))
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func TestListDict(t *testing.T) {
	a, b := uuidOf(1), uuidOf(2)
	long := make([]uuid.UUID, 1000) // beyond the room for keys on the stack
	for i := range long {
		long[i] = uuidOf(i)
	}
	lists := [][]uuid.UUID{{a, b}, {b, a}, {}, {a}, {a, a}, {a, b, a}, long}

	d := NewListDict(1)
	for i, list := range lists {
		code := internUUIDs(t, d, list)
		if int(code) != i+1 {
			t.Errorf("list %d has code %d, want %d", i, code, i+1)
		}
		if again := internUUIDs(t, d, list); again != code {
			t.Errorf("list %d has code %d, then %d", i, code, again)
		}
	}
	for i, want := range lists {
		code := uint32(i + 1)
		if diff := cmp.Diff(append([]uuid.UUID{{9}}, want...), d.UUIDs([]uuid.UUID{{9}}, code)); diff != "" {
			t.Errorf("UUIDs(%d) (-want +got):\n%s", code, diff)
		}
		var through []uuid.UUID
		for _, element := range d.List(nil, code) {
			through = append(through, d.Element(element))
		}
		if !slices.Equal(through, want) || d.ListLen(code) != len(want) {
			t.Errorf("list %d: %d elements %v, want %v", code, d.ListLen(code), through, want)
		}
	}
	if d.Len() != len(lists) || d.Elements() != 1000 {
		t.Errorf("%d lists of %d elements, want %d of 1000", d.Len(), d.Elements(), len(lists))
	}
	if d.ListLen(0) != 0 || d.List(nil, 0) != nil || d.UUIDs(nil, 0) != nil {
		t.Error("null has elements")
	}
}

// The first record of an element stays (E3); an element may get it late.
func TestListDictRecords(t *testing.T) {
	d := NewListDict(1)
	steps := []struct {
		name   string
		id     int
		record string
		want   string
	}{
		{"no record", 1, "", ""},
		{"record of a known element", 1, "late", "late"},
		{"second record", 1, "other", "late"},
		{"no record again", 1, "", "late"},
		{"new element with a record", 2, "second", "second"},
		{"record that another one has", 3, "late", "late"},
	}
	for _, s := range steps {
		code := mustElement(t, d, uuidOf(s.id), s.record)
		if got := string(d.Record(code)); int(code) != s.id || got != s.want {
			t.Errorf("%s: element %d has record %q; want %d, %q", s.name, code, got, s.id, s.want)
		}
	}
	if got := d.Record(mustElement(t, d, uuidOf(4), "")); got != nil {
		t.Errorf("Record() without one = %#v, want nil", got)
	}
	if got := d.records.Len(); got != 2 {
		t.Errorf("%d records are kept, want 2: those that lost are not", got)
	}
}

func TestListDictSize(t *testing.T) {
	d := NewListDict(1)
	mustElement(t, d, uuidOf(1), "")
	lists, records := d.Size()
	if want := d.elements.Size() + 4*pageLen; lists != want || records != 0 {
		t.Errorf("Size() = %d, %d; want %d, 0", lists, records, want)
	}
	internUUIDs(t, d, []uuid.UUID{uuidOf(1)})
	mustElement(t, d, uuidOf(1), "record")
	moreLists, moreRecords := d.Size()
	if moreLists-lists != d.lists.Size() || moreRecords != d.records.Size() {
		t.Errorf("Size() = %d, %d after a list and a record; want %d, %d", moreLists, moreRecords, lists+d.lists.Size(), d.records.Size())
	}
}

// Elements counts an element only once Record may be asked for it. Here the
// element is between the two steps of InternElement.
func TestListDictElementsHaveRoomForRecords(t *testing.T) {
	d := NewListDict(1)
	if _, err := d.elements.Intern([]byte("0123456789abcdef")); err != nil {
		t.Fatal(err)
	}
	for code := 1; code <= d.Elements(); code++ {
		d.Record(uint32(code))
	}
}

// E3 under concurrency: writers of the same lists get the same codes, readers
// see whole lists, and an element's record never changes.
func TestListDictConcurrent(t *testing.T) {
	const writers, lists = 8, 400
	d := NewListDict(1)
	codes := make([][lists]uint32, writers)
	records := make([]map[uint32]string, writers) // as each writer saw them first
	var wg sync.WaitGroup
	for w := range writers {
		records[w] = map[uint32]string{}
		wg.Go(func() {
			for _, i := range rand.New(rand.NewPCG(uint64(w), 0)).Perm(lists) {
				var elements []uint32
				for k := range i % 20 {
					record := fmt.Sprintf("%d by %d", i+k, w)
					code, err := d.InternElement(uuidOf(i+k), []byte(record))
					if err != nil {
						t.Error(err)
					}
					if records[w][code] == "" {
						records[w][code] = string(d.Record(code))
					}
					elements = append(elements, code)
				}
				code, err := d.InternList(append(elements, elements...))
				if err != nil {
					t.Error(err)
				}
				codes[w][i] = code
				got := d.UUIDs(nil, code)
				if len(got) != 2*(i%20) || len(got) > 0 && got[0] != uuidOf(i) {
					t.Errorf("list %d has %d elements", i, len(got))
				}
				for code := 1; code <= d.Elements(); code += 50 {
					d.Record(uint32(code))
				}
			}
		})
	}
	wg.Wait()
	for w := range codes {
		if diff := cmp.Diff(codes[0], codes[w]); diff != "" {
			t.Errorf("codes of writers 0 and %d differ:\n%s", w, diff)
		}
		for code, record := range records[w] {
			if got := string(d.Record(code)); got != record || record == "" {
				t.Errorf("record of element %d is %q, was %q to writer %d", code, got, record, w)
			}
		}
	}
}
