package dict

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
)

// randomLists returns lists of a few elements, some of them empty and many alike.
func randomLists(rng *rand.Rand, n int) [][]uuid.UUID {
	lists := make([][]uuid.UUID, n)
	for i := range lists {
		for range rng.IntN(6) {
			lists[i] = append(lists[i], uuidOf(rng.IntN(4)))
		}
	}
	return lists
}

// TestUnion puts the lists of several dictionaries together: each distinct one has one
// code, by which it is read as it was given.
func TestUnion(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		dicts := make([]*Lists, 1+rng.IntN(4))
		codes := make([][]uint32, len(dicts))
		lists := make([][][]uuid.UUID, len(dicts))
		for i := range dicts {
			dicts[i] = NewLists(7)
			lists[i] = randomLists(rng, rng.IntN(200))
			for _, list := range lists[i] {
				codes[i] = append(codes[i], internUUIDs(t, dicts[i], list))
			}
			for e := range dicts[i].Elements() {
				id := dicts[i].Element(uint32(e + 1))
				if err := dicts[i].KeepRecord(id, fmt.Appendf(nil, "%d of %v", i, id)); err != nil {
					t.Fatal(err)
				}
			}
		}
		u := NewUnion(dicts...)
		known := map[string]uint32{}
		for i := range dicts {
			for k, code := range codes[i] {
				got := u.Add(i, code)
				text := fmt.Sprint(lists[i][k])
				if want, ok := known[text]; ok && got != want {
					t.Fatalf("seed %d: list %s has code %d and code %d", seed, text, want, got)
				}
				known[text] = got
			}
		}
		if u.Add(0, 0) != 0 || u.Len() != len(known) {
			t.Errorf("seed %d: null has code %d; %d lists, want %d", seed, u.Add(0, 0), u.Len(), len(known))
		}
		checkLists(t, u.View(), known)
		if distinct := slices.Compact(slices.Sorted(maps.Values(known))); len(distinct) != len(known) || len(known) > 0 && (distinct[0] != 1 || distinct[len(distinct)-1] != uint32(len(known))) {
			t.Errorf("seed %d: codes %v of %d lists", seed, distinct, len(known))
		}
	}
}

// checkLists reads lists by their codes, in every way there is.
func checkLists(t *testing.T, r ListView, known map[string]uint32) {
	t.Helper()
	for text, code := range known {
		ids := r.UUIDs(nil, code)
		if fmt.Sprint(ids) != text && (len(ids) > 0 || text != "[]") {
			t.Errorf("list %d is %v, want %s", code, ids, text)
		}
		elements := r.List([]uint32{9}, code)
		if elements[0] != 9 || len(elements)-1 != len(ids) || r.Len(code) != len(ids) {
			t.Fatalf("list %d has elements %v, want %d behind a 9", code, elements, len(ids))
		}
		for i, e := range elements[1:] {
			if r.Element(e) != ids[i] {
				t.Errorf("element %d of list %d is %v, want %v", i, code, r.Element(e), ids[i])
			}
			if record := string(r.Record(e)); len(record) < 5 || record[5:] != ids[i].String() {
				t.Errorf("record of element %v is %q", ids[i], record)
			}
		}
	}
	if len(r.List(nil, 0)) != 0 || r.Len(0) != 0 || len(r.UUIDs(nil, 0)) != 0 {
		t.Error("null has elements")
	}
}

// TestLists_Zero reads views without lists.
func TestLists_Zero(t *testing.T) {
	checkLists(t, ListView{}, nil)
	checkLists(t, NewLists(1).View(), nil)
}

// TestListsWith finds lists by their elements, at every length of the sequence around a
// restart and a word of the set.
func TestListsWith(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	d := NewLists(1)
	lists := [][]uuid.UUID{nil} // by code
	for len(lists) < 300 {
		for _, list := range randomLists(rng, 7) {
			if code := internUUIDs(t, d, list); int(code) == len(lists) {
				lists = append(lists, list)
			}
		}
		for wanted := range uint32(16) { // a set of elements
			has := func(element uint32) bool { return wanted>>(element-1)&1 == 1 }
			found := d.ListsWith([]uint64{uint64(wanted) << 1}, func() bool { return false })
			for code, list := range lists {
				want := slices.ContainsFunc(list, func(id uuid.UUID) bool { return has(d.FindElement(id)) })
				if got := found[code/64]>>(code%64)&1 == 1; got != want {
					t.Fatalf("%d lists: list %d of elements %v is found: %t", d.Len(), code, d.List(nil, uint32(code)), got)
				}
			}
		}
	}
}
