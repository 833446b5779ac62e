package dict

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/internal/effort"
)

// Lists are found beside a writer that adds elements and lists. Lists that were there before
// are right, however many elements have come since.
func TestListsWith_BesideWriter(t *testing.T) {
	d := NewLists(1)
	batches := 400
	if effort.Race {
		batches = 100
	}
	isWanted := func(code uint32) bool { return code%17 == 0 }
	var writing sync.WaitGroup
	writing.Go(func() {
		rng := rand.New(rand.NewPCG(4, 4))
		for known := 20; known < 20*batches; known += 20 { // elements
			var lists [][]uuid.UUID
			for range 20 {
				var list []uuid.UUID
				for range 1 + rng.IntN(30) {
					list = append(list, uuidOf(known-rng.IntN(min(known, 100))))
				}
				lists = append(lists, list)
			}
			if _, err := d.InternLists(nil, lists); err != nil {
				t.Error(err)
			}
		}
	})
	while(&writing, 2, func(int) {
		lists := d.Len()
		var wanted []uint64
		for code := range uint32(d.Elements()) + 1 {
			if isWanted(code) {
				wanted = withBit(wanted, code)
			}
		}
		found := d.ListsWith(wanted, func() bool { return false })
		var codes []uint32
		for list := 1; list <= lists; list++ {
			codes = d.List(codes[:0], uint32(list))
			if got, want := isSet(found, uint32(list)), slices.ContainsFunc(codes, isWanted); got != want {
				t.Errorf("list %d of %d, %d: found %v, want %v", list, lists, codes, got, want)
				return
			}
		}
	})
}

// The last of just as many elements as there is room for at first, and of one more or less, is
// found as others are.
func TestListsWith_Room(t *testing.T) {
	d := NewLists(1)
	for known := 0; known < 1<<16+1; {
		most := known + 1<<10
		if most > 1<<16-2 {
			most = known + 1
		}
		var lists [][]uuid.UUID
		for ; known < most; known++ {
			lists = append(lists, []uuid.UUID{uuidOf(known + 1)})
		}
		if _, err := d.InternLists(nil, lists); err != nil {
			t.Fatal(err)
		}
		if known < 1<<16-1 {
			continue
		}
		for _, code := range []uint32{1, uint32(known)} {
			found := d.ListsWith(withBit(nil, code), func() bool { return false })
			for list := 1; list <= d.Len(); list++ {
				if want := d.List(nil, uint32(list))[0] == code; isSet(found, uint32(list)) != want {
					t.Fatalf("%d elements: list %d is found: %t, want %t", known, list, !want, want)
				}
			}
		}
	}
}
