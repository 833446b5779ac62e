package dict

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// checkSort holds sortLists to slices.SortFunc. Equal lists may be in any order, but each
// is there once.
func checkSort(t *testing.T, given [][]uint32, pivots int) {
	t.Helper()
	var all []uint32
	var fresh []newList
	for i, list := range given {
		fresh = append(fresh, newList{start: len(all), end: len(all) + len(list), at: i})
		all = append(all, list...)
	}
	sortLists(all, fresh, pivots)
	want := slices.Clone(given)
	slices.SortFunc(want, slices.Compare)
	seen := map[int]bool{}
	for i, list := range fresh {
		codes := list.codesOf(all)
		if !slices.Equal(codes, want[i]) {
			t.Fatalf("list %d is %v, want %v", i, codes, want[i])
		}
		if seen[list.at] || !slices.Equal(given[list.at], codes) {
			t.Fatalf("list %d is not the one at %d, or is there twice", i, list.at)
		}
		seen[list.at] = true
	}
}

// sortInputs are n lists each, in orders that are hard for quicksorts.
var sortInputs = []struct {
	name string
	list func(r *rand.Rand, i, n int) []uint32
}{
	{"equal", func(*rand.Rand, int, int) []uint32 { return []uint32{1, 2, 3} }},
	{"empty", func(*rand.Rand, int, int) []uint32 { return nil }},
	{"prefixes", func(r *rand.Rand, _, _ int) []uint32 { return []uint32{5, 5, 5, 5, 5, 5, 5, 5}[:r.IntN(9)] }},
	{"prefixes, longest first", func(_ *rand.Rand, i, n int) []uint32 { return slices.Repeat([]uint32{7}, n-i) }},
	{"sorted", func(_ *rand.Rand, i, _ int) []uint32 { return []uint32{uint32(i + 1), 9} }},
	{"reversed", func(_ *rand.Rand, i, n int) []uint32 { return []uint32{uint32(n - i), 9} }},
	{"organ pipe", func(_ *rand.Rand, i, n int) []uint32 { return []uint32{uint32(min(i, n-i) + 1)} }},
	{"organ pipe, deep", func(_ *rand.Rand, i, n int) []uint32 {
		return []uint32{1, 1, 1, uint32(min(i, n-i) + 1), uint32(i + 1)}
	}},
	{"extremes", func(r *rand.Rand, _, _ int) []uint32 { return []uint32{1 + r.Uint32N(2)*0xfffffffe, r.Uint32() | 1} }},
	{"random", func(r *rand.Rand, _, _ int) []uint32 {
		list := make([]uint32, r.IntN(6))
		for i := range list {
			list[i] = 1 + r.Uint32N(4)
		}
		return list
	}},
}

// killer returns lists for which every pivot is bad: the middle element is always the smallest
// of the rest. It tracks how sortLists moves the others.
func killer(n int) [][]uint32 {
	lists := make([][]uint32, n)
	left := make([]int, n)
	for i := range left {
		lists[i] = make([]uint32, 1)
		left[i] = i
	}
	for next := uint32(1); len(left) > 0; next++ {
		m := len(left) / 2
		lists[left[m]][0] = next
		if m == 0 {
			break
		}
		first, second := left[0], left[1]
		if m > 1 {
			copy(left[1:], left[2:m])
			left[m-1] = second
		}
		copy(left[m:], left[m+1:])
		left[len(left)-1] = first
		left = left[1:]
	}
	return lists
}

// An input made for the purpose is sorted too, and soon: without the limit of pivots it
// takes 200 million steps.
func TestSortListsWhenPivotsRunOut(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5, 100, 20_000} {
		checkSort(t, killer(n), 2*bits.Len(uint(n)))
	}
}

// The sort of new lists is slices.SortFunc, with the pivots that it has and with none:
// then it falls back to comparing.
func TestSortLists(t *testing.T) {
	for _, in := range sortInputs {
		for _, n := range []int{0, 1, 2, 3, 100, 1000} {
			for _, pivots := range []int{2 * bits.Len(uint(n)), 3, 1, 0} {
				t.Run(fmt.Sprintf("%s/n=%d/pivots=%d", in.name, n, pivots), func(t *testing.T) {
					r := rand.New(rand.NewPCG(1, 2))
					given := make([][]uint32, n)
					for i := range given {
						given[i] = in.list(r, i, n)
					}
					checkSort(t, given, pivots)
				})
			}
		}
	}
}
