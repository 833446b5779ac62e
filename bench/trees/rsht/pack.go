package rsht

import (
	"slices"

	"github.com/granarydb/granary/bench/trees/block"
)

// pack writes the held intervals as a subtree, from the leaves up, and returns its top.
func (t *Tree) pack() (top block.Child, level int, err error) {
	nodes, err := t.packLeaves()
	for ; err == nil && len(nodes) > 1; level++ {
		nodes, err = t.packLevel(nodes, level+1)
	}
	if err != nil {
		return block.Child{}, 0, err
	}
	return nodes[0], level, nil
}

// packLeaves fills leaves in the order of keys, and of ends within a key.
func (t *Tree) packLeaves() ([]block.Child, error) {
	var leaves []block.Child
	var n *block.Node
	for _, i := range t.byKey() {
		in := &t.held[i]
		if n != nil && n.Add(in) {
			continue
		}
		if n != nil {
			if err := t.write(n); err != nil {
				return nil, err
			}
			leaves = append(leaves, n.Box())
		}
		n = block.NewNode(block.Boxes, 0, 0, in.Start)
		n.SetSorted()
		n.Add(in)
	}
	if err := t.write(n); err != nil {
		return nil, err
	}
	return append(leaves, n.Box()), nil
}

// byKey returns the places of the held intervals, which are in the order of their ends, in the
// order of keys and ends.
func (t *Tree) byKey() []uint32 {
	words := make([]uint64, len(t.held))
	for i, in := range t.held {
		words[i] = uint64(in.Key)<<32 | uint64(i)
	}
	slices.Sort(words)
	places := make([]uint32, len(words))
	for i, w := range words {
		places[i] = uint32(w)
	}
	return places
}

// packLevel writes parents of 50 nodes each.
func (t *Tree) packLevel(nodes []block.Child, level int) ([]block.Child, error) {
	var parents []block.Child
	for group := range slices.Chunk(nodes, block.Fan) {
		n := block.NewNode(block.Boxes, 0, uint16(level), group[0].Start)
		for _, c := range group {
			n.AddChild(c)
			n.Widen(c)
		}
		if err := t.write(n); err != nil {
			return nil, err
		}
		parents = append(parents, n.Box())
	}
	return parents, nil
}
