package dict

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/zeebo/xxh3"

	"github.com/granarydb/granary/internal/effort"
)

// while runs readers until writers are done, and at least once.
func while(writers *sync.WaitGroup, readers int, read func(reader int)) {
	var done atomic.Bool
	var reading sync.WaitGroup
	for r := range readers {
		reading.Go(func() {
			for last := false; !last; {
				last = done.Load()
				read(r)
			}
		})
	}
	writers.Wait()
	done.Store(true)
	reading.Wait()
}

func hashOf(id *uuid.UUID) uint64 { return xxh3.Hash(id[:]) }

// E3, E4: find beside add, through every growth of the shards. Ids added before a find began
// are found, even while they move. A found code is within the length, and its id is present.
func TestIDSetFindBesideAdd(t *testing.T) {
	ids := 300_000
	if effort.Race {
		ids = 30_000
	}
	all, hashes := make([]uuid.UUID, ids), make([]uint64, ids)
	for i := range all {
		all[i] = uuidOf(i)
		hashes[i] = hashOf(&all[i])
	}
	var s idSet
	var added atomic.Int64
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range ids {
			id := uuidOf(i)
			s.add(id, hashOf(&id), hashOf)
			added.Store(int64(i + 1))
		}
	})
	look := func(i, known int) bool {
		id := uuidOf(i)
		code := s.find(&id, hashOf(&id))
		if code != 0 && (int(code) > s.len() || *s.ids.at(int(code) - 1) != id) {
			t.Errorf("found code %d of %d", code, s.len())
		}
		if i < known && int(code) != i+1 {
			t.Errorf("id %d of %d has code %d", i, known, code)
		}
		return code != 0
	}
	while(&writing, 3, func(reader int) {
		known := int(added.Load())
		if reader == 0 { // where a find meets an add: it waits for the next id
			for spins := 0; !look(known, known) && spins < 1000; spins++ {
			}
			return
		}
		if reader == 1 {
			for range 10 { // where a find meets a move
				look(rand.IntN(known+1), known)
			}
			return
		}
		lo := rand.IntN(known + 1) // where one of many does, between its loops
		hi := min(known, lo+200)
		codes := make([]uint32, hi-lo)
		s.findAll(codes, all[lo:hi], hashes[lo:hi])
		for i, code := range codes {
			if int(code) != lo+i+1 {
				t.Errorf("id %d of %d has code %d, of many", lo+i, known, code)
			}
		}
	})
	codes := make([]uint32, ids)
	s.findAll(codes, all, hashes)
	for i, code := range codes {
		if int(code) != i+1 {
			t.Fatalf("id %d has code %d", i, code)
		}
	}
}

// threads is the state shared by writers and readers of one dictionary: lists, and the codes
// that writers got.
type threads struct {
	dict  *Lists
	lists [][]uuid.UUID
	told  []atomic.Uint32 // by list
}

// tell publishes the code of a list. All writers of the list must get the same code.
func (s *threads) tell(t *testing.T, list int, code uint32) {
	t.Helper()
	if code == 0 || !s.told[list].CompareAndSwap(0, code) && s.told[list].Load() != code {
		t.Errorf("list %d has code %d, then %d", list, s.told[list].Load(), code)
	}
}

// write interns lists in batches, as ids or as codes, and gives their elements records.
func (s *threads) write(t *testing.T, order []int, r *rand.Rand) {
	t.Helper()
	for len(order) > 0 {
		n := min(1+r.IntN(60), len(order))
		batch := make([][]uuid.UUID, n)
		byCode := make([][]uint32, n)
		asCodes := r.IntN(2) == 0
		for i, list := range order[:n] {
			batch[i] = s.lists[list]
			if !asCodes {
				continue
			}
			for _, id := range batch[i] {
				code, err := s.dict.InternElement(id, []byte(locationText(uint64(id[0]), line(id.String(), "", "", 0, 0, 0))))
				if err != nil {
					t.Error(err)
				}
				byCode[i] = append(byCode[i], code)
			}
		}
		var codes []uint32
		var err error
		if asCodes {
			codes, err = s.dict.InternCodes(nil, byCode)
		} else {
			codes, err = s.dict.InternLists(nil, batch)
		}
		if err != nil {
			t.Error(err)
			return
		}
		for i, list := range order[:n] {
			s.tell(t, list, codes[i])
			s.look(t, list)
		}
		order = order[n:]
	}
}

// look reads a list in every way without a lock. A published list is found, and a found list
// can be read at once by its finder.
func (s *threads) look(t *testing.T, list int) {
	t.Helper()
	told, want := s.told[list].Load(), s.lists[list]
	code := s.dict.FindList(want)
	if told != 0 && code != told {
		t.Errorf("list %d: found %d, told %d", list, code, told)
	}
	if code == 0 {
		return
	}
	if int(code) > s.dict.Len() || s.dict.listLen(code) != len(want) {
		t.Errorf("list %d of %d has %d elements, want %d", code, s.dict.Len(), s.dict.listLen(code), len(want))
	}
	elements := s.dict.List(nil, code)
	reader := s.dict.View().RecordReader()
	for i, element := range elements {
		if _, l := reader.Read(element); l != nil && string(reader.Text(l.Lines[0].Function)) != want[i].String() {
			t.Errorf("element %d has the function %q", element, reader.Text(l.Lines[0].Function))
		}
		if int(element) > s.dict.Elements() || s.dict.Element(element) != want[i] || s.dict.FindElement(want[i]) != element {
			t.Errorf("list %d: element %d is %v, want %v", code, element, s.dict.Element(element), want[i])
		}
		if record := s.dict.Record(element); record != nil && string(record) != locationText(uint64(want[i][0]), line(want[i].String(), "", "", 0, 0, 0)) {
			t.Errorf("element %d has record %q", element, record)
		}
	}
	if again, err := s.dict.InternCodes(nil, [][]uint32{elements}); err != nil || again[0] != code {
		t.Errorf("list %d: InternCodes() = %v, %v", code, again, err)
	}
}

// E3, E4: writers of the same and of different lists, and readers, through growths of all
// shards. Codes agree, nothing is lost, and found lists can be read.
func TestListsThreads(t *testing.T) {
	const lists, writers = 6000, 4
	s := threads{NewLists(1), make([][]uuid.UUID, lists), make([]atomic.Uint32, lists)}
	for i := range s.lists {
		s.lists[i] = append(stackOf(i*31, i%12), uuidOf(1<<20+i/3)) // all differ
		s.lists[i] = append(s.lists[i], uuidOf(2<<20+i))
	}
	s.dict.Verify(true)
	var writing sync.WaitGroup
	for w := range writers {
		r := rand.New(rand.NewPCG(uint64(w), 1))
		order := r.Perm(lists / 2) // the first half by all, in any order
		for i := lists/2 + w; i < lists; i += writers {
			order = append(order, i) // of the others, each by one
		}
		writing.Go(func() { s.write(t, order, r) })
	}
	while(&writing, 2, func(int) {
		s.look(t, rand.IntN(lists))
		s.dict.Size()
		s.dict.Need(Growth{Elements: 10, Lists: 10, Members: 100, Longest: 10})
	})
	seen := map[uint32]bool{}
	for i := range s.lists {
		code := s.told[i].Load()
		if seen[code] {
			t.Errorf("two lists have code %d", code)
		}
		seen[code] = true
		s.look(t, i)
	}
	if s.dict.Len() != lists {
		t.Errorf("%d lists, want %d", s.dict.Len(), lists)
	}
}

// E3: the codes of lists do not depend on how they are cut into batches: a list that is
// known has its code in any batch. Which codes new ones get does, as a batch is sorted;
// which lists have the same one does not.
func TestInternListsHoweverCut(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	lists := make([][]uuid.UUID, 3000)
	for i := range lists {
		lists[i] = stackOf(r.IntN(1000), r.IntN(12)) // many are there twice
		if i > 0 && r.IntN(8) == 0 {
			lists[i] = lists[i-1]
		}
	}
	cut := func(d *Lists, most int) (codes []uint32) {
		for lo := 0; lo < len(lists); {
			hi := min(lo+1+r.IntN(most), len(lists))
			var err error
			if codes, err = d.InternLists(codes, lists[lo:hi]); err != nil {
				t.Fatal(err)
			}
			lo = hi
		}
		return codes
	}
	first := NewLists(1)
	want := mustLists(t, first, lists)
	for _, most := range []int{1, 2, 16, 17, 500, len(lists)} {
		if got := cut(first, most); !slices.Equal(got, want) {
			t.Errorf("batches of up to %d of known lists have other codes", most)
		}
		fresh := NewLists(uint64(most))
		to, from := map[uint32]uint32{}, map[uint32]uint32{}
		for i, code := range cut(fresh, most) {
			if to[want[i]] == 0 && from[code] == 0 {
				to[want[i]], from[code] = code, want[i]
			}
			if to[want[i]] != code || from[code] != want[i] || !slices.Equal(fresh.UUIDs(nil, code), lists[i]) {
				t.Fatalf("batches of up to %d: list %d has code %d, for %d", most, i, code, want[i])
			}
		}
		if fresh.Len() != first.Len() || fresh.Elements() != first.Elements() {
			t.Errorf("batches of up to %d: %d lists of %d elements, want %d of %d",
				most, fresh.Len(), fresh.Elements(), first.Len(), first.Elements())
		}
	}
}
