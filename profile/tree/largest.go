package tree

import (
	"cmp"
	"hash/fnv"
	"math/bits"
	"slices"
)

// largest returns the nodes of a tree to keep, ascending, with the root. The tree has at least the `most` greatest.
func (c *Calls) largest(m *treeNodes, most int) []int32 {
	all := make([]int32, len(m.nodes))
	for i := range all {
		all[i] = int32(i)
	}
	if most <= 0 || int(m.all)-1 <= most {
		return all
	}
	k := keeper{calls: c, tree: m, most: most, parents: m.parents(), keep: make([]bool, len(m.nodes)), kept: make([]int32, 1, most+1)}
	k.keep[0] = true
	bySize := all[1:]
	slices.SortFunc(bySize, func(a, b int32) int { return cmp.Compare(m.size(b), m.size(a)) })
	for len(bySize) > 0 && k.room() > 0 {
		equal := 1
		for equal < len(bySize) && m.size(bySize[equal]) == m.size(bySize[0]) {
			equal++
		}
		k.addEqual(bySize[:equal])
		bySize = bySize[equal:]
	}
	slices.Sort(k.kept)
	return k.kept
}

// keeper chooses the nodes to keep. The choice depends on values and names alone, because the same stacks come in another
// order from another store.
type keeper struct {
	calls   *Calls
	tree    *treeNodes
	most    int
	parents []int32
	keep    []bool
	kept    []int32
	hashes  []uint64 // of the paths of nodes; nil until more nodes are equal than fit
}

func (k *keeper) room() int { return k.most - (len(k.kept) - 1) }

// add keeps a node and its ancestors, if they fit.
func (k *keeper) add(i int32) bool {
	missing := 0
	for at := i; !k.keep[at] && missing <= k.room(); at = k.parents[at] {
		missing++
	}
	if missing > k.room() {
		return false
	}
	for at := i; !k.keep[at]; at = k.parents[at] {
		k.keep[at], k.kept = true, append(k.kept, at)
	}
	return true
}

// addEqual adds nodes of one size: all if they fit, or as many as do, in the order of the hashes of their paths.
func (k *keeper) addEqual(nodes []int32) {
	before := len(k.kept)
	if !slices.ContainsFunc(nodes, func(i int32) bool { return !k.add(i) }) {
		return
	}
	for _, i := range k.kept[before:] {
		k.keep[i] = false
	}
	k.kept = k.kept[:before]
	if k.hashes == nil {
		k.hashes = k.pathHashes()
	}
	slices.SortFunc(nodes, func(a, b int32) int { return cmp.Or(cmp.Compare(k.hashes[a], k.hashes[b]), cmp.Compare(a, b)) })
	for _, i := range nodes {
		k.add(i)
	}
}

// pathHashes returns a hash of each node's path: of the names and files of its functions.
func (k *keeper) pathHashes() []uint64 {
	functions := make([]uint64, len(k.calls.frames))
	for i, f := range k.calls.frames {
		functions[i] = functionHash(f.Function, f.File)
	}
	out := make([]uint64, len(k.parents))
	for i := int32(1); int(i) < len(out); i++ {
		out[i] = pathHash(out[k.parents[i]], functions[k.tree.nodes[i].frame])
	}
	return out
}

// functionHash returns the hash of a function: FNV-1a.
func functionHash(name, file string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name + "\x00" + file)) // a hash returns no errors
	return h.Sum64()
}

// pathHash returns the hash of a path from those of the path above, 0 for the root, and of its last function.
func pathHash(above, function uint64) uint64 {
	high, low := bits.Mul64(above^function, 0x9e3779b97f4a7c15) // 2^64 divided by the golden ratio
	return high ^ low
}

// A class of sizes has the sizes with the same number of bits and the same classBits bits after the
// first.
const classBits = 5

func classOf(size uint64) int {
	n := bits.Len64(size)
	if n <= classBits {
		return int(size)
	}
	return (n-classBits)<<classBits + int(size>>(n-1-classBits)&(1<<classBits-1))
}
