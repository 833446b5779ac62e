package sht

import (
	"cmp"
	"slices"

	"github.com/granarydb/granary/bench/trees/block"
)

// flush makes a subtree from the buffer, and adds it to the latest branch. The branch begins with the first
// subtree after which another interval follows. Readers see the subtree and the empty buffer at the same time.
func (t *Tree) flush(follows bool) error {
	if len(t.open) == 0 && follows {
		t.mu.Lock()
		t.newRoot()
		t.mu.Unlock()
	}
	parent := uint32(0)
	if len(t.open) > 0 {
		parent = t.open[0].Number
	}
	depth := t.base
	for depth > 1 && t.held.size <= capacity(t.file.Layout, depth-1, t.held.largest) {
		depth-- // the last subtree is only as deep as necessary
	}
	top, err := t.build(t.held.byKey(), depth, parent)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) > 0 {
		t.open[0].AddChild(top)
		t.open[0].Widen(top)
	} else {
		t.summary.Root, t.summary.Depth = top.Number, uint32(depth)
	}
	t.held.clear()
	return nil
}

// build is algorithm 2 of R-SHT 5.2: it makes a subtree from some of the buffer's intervals, which are in the
// order of keys, and returns its top node as an entry for the parent.
func (t *Tree) build(some []uint32, depth int, parent uint32) (block.Child, error) {
	t.summary.Nodes++
	n := t.file.NewNode(t.summary.Nodes, depth-1, t.held.all[some[0]].Start)
	n.Parent = parent
	own := some
	if depth > 1 {
		own, some = t.held.outliers(some, t.file.Room(depth-1))
		for len(some) > 0 {
			count := t.held.cluster(some, capacity(t.file.Layout, depth-1, t.held.largest))
			c, err := t.build(some[:count], depth-1, n.Number)
			if err != nil {
				return c, err
			}
			n.AddChild(c)
			n.Widen(c)
			some = some[count:]
		}
	}
	slices.Sort(own) // the buffer has the order of ends
	for _, i := range own {
		n.Add(&t.held.all[i])
	}
	return n.Box(), t.file.Write(n)
}

// byKey returns the places of all intervals in the order of keys, and in the order of ends for equal keys. It
// is a radix sort by the bytes of the key.
func (b *buffer) byKey() []uint32 {
	words, sorted := make([]uint64, len(b.all)), make([]uint64, len(b.all))
	most := uint32(0)
	for i := range b.all {
		words[i] = uint64(b.all[i].Key)<<32 | uint64(i)
		most = max(most, b.all[i].Key)
	}
	for shift := 32; uint64(most)<<32>>shift > 0; shift += 8 {
		var next [257]int
		for _, w := range words {
			next[w>>shift&255+1]++
		}
		for i := range 256 {
			next[i+1] += next[i]
		}
		for _, w := range words {
			sorted[next[w>>shift&255]] = w
			next[w>>shift&255]++
		}
		words, sorted = sorted, words
	}
	places := make([]uint32, len(words))
	for i, w := range words {
		places[i] = uint32(w)
	}
	return places
}

// cluster returns the number of intervals, from the first on, that fit in a subtree with room for `holds`
// bytes. They are a range of keys, because the intervals are in the order of keys (R-SHT 5.3).
func (b *buffer) cluster(some []uint32, holds int) int {
	for n, i := range some {
		if holds -= b.all[i].Bytes(); holds < 0 {
			return n
		}
	}
	return len(some)
}

// outliers divides intervals into the longest ones that fit in `holds` bytes, and the rest in its order
// (R-SHT 5.3).
func (b *buffer) outliers(some []uint32, holds int) (longest, rest []uint32) {
	most := b.longest(some, holds/block.RecordSize) // more do not fit
	same, _ := slices.BinarySearch(most, most[0]+1) // number of intervals with the least length among them
	var at []int                                    // places in some
	for n, i := range some {
		switch d := b.length(i); {
		case d == most[0] && same > 0:
			same--
			at = append(at, n)
		case d > most[0]:
			at = append(at, n)
		}
	}
	slices.SortStableFunc(at, func(x, y int) int { return cmp.Compare(b.length(some[y]), b.length(some[x])) })
	above := make([]bool, len(some))
	for _, n := range at {
		if holds -= b.all[some[n]].Bytes(); holds < 0 {
			break
		}
		above[n], longest = true, append(longest, some[n])
	}
	for n, i := range some {
		if !above[n] {
			rest = append(rest, i)
		}
	}
	return longest, rest
}

// longest returns the lengths of the `wanted` longest intervals, in ascending order. It sorts only lengths that
// exceed `wanted` earlier ones.
func (b *buffer) longest(some []uint32, wanted int) (most []uint64) {
	least := uint64(0)
	for _, i := range some {
		if d := b.length(i); d > least || len(most) < wanted {
			most = append(most, d)
		}
		if len(most) == 2*wanted {
			slices.Sort(most)
			most = append(most[:0], most[wanted:]...)
			least = most[0]
		}
	}
	slices.Sort(most)
	return most[max(0, len(most)-wanted):]
}

// length returns the number of instants in an interval, less one.
func (b *buffer) length(i uint32) uint64 { return uint64(b.all[i].End) - uint64(b.all[i].Start) }
