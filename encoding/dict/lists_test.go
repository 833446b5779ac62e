package dict

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func uuidOf(i int) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[8:], uint64(i))
	return id
}

// internUUIDs interns the elements of a list and then the list.
func internUUIDs(t testing.TB, d *Lists, ids []uuid.UUID) uint32 {
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

func mustElement(t fataler, d *Lists, id uuid.UUID, record string) uint32 {
	t.Helper()
	code, err := d.InternElement(id, []byte(record))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return code
}

func TestLists(t *testing.T) {
	a, b := uuidOf(1), uuidOf(2)
	long := make([]uuid.UUID, 1000) // beyond the room for keys on the stack
	for i := range long {
		long[i] = uuidOf(i)
	}
	lists := [][]uuid.UUID{{a, b}, {b, a}, {}, {a}, {a, a}, {a, b, a}, long}

	d := NewLists(1)
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
		if !slices.Equal(through, want) || d.listLen(code) != len(want) {
			t.Errorf("list %d: %d elements %v, want %v", code, d.listLen(code), through, want)
		}
	}
	if d.Len() != len(lists) || d.Elements() != 1000 {
		t.Errorf("%d lists of %d elements, want %d of 1000", d.Len(), d.Elements(), len(lists))
	}
	if d.listLen(0) != 0 || d.List(nil, 0) != nil || d.UUIDs(nil, 0) != nil {
		t.Error("null has elements")
	}
}

// The first record of an element stays (E3); an element may get it late.
func TestListsRecords(t *testing.T) {
	d := NewLists(1)
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
	without := mustElement(t, d, uuidOf(4), "")
	if got, read := d.Record(without), d.ReadRecord(new([]byte), without); got != nil || read != nil {
		t.Errorf("Record() without one = %#v, ReadRecord() = %#v, want nil", got, read)
	}
	if got := d.records.len(); got != 3 {
		t.Errorf("%d records are kept, want 3: records of elements that have one are not", got)
	}
}

// Size is within a tenth of the measured heap, at any size.
func TestListsSizeIsHeap(t *testing.T) {
	for _, tt := range []struct{ dicts, lists int }{{100, 0}, {100, 1}, {20, 300}, {1, 50_000}} {
		t.Run(fmt.Sprintf("lists=%d", tt.lists), func(t *testing.T) {
			dicts := make([]*Lists, tt.dicts)
			before, size := heap(), 0
			for i := range dicts {
				dicts[i] = NewLists(1)
				for from := 0; from < tt.lists; from += 100 {
					var batch [][]uuid.UUID
					for n := from; n < min(from+100, tt.lists); n++ {
						batch = append(batch, stackOf(n, 20))
					}
					mustLists(t, dicts[i], batch)
				}
				lists, records := dicts[i].Size()
				size += lists + records
			}
			grown := heap() - before - tt.dicts*int(unsafe.Sizeof(Lists{}))
			if slack := size/10 + 64<<10; size < grown-slack || size > grown+slack {
				t.Errorf("Size() adds up to %d, the heap grew by %d", size, grown)
			}
			runtime.KeepAlive(dicts)
		})
	}
}

// stackOf returns the n-th of many lists that share their last elements.
func stackOf(n, depth int) []uuid.UUID {
	list := make([]uuid.UUID, depth)
	for k := depth - 1; k >= 0; k-- {
		list[k] = uuidOf(1 + n%7 + 10*(depth-k))
		n /= 7
	}
	if n > 0 && depth > 0 {
		list[0] = uuidOf(1000 + n)
	}
	return list
}

func mustLists(t testing.TB, d *Lists, lists [][]uuid.UUID) []uint32 {
	t.Helper()
	codes, err := d.InternLists(nil, lists)
	if err != nil {
		t.Fatal(err)
	}
	return codes
}

// Interning a batch gives the same codes as one list at a time, with any repeats, as ids and
// as codes of elements.
func TestListsBatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	d, model := NewLists(7), map[string]uint32{}
	d.Verify(true)
	for range 200 {
		var batch [][]uuid.UUID
		for range rng.IntN(40) {
			batch = append(batch, stackOf(rng.IntN(3000), rng.IntN(30)))
			if rng.IntN(4) == 0 {
				batch = append(batch, batch[len(batch)-1])
			}
		}
		codes := mustLists(t, d, batch)
		byCode := make([][]uint32, len(batch))
		for i, list := range batch {
			key := string(idBytes(list))
			if known, ok := model[key]; ok && known != codes[i] {
				t.Fatalf("a list has code %d, then %d", known, codes[i])
			}
			model[key] = codes[i]
			if got := d.UUIDs(nil, codes[i]); !slices.Equal(got, list) || d.listLen(codes[i]) != len(list) {
				t.Fatalf("list %d is %v, want %v", codes[i], got, list)
			}
			if got := d.FindList(list); got != codes[i] {
				t.Fatalf("FindList() = %d, want %d", got, codes[i])
			}
			byCode[i] = d.List(nil, codes[i])
		}
		again, err := d.InternCodes([]uint32{9}, byCode)
		if err != nil || !slices.Equal(again[1:], codes) || again[0] != 9 {
			t.Fatalf("InternCodes() = %v, %v; want 9 and %v", again, err, codes)
		}
	}
	if d.Len() != len(model) {
		t.Errorf("%d lists, want %d", d.Len(), len(model))
	}
}

func TestListsUnknownCode(t *testing.T) {
	d := NewLists(1)
	mustElement(t, d, uuidOf(1), "")
	for _, list := range [][]uint32{{0}, {2}, {1, 1 << 31}} {
		if codes, err := d.InternCodes([]uint32{5}, [][]uint32{{1}, list}); !errors.Is(err, ErrCode) || len(codes) != 1 {
			t.Errorf("InternCodes(%v) = %v, %v; want ErrCode", list, codes, err)
		}
	}
	if d.FindElement(uuidOf(2)) != 0 || d.FindList([]uuid.UUID{uuidOf(2)}) != 0 {
		t.Error("what was never added is found")
	}
}

// With Verify, a list under the hash of another one is refused. That it is there is
// the work of the test: nobody knows two such lists.
func TestListsVerify(t *testing.T) {
	d := NewLists(1)
	other := []uuid.UUID{uuidOf(2)}
	element := mustElement(t, d, uuidOf(1), "")
	var hash uuid.UUID
	d.listHash(&hash, other)
	if err := d.lists.add([]uint32{element}); err != nil {
		t.Fatal(err)
	}
	code := d.hashes.add(hash, slotHash(&hash), slotHash)
	if got := mustLists(t, d, [][]uuid.UUID{other}); got[0] != code {
		t.Errorf("without Verify: code %d, want %d", got[0], code)
	}
	d.Verify(true)
	if _, err := d.InternLists(nil, [][]uuid.UUID{other}); !errors.Is(err, ErrCollision) {
		t.Errorf("with Verify: %v, want ErrCollision", err)
	}
}

// Need bounds the growth of the dictionary, in every state of its shards, pages and blocks.
func TestListsNeed(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		d := NewLists(rng.Uint64())
		for range 30 {
			g := Growth{Lists: 1 + rng.IntN(1<<rng.IntN(9))}
			batch := make([][]uuid.UUID, g.Lists)
			for i := range batch {
				batch[i] = stackOf(rng.IntN(1<<20), rng.IntN(1<<rng.IntN(7)))
				g.Members += len(batch[i])
				g.Longest = max(g.Longest, len(batch[i]))
			}
			g.Elements = g.Members
			before, _ := d.Size()
			need := d.Need(g)
			mustLists(t, d, batch)
			if after, _ := d.Size(); after-before > need {
				t.Fatalf("%+v: grew by %d, Need said %d", g, after-before, need)
			}
		}
	}
}

// E3 under concurrency: writers of the same lists get the same codes, readers
// see whole lists, and an element's record never changes.
func TestListsConcurrent(t *testing.T) {
	const writers, lists = 8, 400
	d := NewLists(1)
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
