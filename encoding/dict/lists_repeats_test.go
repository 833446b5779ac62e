package dict

import (
	"runtime"
	"slices"
	"testing"

	"github.com/google/uuid"
)

// TestInternLists_Repeats interns two long lists that take turns: they are gathered once
// each, not once a row.
func TestInternLists_Repeats(t *testing.T) {
	const long, rows = 1 << 16, 4096
	var lists [2][]uuid.UUID
	for k := range lists {
		for i := range long {
			lists[k] = append(lists[k], uuid.UUID{byte(i), byte(i >> 8), byte(k)})
		}
	}
	all := make([][]uuid.UUID, rows)
	for i := range all {
		all[i] = lists[i%2]
	}
	d := NewLists(1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	codes, err := d.InternLists(nil, all)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	for i, code := range codes {
		if code != codes[i%2] || code == codes[(i+1)%2] {
			t.Fatalf("row %d has code %d, the first two %d", i, code, codes[:2])
		}
	}
	for k, list := range lists {
		if got := d.UUIDs(nil, codes[k]); len(got) != len(list) || got[7] != list[7] {
			t.Errorf("list %d has %d elements", k, len(got))
		}
	}
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 64<<20 {
		t.Errorf("%d MB were allocated for two lists of 1 MB", bytes>>20)
	}
}

// A list that another batch adds while this one is on its way in gets no second code. The
// other batch comes when this one has looked for its lists and asks for their elements.
func TestListsAddedMeanwhile(t *testing.T) {
	for _, before := range []int{0, 3, 1000} {
		d := NewLists(1)
		for i := range before {
			mustLists(t, d, [][]uuid.UUID{stackOf(i, 5)})
		}
		lists := [][]uuid.UUID{stackOf(5000, 7), stackOf(5001, 7), stackOf(5000, 7)}
		var other []uint32
		w := &listWork{settled: d.settled.Load()}
		w.grow(len(lists))
		for i, list := range lists {
			w.slots[i] = d.listHash(&w.hashes[i], list)
		}
		got, err := d.intern(nil, w, func(ids []uuid.UUID, i int) ([]uuid.UUID, error) {
			if other == nil {
				other = mustLists(t, d, lists[:2])
			}
			return append(ids, lists[i]...), nil
		})
		want := []uint32{other[0], other[1], other[0]}
		if err != nil || !slices.Equal(got, want) || d.Len() != before+2 {
			t.Errorf("%d lists before: codes %v of %d lists, %v; want %v", before, got, d.Len(), err, want)
		}
	}
}
