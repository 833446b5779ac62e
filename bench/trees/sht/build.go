package sht

import (
	"cmp"
	"slices"

	"github.com/granarydb/granary/bench/trees/block"
)

// flush makes a subtree of the buffer, and hangs it below the latest branch, which begins with the first
// subtree that another interval follows. Readers see the subtree and the empty buffer at once.
func (t *Tree) flush(follows bool) error {
	if len(t.open) == 0 && follows {
		t.mu.Lock()
		t.newRoot()
		t.mu.Unlock()
	}
	parent := uint32(0)
	if len(t.open) > 0 {
		parent = t.open[0].Number()
	}
	depth := t.base
	for depth > 1 && t.held.size <= capacity(t.file.Layout, depth-1, t.held.largest) {
		depth-- // the rest at the end is as deep as it must be
	}
	top, err := t.build(t.byKey(), depth, parent)
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

// byKey returns the buffer in the order of keys, and of ends within a key.
func (t *Tree) byKey() []*block.Interval {
	words := make([]uint64, len(t.held.all))
	for i := range t.held.all {
		words[i] = uint64(t.held.all[i].Key)<<32 | uint64(i)
	}
	slices.Sort(words)
	all := make([]*block.Interval, len(words))
	for i, w := range words {
		all[i] = &t.held.all[uint32(w)]
	}
	return all
}

// build is algorithm 2 of R-SHT 5.2: it makes a node of a subtree, and all below it, of intervals in the
// order of keys, and returns the node as its parent is to know it.
func (t *Tree) build(all []*block.Interval, depth int, parent uint32) (block.Child, error) {
	t.summary.Nodes++
	n := t.file.NewNode(t.summary.Nodes, depth-1, all[0].Start)
	n.SetParent(parent)
	own := all
	if depth > 1 {
		own, all = outliers(n, t.file.Layout, all)
		for len(all) > 0 {
			count := cluster(all, capacity(t.file.Layout, depth-1, t.held.largest))
			c, err := t.build(all[:count], depth-1, n.Number())
			if err != nil {
				return c, err
			}
			n.AddChild(c)
			n.Widen(c)
			all = all[count:]
		}
	}
	slices.SortFunc(own, func(a, b *block.Interval) int { return cmp.Compare(a.End, b.End) })
	for _, in := range own {
		n.Add(in)
	}
	return n.Box(), t.file.Write(n)
}

// cluster returns how many of the first intervals a subtree that holds some bytes takes. They are a range
// of keys, because all are in the order of keys (R-SHT 5.3).
func cluster(all []*block.Interval, holds int) int {
	for i, in := range all {
		if holds -= in.Bytes(); holds < 0 {
			return i
		}
	}
	return len(all)
}

// outliers divides intervals into the longest ones, as far as the node has room, and the rest in its order
// (R-SHT 5.3).
func outliers(n *block.Node, l block.Layout, all []*block.Interval) (longest, rest []*block.Interval) {
	lengths := make([]uint64, len(all))
	for i, in := range all {
		lengths[i] = length(in)
	}
	slices.Sort(lengths)
	most := min(len(all), l.Room(n.Level())/block.RecordSize) // no more have room
	least := lengths[len(all)-most]
	same, _ := slices.BinarySearch(lengths[len(all)-most:], least+1) // as many of these are among the longest
	var places []int
	for i, in := range all {
		switch d := length(in); {
		case d == least && same > 0:
			same--
			places = append(places, i)
		case d > least:
			places = append(places, i)
		}
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(length(all[b]), length(all[a])) })
	above := make([]bool, len(all))
	for _, i := range places {
		longest = append(longest, all[i])
	}
	longest = longest[:cluster(longest, l.Room(n.Level()))]
	for _, i := range places[:len(longest)] {
		above[i] = true
	}
	for i, in := range all {
		if !above[i] {
			rest = append(rest, in)
		}
	}
	return longest, rest
}

// length returns how long an interval is, less one.
func length(in *block.Interval) uint64 { return uint64(in.End) - uint64(in.Start) }
