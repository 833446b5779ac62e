package order

import "slices"

// First keeps the first of any number of items: a heap with the last kept item at its root. It is not
// safe for concurrent use.
type First[T any] struct {
	most    int
	compare func(x, y *T) int
	items   []T
}

// NewFirst returns an empty First that keeps `most` items, at least 1. compare is a total order, as in
// package cmp.
func NewFirst[T any](most int, compare func(x, y *T) int) *First[T] {
	return &First[T]{most: most, compare: compare}
}

// IsFull reports whether a new item can only replace the last one.
func (f *First[T]) IsFull() bool { return len(f.items) == f.most }

// Last returns the last kept item. It is valid until the next Push or Sink.
func (f *First[T]) Last() *T { return &f.items[0] }

// Push adds an item. The First must not be full.
func (f *First[T]) Push(item T) {
	if len(f.items) == cap(f.items) { // double the room, because append would grow by a quarter and leave more garbage
		f.items = slices.Grow(f.items, min(len(f.items)+1, f.most-len(f.items)))
	}
	f.items = append(f.items, item)
	for at := len(f.items) - 1; at > 0; {
		parent := (at - 1) / 2
		if f.compare(&f.items[parent], &f.items[at]) >= 0 {
			return
		}
		f.items[parent], f.items[at] = f.items[at], f.items[parent]
		at = parent
	}
}

// Sink moves the item at Last to its place, after the caller has replaced it with an earlier item.
func (f *First[T]) Sink() { f.sinkAmong(len(f.items)) }

// sinkAmong is Sink for the heap of the first n items.
func (f *First[T]) sinkAmong(n int) {
	for at := 0; ; {
		later := at
		for child := 2*at + 1; child <= 2*at+2 && child < n; child++ {
			if f.compare(&f.items[later], &f.items[child]) < 0 {
				later = child
			}
		}
		if later == at {
			return
		}
		f.items[later], f.items[at] = f.items[at], f.items[later]
		at = later
	}
}

// Sorted returns the items in order. No item can be added afterwards.
func (f *First[T]) Sorted() []T {
	for n := len(f.items) - 1; n > 0; n-- { // the last of the rest goes after it
		f.items[0], f.items[n] = f.items[n], f.items[0]
		f.sinkAmong(n)
	}
	return f.items
}
