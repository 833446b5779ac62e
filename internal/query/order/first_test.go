package order

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The first items are those of a sorted slice, however they come.
func TestFirstOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOf(rapid.IntRange(0, 50)).Draw(t, "items")
		most := rapid.IntRange(1, 40).Draw(t, "most")
		first := NewFirst(most, func(x, y *int) int { return cmp.Compare(*x, *y) })
		for _, item := range items {
			switch {
			case !first.IsFull():
				first.Push(item)
			case item < *first.Last():
				*first.Last() = item
				first.Sink()
			}
		}
		want := slices.Sorted(slices.Values(items))
		want = want[:min(most, len(want))]
		if got := first.Sorted(); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}
