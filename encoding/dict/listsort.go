package dict

import "slices"

type newList struct {
	next       uint64 // while sorting: the two codes at the current depth
	start, end int    // bounds of its codes in the batch's codes
	at         int    // index of its code in the result
}

// codesOf returns the element codes, the last first.
func (l *newList) codesOf(all []uint32) []uint32 { return all[l.start:l.end] }

// load sets next to the codes at depth and depth+1, 0 past the end.
func (l *newList) load(all []uint32, depth int) {
	switch codes := all[l.start:l.end]; {
	case depth+1 < len(codes):
		l.next = uint64(codes[depth])<<32 | uint64(codes[depth+1])
	case depth < len(codes):
		l.next = uint64(codes[depth]) << 32
	default:
		l.next = 0
	}
}

// sortLists sorts lists by their codes, which are in all.
func sortLists(all []uint32, lists []newList, pivots int) {
	for i := range lists {
		lists[i].load(all, 0)
	}
	sortFrom(all, lists, 0, pivots)
}

// sortFrom sorts lists that are equal up to depth and have loaded the codes there. It partitions them by
// these two codes into less, equal and greater (multikey quicksort), so that shared codes are read once,
// not in each comparison. After `pivots` bad pivots it falls back to a comparison sort.
func sortFrom(all []uint32, lists []newList, depth, pivots int) {
	for len(lists) > 1 {
		if pivots == 0 {
			slices.SortFunc(lists, func(a, b newList) int {
				return slices.Compare(a.codesOf(all)[depth:], b.codesOf(all)[depth:])
			})
			return
		}
		pivot := lists[len(lists)/2].next
		lo, hi := 0, len(lists)
		for i := 0; i < hi; {
			switch next := lists[i].next; {
			case next < pivot:
				lists[lo], lists[i] = lists[i], lists[lo]
				lo++
				i++
			case next > pivot:
				hi--
				lists[hi], lists[i] = lists[i], lists[hi]
			default:
				i++
			}
		}
		sortFrom(all, lists[:lo], depth, pivots-1)
		sortFrom(all, lists[hi:], depth, pivots-1)
		if uint32(pivot) == 0 { // the lists have ended
			return
		}
		lists, depth = lists[lo:hi], depth+2
		for i := range lists {
			lists[i].load(all, depth)
		}
	}
}
