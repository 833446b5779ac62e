package arrowconv

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
)

// TestListBlocks: lists of blocks are those of the dictionary, in any order, while lists are added. The first of a
// block is not kept, and nothing more is once the bound is reached.
func TestListBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := spec(encoding.UUIDList, true)
	encode(t, s, someLists(100))
	l := newListBlocks(s.Lists)
	asked, found := map[uint32]bool{}, 0
	check := func(code uint32) bool {
		codes, ok := l.at(code)
		if want := s.Lists.List(nil, code); ok && !slices.Equal(codes, want) {
			t.Fatalf("list %d is %v, want %v", code, codes, want)
		}
		return ok
	}
	for i := range 5000 {
		if i%500 == 499 {
			encode(t, s, someLists(100+i/50))
		}
		code := uint32(1 + rng.IntN(s.Lists.Len()))
		ok := check(code)
		if block := (code - 1) / dict.ListBlock; ok && !asked[block] {
			t.Fatalf("list %d is kept, the first of its block", code)
		} else if asked[block] = true; ok {
			found++
		}
	}
	if found < 4500 {
		t.Errorf("%d of 5000 lists are of kept blocks", found)
	}
	l = newListBlocks(s.Lists)
	l.kept = mostElements
	for range 100 {
		if check(1) {
			t.Fatal("a list is kept beyond the bound")
		}
	}
}
